"""The support vector classifier that chooses its own C and gamma."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.base.probabilities import WithoutProbabilities
from widemargin.estimators.base.sklearn_compat import StrOptions
from widemargin.estimators.svc import SVC

from .tuned import TunedMachine


class SVCCV(WithoutProbabilities, ClassifierMixin, TunedMachine):
    """Kernel support vector classifier with built-in cross-validation.

    Minimises the objective of :class:`widemargin.SVC` at the C and gamma whose
    cross-validated score is best, on a grid that widens where the best lies on its
    border and gets finer around the winner. All fits of the search share their kernel
    values (:class:`widemargin.SharedGridSearchCV`); only the winner is fitted to all
    rows, exactly and with its certificate.

    Parameters
    ----------
    Cs : int or array, default=10
        Values of C, or how many between 0.1 and 1000.
    gammas : int or array, default=10
        Values of gamma, or how many between 0.02 and 20 times ``gamma="scale"``.
        Kernels without a coefficient do not use it.
    kernel : str or callable, default="rbf"
        As in :class:`widemargin.SVC`.
    cv : int, splitter or iterable, default=None
        Folds, as in GridSearchCV; None is 5. With groups:
        ``list(GroupKFold().split(X, y, groups))``.
    scoring : str, callable, list, tuple or dict, default=None
        As in GridSearchCV; None is the accuracy.
    refit : bool, str or callable, default=True
        With several scores the name of the one that decides, as in GridSearchCV.
    class_weight : dict or "balanced", optional
        Factor on C per class.
    refine : bool, default=True
        Whether a finer grid around the winner is tried at the end.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in the search as in the model.
    cache_size : float or "auto", default="auto"
        Memory for kernel values in megabytes.
    n_jobs : int, default=None
        Threads; None for all cores.
    max_time : float, optional
        Limit of the search in seconds: the model is then the best so far, with a
        warning.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows where ``cv`` is a number; None leaves them in their order.
    verbose : bool, default=False
        Show progress with the time left on searches of more than a second.

    Attributes
    ----------
    C_, gamma_ : float
        What was chosen.
    best_score_ : float
        Its mean score over the folds.
    best_index_, best_params_, cv_results_, n_splits_, scorer_
        As in GridSearchCV.
    best_estimator_ : SVC
        The tuned model, fitted to all rows.
    certificate_ : Certificate, or list of them in pair order
        Its certificate.
    history_ : list of dict
        Each grid: its stage ("grid", "widened", "refined"), its settings, the best.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    With ``sample_weight`` the fits and the scores are weighted; GridSearchCV leaves
    scores unweighted.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import SVCCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SVCCV().fit(scale(X), y)
    >>> bool(model.best_score_ > 0.97), bool(model.certificate_.kkt_violation < 1e-3)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TunedMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        *,
        Cs: Any = 10,
        gammas: Any = 10,
        kernel: Any = "rbf",
        cv: Any = None,
        scoring: Any = None,
        refit: Any = True,
        class_weight: Any = None,
        refine: bool = True,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        n_jobs: int | None = None,
        max_time: float | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.kernel = kernel
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.class_weight = class_weight
        self.refine = refine
        self.tol = tol
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose

    def _machine(self) -> SVC:
        return SVC(
            kernel=self.kernel, class_weight=self.class_weight, tol=self.tol,
            cache_size=self.cache_size, n_jobs=self.n_jobs,
        )  # fmt: skip

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.classes_)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return signed distances to the boundary, as the tuned SVC does.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value per row for two classes, else one column per class.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))

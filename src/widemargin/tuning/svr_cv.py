"""The support vector regression that chooses its own C and gamma."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from widemargin.estimators.base.sklearn_compat import Interval
from widemargin.estimators.svr import SVR

from .tuned import TunedMachine


class SVRCV(RegressorMixin, TunedMachine):
    """Kernel support vector regression with built-in cross-validation.

    Minimises the objective of :class:`widemargin.SVR` at the C and gamma whose
    cross-validated score is best, on a grid that widens where the best lies on its
    border and gets finer around the winner. All fits of the search share their kernel
    values (:class:`widemargin.SharedGridSearchCV`); only the winner is fitted to all
    rows, exactly and with its certificate.

    Parameters
    ----------
    Cs : int or array, default=10
        Values of C, or how many between 0.1 and 1000. C and ``epsilon`` are in units of
        the targets: scale these first (``TransformedTargetRegressor``) where their
        deviation is far from 1, or R squared may stay below 0.
    gammas : int or array, default=10
        Values of gamma, or how many between 0.02 and 20 times ``gamma="scale"``.
        Kernels without a coefficient do not use it.
    kernel : str or callable, default="rbf"
        As in :class:`widemargin.SVR`.
    cv : int, splitter or iterable, default=None
        Folds, as in GridSearchCV; None is 5. With groups:
        ``list(GroupKFold().split(X, y, groups))``.
    scoring : str, callable, list, tuple or dict, default=None
        As in GridSearchCV; None is R squared.
    refit : bool, str or callable, default=True
        With several scores the name of the one that decides, as in GridSearchCV.
    epsilon : float or array, default=0.1
        Half the width of the tube within which errors are free; of several values each
        is tried.
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
    best_estimator_ : SVR
        The tuned model, fitted to all rows.
    certificate_ : Certificate
        Its certificate.
    history_ : list of dict
        Each grid: its stage ("grid", "widened", "refined"), its settings, the best.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    With ``sample_weight`` the fits and the scores are weighted; GridSearchCV leaves
    scores unweighted.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVRCV
    >>> X = np.linspace(0, 6, 120)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=120)
    >>> model = SVRCV(Cs=5, gammas=5, random_state=0).fit(X, y)
    >>> bool(model.best_score_ > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TunedMachine._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, None, closed="left"), "array-like"],
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
        epsilon: Any = 0.1,
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
        self.epsilon = epsilon
        self.refine = refine
        self.tol = tol
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose

    def _machine(self) -> SVR:
        return SVR(
            kernel=self.kernel, epsilon=self._epsilons()[0], tol=self.tol,
            cache_size=self.cache_size, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _epsilons(self) -> list[float]:
        values = np.atleast_1d(np.asarray(self.epsilon, dtype=np.float64))
        if values.ndim != 1 or not values.size or not (values >= 0.0).all():
            raise ValueError(
                f"epsilon={self.epsilon!r} must be a number that is not negative, or "
                "an array of such numbers to try."
            )
        return [float(value) for value in values]

    def _further(self) -> dict[str, list[Any]]:
        values = self._epsilons()
        return {"epsilon": values} if len(values) > 1 else {}

"""The quantile regression that chooses its own C and gamma, and calibrates itself."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from widemargin.estimators.base.shared_fit import Machine
from widemargin.estimators.base.sklearn_compat import Interval, StrOptions
from widemargin.estimators.quantile_svr import QuantileSVR, typical_distance

from .tuned import TunedMachine


class QuantileSVRCV(RegressorMixin, TunedMachine):
    """Kernel quantile regression with built-in cross-validation and calibration.

    Minimises the objective of :class:`widemargin.QuantileSVR` at the C and gamma whose
    cross-validated pinball loss is least, over all quantiles together, on a grid that
    widens where the best lies on its border. All fits of the search share their kernel
    values (:class:`widemargin.SharedGridSearchCV`); only the winner is fitted to all
    rows, with its certificates, and calibrated.

    Parameters
    ----------
    quantile : float in (0, 1) or sequence of them, default=0.5
        What to predict; a sequence makes ``predict`` return a column for each.
    Cs : int or array, default=5
        Values of C, or how many between 0.5 and 128 times the mean distance of the
        targets from their median.
    gammas : int or array, default=5
        Values of gamma, or how many between 0.02 and 20 times ``gamma="scale"``.
        Kernels without a coefficient do not use it.
    kernel : str or callable, default="rbf"
        As in :class:`widemargin.SVC`.
    cv : int, splitter or iterable, default=None
        Folds, as in GridSearchCV; None is 5. With groups:
        ``list(GroupKFold().split(X, y, groups))``.
    scoring : str, callable, list, tuple or dict, default=None
        As in GridSearchCV; None is the share of the pinball loss that is removed, the
        mean over the quantiles.
    refit : bool, str or callable, default=True
        With several scores the name of the one that decides, as in GridSearchCV.
    non_crossing : bool, default=False
        Sort the predicted quantiles of each sample, as in QuantileSVR.
    calibrate : bool or "auto", default="auto"
        Whether the model is calibrated, as in QuantileSVR; fits of the search are not.
    refine : bool, default=False
        Whether a finer grid around the winner is tried at the end.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in the search as in the model,
        in units of the mean distance of the targets from their median.
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
    best_estimator_ : QuantileSVR
        The tuned model, fitted to all rows.
    certificate_ : Certificate, or list of them, one a quantile
        Its certificate.
    history_ : list of dict
        Each grid: its stage ("grid", "widened", "refined"), its settings, the best.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    With ``sample_weight`` the fits and the scores are weighted; GridSearchCV leaves
    scores unweighted. Settings whose scores ``tol`` does not tell apart are not fitted
    again, as in SVCCV and SVRCV they are.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import QuantileSVRCV
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.3 * np.random.default_rng(0).normal(size=200)
    >>> model = QuantileSVRCV(quantile=[0.1, 0.9], random_state=0).fit(X[::2], y[::2])
    >>> low, high = model.predict(X[1::2]).T
    >>> bool(0.7 < np.mean((low <= y[1::2]) & (y[1::2] <= high)) < 0.95)
    True
    """

    # The loss is flat about its least value: exact fits of all that are near would take
    # most of the time and hardly change the loss.
    _settles_ties: ClassVar[bool] = False
    _range_of_C: ClassVar[tuple[float, float]] = (0.5, 128.0)  # "scale" is 8 of them
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TunedMachine._parameter_constraints,
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither"), "array-like"],
        "non_crossing": ["boolean"],
        "calibrate": ["boolean", StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        quantile: Any = 0.5,
        Cs: Any = 5,
        gammas: Any = 5,
        kernel: Any = "rbf",
        cv: Any = None,
        scoring: Any = None,
        refit: Any = True,
        non_crossing: bool = False,
        calibrate: bool | str = "auto",
        refine: bool = False,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        n_jobs: int | None = None,
        max_time: float | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.quantile = quantile
        self.Cs = Cs
        self.gammas = gammas
        self.kernel = kernel
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.non_crossing = non_crossing
        self.calibrate = calibrate
        self.refine = refine
        self.tol = tol
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the pinball loss that the tuned model removes (D2).

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,)
            Target values.
        sample_weight : array of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            As :meth:`widemargin.QuantileSVR.score`.
        """
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y, sample_weight))

    def _machine(self) -> QuantileSVR:
        return QuantileSVR(
            quantile=self.quantile, kernel=self.kernel, tol=self.tol,
            non_crossing=self.non_crossing, calibrate=False,
            cache_size=self.cache_size, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _finished(self, best: Machine) -> Machine:
        return best.set_params(calibrate=self.calibrate)  # type: ignore[no-any-return]

    def _unit(self, data: Any) -> float:
        weights = np.ones(data.rows.size) if data.weights is None else data.weights
        return typical_distance(data.targets, weights)

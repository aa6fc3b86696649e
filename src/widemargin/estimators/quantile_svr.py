"""Quantile regression: a support vector machine with the pinball loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import d2_pinball_score

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import Terms
from widemargin.engine.solve_options import SolveOptions

from .base.conformal_calibration import calibration_moves, weighted_quantile
from .base.fitted_model import FittedExpansion
from .base.sklearn_compat import Interval, StrOptions
from .base.task import Answer, BoxTask, Task
from .base.training_data import TargetData
from .base.validation import demanded
from .base.vertex_solves import begin_at_vertices, prove
from .incremental import IncrementalRegressor
from .incremental.update_state import UpdateState

Vector = NDArray[np.float64]

#: of C="scale", chosen by ``python benchmarks/helps.py prices``
FACTOR = 8.0

NOT_CALIBRATED = (
    "calibrate=True moves the intercepts by what fits to parts of the rows say, and "
    "{reason}. Set calibrate='auto' or False{remedy}."
)
KEPT = NOT_CALIBRATED.format(
    reason="each update of rows that are kept would need all these fits anew",
    remedy=", or fit without keep_rows and ids",
)
NO_INTERCEPT = NOT_CALIBRATED.format(
    reason="with fit_intercept=False there are none",
    remedy=", or fit_intercept=True",
)


class QuantileSVR(IncrementalRegressor):
    """Kernel quantile regression: prediction intervals from one fit.

    Minimises ``1/2 ||w||^2 + C sum_i max(q u_i, (q - 1) u_i)`` with the residual
    ``u_i = y_i - <w, phi(x_i)> - b``: a share q of the targets lies below the fitted
    function (Takeuchi et al., JMLR 7, 2006). The dual is the engine's problem with
    ``linear = y`` and the box ``C [q - 1, q]``. Several quantiles are fitted side by
    side. Fits to folds then move each intercept so that a share q of targets
    *not* seen lies below, too.

    Parameters
    ----------
    quantile : float in (0, 1) or sequence of them, default=0.5
        What to predict; a sequence makes ``predict`` return a column for each.
    C : float or "scale", default="scale"
        Price of a unit of pinball loss; larger fits the training data more closely. C
        has the unit of y: "scale" is 8 times the mean distance of the targets from
        their median, so that a and b in a y + b change the predictions accordingly.
        Updates estimate it anew from the rows that are there, which moves every row:
        a number makes them cheaper.
    kernel : str or callable, default="rbf"
        As in :class:`widemargin.SVC`.
    degree : int, default=3
        Degree of "poly", from 0 to 1000.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient, as in SVC.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    non_crossing : bool, default=False
        Sort the predicted quantiles of each sample, which removes crossings and never
        increases the pinball loss summed over equally weighted quantiles
        (rearrangement: Chernozhukov et al., Econometrica 78, 2010).
    calibrate : bool or "auto", default="auto"
        Move each intercept so that the share of targets below is q on rows held out
        (of five folds, as many as it takes to hold out 1,000 rows; a row's features
        decide on its fold). "auto": unless rows are kept for updates, whose model is
        the minimum itself, or ``fit_intercept=False``.
    shrinking : bool, default=True
        Whether bounded samples that look settled leave the active set (shrinking).
    tol : float, default=1e-3
        Largest violation of the optimality conditions at the end, in the unit of y.
        Fits of at most 2,000 rows go on to about 1e-9 where they can.
    cache_size : float or "auto", default="auto"
        Memory for kernel rows in megabytes, as in SVC.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit of pair steps of each quantile; -1 for none.
    random_state : int, RandomState instance or None, default=None
        Order in which samples are first looked at; the optimum does not depend on it.
    fit_intercept : bool, default=True
        False leaves b out; the share of targets below is then not q.
    n_jobs : int, default=None
        Threads; None for all cores. The model is bitwise the same for any number.
    max_time : float, optional
        Limit of ``fit`` in seconds, for all quantiles together.
    warm_start : bool, default=False
        Start from the last fit's solution when rows, outputs and kernel are the same.
    solver : {"auto", "direct", "divide"}, default="auto"
        "divide" goes through levels of clusters to the same solution, as in SVC.
    polish : {"auto", True, False}, default="auto"
        Whether a fit goes on to the exact solution, as in SVC.
    keep_rows : bool, default=False
        Keep all training rows, which ``partial_fit``, ``forget`` and ``update`` need,
        as in SVC.
    exact_updates : bool or "auto", default="auto"
        Whether updates end at the exact solution, or at ``tol`` where a solve takes
        less work; "auto": a path ends exactly, a solve where ``fit`` does.

    Attributes
    ----------
    quantiles_ : ndarray of shape (n_quantiles,)
        The quantiles fitted.
    C_ : float
        The price used.
    ids_ : ndarray
        Ids of the rows, which ``forget`` takes; only where rows are kept.
    calibration_ : ndarray of shape (n_quantiles,)
        By how much the calibration moved each intercept; zeros without one.
    dual_coef_, intercept_ : ndarray of shape (n_quantiles, n_SV), (n_quantiles,)
        Coefficients of the support vectors, and constants.
    certificate_ : Certificate, or list of them, one a quantile
        Objective, lower bound, duality gap, KKT violation, iterations, status; of the
        minimum, whose intercept is ``intercept_ - calibration_``.
    history_ : list of dict
        Stage records.
    support_, support_vectors_, n_support_, coef_, n_iter_, fit_status_, shape_fit_, \
n_features_in_, feature_names_in_
        As in scikit-learn's SVR.
    gamma_ : float
        The kernel coefficient used.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import QuantileSVR
    >>> X = np.linspace(0, 3, 400)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * X[:, 0] * np.random.default_rng(0).normal(size=400)
    >>> model = QuantileSVR(quantile=[0.1, 0.9]).fit(X[::2], y[::2])
    >>> low, high = model.predict(X[1::2]).T
    >>> bool(0.75 < np.mean((low <= y[1::2]) & (y[1::2] <= high)) < 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IncrementalRegressor._parameter_constraints,
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither"), "array-like"],
        "C": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="neither")],
        "non_crossing": ["boolean"],
        "calibrate": ["boolean", StrOptions({"auto"})],
    }

    C: float | str  # type: ignore[assignment]
    quantiles_: Vector
    C_: float
    calibration_: Vector

    def __init__(
        self,
        *,
        quantile: Any = 0.5,
        C: float | str = "scale",
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        non_crossing: bool = False,
        calibrate: bool | str = "auto",
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        verbose: bool = False,
        max_iter: int = -1,
        random_state: Any = None,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        solver: str = "auto",
        polish: bool | str = "auto",
        keep_rows: bool = False,
        exact_updates: bool | str = "auto",
    ) -> None:
        self.quantile = quantile
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.non_crossing = non_crossing
        self.calibrate = calibrate
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.warm_start = warm_start
        self.solver = solver
        self.polish = polish
        self.keep_rows = keep_rows
        self.exact_updates = exact_updates

    def _validated(self, X: Any, y: Any, sample_weight: Any, ids: Any) -> TargetData:
        if demanded(self.calibrate) and (self.keep_rows or ids is not None):
            raise ValueError(KEPT)
        if demanded(self.calibrate) and not self.fit_intercept:
            raise ValueError(NO_INTERCEPT)
        return super()._validated(X, y, sample_weight, ids)

    def _checked_state(self, state: UpdateState) -> UpdateState:
        if demanded(self.calibrate):
            raise ValueError(KEPT)
        return super()._checked_state(state)

    def _terms(self, data: TargetData) -> list[Terms]:
        self.quantiles_ = checked_quantiles(self.quantile)
        self._one_quantile = np.ndim(self.quantile) == 0
        self.calibration_ = np.zeros(self.quantiles_.size)
        costs = self._costs(data)
        total = 0.0 if self.fit_intercept else None
        return [pinball_terms(data.targets, costs, q, total) for q in self.quantiles_]

    def _costs(self, data: TargetData) -> Vector:
        weights = np.ones(data.rows.size) if data.weights is None else data.weights
        estimated = isinstance(self.C, str)
        self.C_ = (
            FACTOR * typical_distance(data.targets, weights)
            if estimated
            else float(self.C)
        )
        return self.C_ * weights

    def _every_row_counts(self) -> bool:
        return isinstance(self.C, str)

    def _is_its_tasks(self) -> bool:
        return not self.calibrate or not self.fit_intercept

    def _solve_all(
        self, data: TargetData, gram: Gram, tasks: Sequence[BoxTask]
    ) -> tuple[list[Any], bool]:
        """Solve the tasks, then calibrate; Ctrl-C meanwhile leaves what is solved."""
        answers, complete = super()._solve_all(data, gram, tasks)
        stopped = not complete or any(answer.status.stopped for answer in answers)
        if stopped or self._is_its_tasks() or self._keeps_rows(data):
            return answers, complete
        machine = self._shadow()
        machine.calibrate, machine.C = False, self.C_
        try:
            moves = calibration_moves(machine, data, gram, tasks, answers)
        except KeyboardInterrupt:
            return answers, False
        if moves is None:
            warnings.warn(
                f"max_time={self.max_time} left no time to calibrate: the band is that "
                "of the training rows, too narrow for others. Increase max_time, or "
                "set calibrate=False.",
                ConvergenceWarning,
                stacklevel=5,
            )
        else:
            self.calibration_ = moves
        return answers, complete

    def _solve_or_stop(
        self,
        tasks: Sequence[BoxTask],
        solve_task: Callable[[BoxTask], Answer] | None = None,
    ) -> tuple[list[Any], bool]:
        if self.solver == "divide":
            return super()._solve_or_stop(tasks, solve_task)
        gram = tasks[0].gram
        begin_at_vertices(tasks)
        answers, complete = super()._solve_or_stop(tasks, solve_task)
        if not complete:
            return answers, False
        options = super()._solve_options(gram.n, tasks[0])
        try:
            return prove(gram, tasks, answers, options), True
        except KeyboardInterrupt:
            if self.__sklearn_is_fitted__():
                raise
            return answers, False  # each proves itself when it is stored

    def _solve_options(self, n: int, task: Task) -> SolveOptions:
        options, later = super()._solve_options(n, task), task.proved_later
        return replace(options, certify=not later, proved_later=later)

    def _model(
        self,
        data: TargetData,
        kernel: Kernel,
        tasks: Sequence[BoxTask],
        answers: Sequence[Any],
    ) -> FittedExpansion:
        model = super()._model(data, kernel, tasks, answers)
        return replace(model, intercept=model.intercept + self.calibration_)

    def predict(self, X: Any) -> Vector:
        """Return the predicted quantiles.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Samples; with ``kernel="precomputed"`` of shape (n_samples, n_training).

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_quantiles)
            A column for each quantile where ``quantile`` is a sequence.
        """
        model = self._at_once()
        values = model._values(X)
        if model._one_quantile:
            return values
        table = values.reshape(len(values), -1)
        return rearranged(table, model.quantiles_) if model.non_crossing else table

    def _check_portable(self) -> None:
        if self.quantiles_.size > 1:
            raise ValueError(
                f"A model of {self.quantiles_.size} quantiles has as many outputs, and "
                "LIBSVM's form has one. Fit a QuantileSVR for each quantile."
            )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the pinball loss that the model removes (D2).

        1 is perfect, 0 is as good as the constant quantiles of y; of several quantiles
        the mean.

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
            Mean of :func:`sklearn.metrics.d2_pinball_score` over the quantiles.
        """
        model = self._at_once()
        table = model.predict(X).reshape(-1, model.quantiles_.size)
        scores = [
            d2_pinball_score(y, column, alpha=float(q), sample_weight=sample_weight)
            for q, column in zip(model.quantiles_, table.T, strict=True)
        ]
        return float(np.mean(scores))


def checked_quantiles(quantile: Any) -> Vector:
    """Return the quantiles as a vector; refuse what is not between 0 and 1."""
    listed = np.atleast_1d(np.asarray(quantile, dtype=np.float64))
    if listed.ndim != 1 or not listed.size or not np.all((listed > 0) & (listed < 1)):
        raise ValueError(
            f"quantile={quantile!r} must be a number strictly between 0 and 1, or a "
            "sequence of such numbers."
        )
    return listed


def typical_distance(targets: Vector, weights: Vector) -> float:
    """Return the mean distance of targets from their median; 1 for constant ones.

    It is the same from every median, so a weight of k counts as k rows. Any C fits
    constant targets.
    """
    median = weighted_quantile(targets, weights, 0.5)
    return float(np.average(np.abs(targets - median), weights=weights)) or 1.0


def pinball_terms(
    targets: Vector, costs: Vector, quantile: float, total: float | None
) -> Terms:
    """Return linear term, box and total of the dual of the pinball loss."""
    return Terms(targets, (quantile - 1.0) * costs, quantile * costs, total)


def rearranged(table: Vector, quantiles: Vector) -> Vector:
    """Sort each row's predictions in the order of their quantiles."""
    out = np.empty_like(table)
    out[:, np.argsort(quantiles, kind="stable")] = np.sort(table, axis=1)
    return out

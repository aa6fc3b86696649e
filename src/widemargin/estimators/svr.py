"""Support vector regression: a drop-in for scikit-learn's, with a certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import DualProblem, Terms

from .base.fitted_model import FittedExpansion
from .base.hard_margin import NOT_KEPT
from .base.hard_tube import NO_TUBE, solve_hard_tube
from .base.kernel_regressor import OneNumber
from .base.sklearn_compat import Interval
from .base.task import Answer, BoxTask
from .base.training_data import TargetData
from .incremental import IncrementalRegressor

Vector = NDArray[np.float64]


class SVR(OneNumber, IncrementalRegressor):
    """Kernel support vector regression, exact, fast, and with a certificate.

    Minimises ``1/2 ||w||^2 + C sum_i max(0, |y_i - <w, phi(x_i)> - b| - epsilon)``
    through its dual. Same parameters, attributes and answers as
    :class:`sklearn.svm.SVR`; in addition several threads, a time limit, Ctrl-C, warm
    starts, exact sample weights, and ``certificate_``, the proof of how good the fitted
    model is.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        As in :class:`widemargin.SVC`.
    degree : int, default=3
        Degree of "poly", from 0 to 1000.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient, as in SVC.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    tol : float, default=1e-3
        Largest violation of the optimality conditions at the end, in the unit of y.
        Fits of at most 2,000 rows go on to about 1e-9 where they can.
    C : float, default=1.0
        Price of a unit of error beyond epsilon; larger fits the training data more
        closely. ``np.inf`` is the hard tube: no error beyond it at all, or an error.
    epsilon : float, default=0.1
        Half width of the tube within which errors are free, in the unit of y.
    shrinking : bool, default=True
        Whether bounded samples that look settled leave the active set (shrinking).
    cache_size : float or "auto", default="auto"
        Memory for kernel rows in megabytes, as in SVC.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit of pair steps; -1 for none.
    random_state : int, RandomState instance or None, default=None
        Order in which samples are first looked at; the optimum does not depend on it.
    fit_intercept : bool, default=True
        False leaves b out.
    n_jobs : int, default=None
        Threads; None for all cores. The model is bitwise the same for any number.
    max_time : float, optional
        Limit of ``fit`` in seconds.
    warm_start : bool, default=False
        Start from the last fit's solution when rows and kernel are the same.
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
    ids_ : ndarray
        Ids of the rows, which ``forget`` takes; only where rows are kept.
    certificate_ : Certificate
        Objective, lower bound, duality gap, KKT violation, iterations, status.
    history_ : list of dict
        Stage records.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, \
fit_status_, shape_fit_, class_weight_, n_features_in_, feature_names_in_
        As in scikit-learn.
    gamma_ : float
        The kernel coefficient used.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import SVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> model = SVR(C=10, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.06)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IncrementalRegressor._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    class_weight_: Vector

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
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
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
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
        if math.isinf(self.C) and (self.keep_rows or ids is not None):
            raise ValueError(NOT_KEPT)
        if math.isinf(self.C) and not self.epsilon > 0.0:
            raise ValueError(NO_TUBE)
        return super()._validated(X, y, sample_weight, ids)

    def _problem(self, task: BoxTask) -> DualProblem:
        if math.isinf(self.C):
            raise ValueError(NOT_KEPT)
        return super()._problem(task)

    def _only_dual_problems(self) -> bool:
        return not math.isinf(self.C)

    def _solve_task(self, task: BoxTask) -> Answer:
        if math.isinf(self.C):
            return solve_hard_tube(self, task, float(self.epsilon))
        return super()._solve_task(task)

    def _own_way(self) -> bool:
        return math.isinf(self.C)

    def _terms(self, data: TargetData) -> list[Terms]:
        costs = self._costs(data)
        total = 0.0 if self.fit_intercept else None
        return [tube_terms(data.targets, costs, float(self.epsilon), total)]

    def _model(
        self,
        data: TargetData,
        kernel: Kernel,
        tasks: Sequence[BoxTask],
        answers: Sequence[Any],
    ) -> FittedExpansion:
        self.class_weight_ = np.empty(0)
        return super()._model(data, kernel, tasks, answers)


def tube_terms(
    targets: Vector, costs: Vector, epsilon: float, total: float | None
) -> Terms:
    """Return the terms of the dual of the epsilon-insensitive loss (mathematics 0.6).

    Without a tube the kink at zero is gone: twice the pinball loss of the median.
    """
    kink = np.full(targets.size, epsilon) if epsilon > 0.0 else None
    return Terms(targets, -costs, costs, total, kink)

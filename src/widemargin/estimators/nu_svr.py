"""nu support vector regression: a share of samples outside, not the tube's width."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.nu import NuProblem, NuSolution
from widemargin.engine.problem import Terms
from widemargin.exchange.libsvm_form import SvmType

from .base.fitted_model import FittedExpansion
from .base.kernel_regressor import KernelRegressor, OneNumber
from .base.nu import solve_nu_task, solve_nu_tasks
from .base.sklearn_compat import Interval
from .base.task import BoxTask
from .base.training_data import TargetData

Vector = NDArray[np.float64]


class NuSVR(OneNumber, KernelRegressor):
    """Kernel regression whose tube is as wide as the share nu of samples asks.

    Minimises ``1/2 ||w||^2 + C (nu n epsilon + sum_i max(0, |u_i| - epsilon))`` with
    ``u_i = y_i - <w, phi(x_i)> - b`` over w, b and ``epsilon >= 0`` (Schölkopf et al.,
    Neural Computation 12, 2000): at most a share nu of the samples lies outside the
    tube, at least that share are support vectors unless epsilon is zero. The model is
    that of :class:`widemargin.SVR` with ``epsilon=epsilon_``. Same parameters,
    attributes and answers as :class:`sklearn.svm.NuSVR`; in addition threads, a time
    limit, Ctrl-C, warm starts, exact sample weights and ``certificate_``.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Upper bound on the share of samples outside the tube, by weight.
    C : float, default=1.0
        Price of a unit of error beyond the tube.
    kernel : str or callable, default="rbf"
        As in :class:`widemargin.SVC`.
    degree : int, default=3
        Degree of "poly", from 0 to 1000.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient, as in SVC.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
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

    Attributes
    ----------
    epsilon_ : float
        Half width of the tube that was found, in the unit of y.
    certificate_ : Certificate
        Objective, lower bound, duality gap, KKT violation, iterations, status.
    history_ : list of dict
        Stage records: a solve at each epsilon that was tried, then the result.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, \
fit_status_, shape_fit_, class_weight_, n_features_in_, feature_names_in_
        As in scikit-learn.
    gamma_ : float
        The kernel coefficient used.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import NuSVR
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> y = np.sin(X[:, 0]) + np.random.default_rng(0).normal(0, 0.1, 100)
    >>> model = NuSVR(nu=0.2, C=10).fit(X, y)
    >>> outside = np.abs(model.predict(X) - y) > model.epsilon_ + 1e-9
    >>> bool(outside.mean() <= 0.2)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelRegressor._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }
    _svm_type = SvmType.NU_SVR

    epsilon_: float

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
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
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
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

    def _terms(self, data: TargetData) -> list[Terms]:
        costs = self._costs(data)
        return [Terms(data.targets, -costs, costs, 0.0 if self.fit_intercept else None)]

    def _solve_all(
        self, data: TargetData, gram: Gram, tasks: Sequence[BoxTask]
    ) -> tuple[list[Any], bool]:
        return solve_nu_tasks(self, gram, tasks, [self._origin(task) for task in tasks])

    def _solve_task(self, task: BoxTask) -> NuSolution:
        return solve_nu_task(self, task, self._origin(task))

    def _origin(self, task: BoxTask) -> NuProblem:
        """Return the problem with both sums."""
        budget = float(self.nu) * float(task.upper.sum())
        return NuProblem(
            task.gram, task.linear, task.lower, task.upper,
            self.fit_intercept, budget, has_margin=False,
        )  # fmt: skip

    def _model(
        self,
        data: TargetData,
        kernel: Kernel,
        tasks: Sequence[BoxTask],
        answers: Sequence[Any],
    ) -> FittedExpansion:
        self.class_weight_ = np.empty(0)
        self.epsilon_ = answers[0].multiplier
        return super()._model(data, kernel, tasks, answers)

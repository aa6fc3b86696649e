"""The nu support vector classifier: a share of samples in place of a price."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.nu import NuProblem, NuSolution
from widemargin.engine.problem import hinge_terms
from widemargin.exchange.libsvm_form import SvmType
from widemargin.numerics.compensated import NEARLY_ALL, sum_within

from .base.fitted_model import FittedClassifier
from .base.kernel_classifier import KernelClassifier
from .base.multiclass import BinaryTask
from .base.nu import solve_nu_task, solve_nu_tasks
from .base.sklearn_compat import Interval
from .base.training_data import LabelledData, OneClassLeft

Vector = NDArray[np.float64]


class NuSVC(KernelClassifier):
    """Kernel classifier by the share nu of samples that may miss the margin.

    Minimises ``1/2 ||w||^2 - nu n rho + sum_i max(0, rho - y_i (<w, phi(x_i)> + b))``
    over w, b and the margin rho (Schölkopf et al., Neural Computation 12, 2000), and
    stores the model in units of rho: it is that of :class:`widemargin.SVC` at
    ``C = 1 / rho_``. At most a share nu of the samples misses the margin, at least that
    share are support vectors. Same parameters, attributes and answers as
    :class:`sklearn.svm.NuSVC`; in addition threads, a time limit, Ctrl-C, warm starts,
    class weights that count, and ``certificate_``.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Upper bound on the share of margin errors, by weight. At most twice the share of
        the smaller class; so small that no margin is left, it is refused.
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
    probability : bool, default=False
        Kept for compatibility; True is refused with what to use instead.
    tol : float, default=1e-3
        Largest violation of the optimality conditions at the end, in units of the
        margin, as in SVC. Fits of at most 2,000 rows go on to about 1e-9 where they
        can.
    cache_size : float or "auto", default="auto"
        Memory for kernel rows in megabytes, as in SVC.
    class_weight : dict or "balanced", optional
        Factor on the weight of the samples of a class.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit of pair steps; -1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of ``decision_function`` with more than two classes.
    break_ties : bool, default=False
        Break ties between pair votes by the decision values.
    random_state : int, RandomState instance or None, default=None
        Order in which samples are first looked at; the optimum does not depend on it.
    fit_intercept : bool, default=True
        False forces the boundary through the origin of the feature space.
    n_jobs : int, default=None
        Threads; None for all cores. The model is bitwise the same for any number.
    max_time : float, optional
        Limit of ``fit`` in seconds.
    warm_start : bool, default=False
        Start from the last fit's solution when rows, classes and kernel are the same.
    solver : {"auto", "direct", "divide"}, default="auto"
        "divide" goes through levels of clusters to the same solution, as in SVC.
    polish : {"auto", True, False}, default="auto"
        Whether a fit goes on to the exact solution, as in SVC.

    Attributes
    ----------
    rho_ : ndarray of shape (n_pairs,)
        The margin in the units of the problem; ``1 / rho_`` is the C of the same SVC.
    certificate_ : Certificate, or list of them in pair order
        Objective, lower bound, duality gap, KKT violation, iterations, status.
    history_ : list of dict
        Stage records: a solve at each multiplier that was tried, then the result.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, \
n_iter_, fit_status_, shape_fit_, class_weight_, n_features_in_, feature_names_in_
        As in scikit-learn.
    gamma_ : float
        The kernel coefficient used.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import SVC, NuSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NuSVC(nu=0.1).fit(scale(X), y)
    >>> same = SVC(C=1 / model.rho_[0]).fit(scale(X), y)
    >>> bool(abs(model.decision_function(scale(X)) -
    ...          same.decision_function(scale(X))).max() < 1e-6)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelClassifier._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }
    _svm_type = SvmType.NU_SVC

    rho_: Vector

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = False,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        solver: str = "auto",
        polish: bool | str = "auto",
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.max_time = max_time
        self.warm_start = warm_start
        self.solver = solver
        self.polish = polish

    def _validated(self, X: Any, y: Any, sample_weight: Any, ids: Any) -> LabelledData:
        try:
            return super()._validated(X, y, sample_weight, ids)
        except OneClassLeft as error:  # in scikit-learn's words
            raise ValueError(f"specified nu is infeasible. {error}") from error

    def _costs(self, data: LabelledData) -> Vector:
        """Return class weight times sample weight: there is no C."""
        weights: Vector = self._class_weights(data)[data.labels]
        return weights if data.weights is None else weights * data.weights

    def _budget(self, task: BinaryTask) -> float:
        """Return the sum of the coefficients: nu times the sum of the weights."""
        budget = float(self.nu) * float(task.costs.sum())
        if not self.fit_intercept:
            return budget
        sides = [task.costs[task.y == side] for side in (1, -1)]
        most = 2.0 * min(float(side.sum()) for side in sides)
        if budget > NEARLY_ALL * most:
            most = 2.0 * min(map(sum_within, sides))
        if budget > most * (1.0 + 1e-12):
            raise ValueError(
                "specified nu is infeasible: at most twice the weight of the smaller "
                f"class over that of both, {most / float(task.costs.sum()):.6g}, is "
                f"possible for the classes {task.negative} and {task.positive}, and "
                f"nu={self.nu} was given. Decrease nu, or use class_weight='balanced'."
            )
        return min(budget, most)

    def _solve_all(
        self, data: LabelledData, gram: Gram, tasks: Sequence[BinaryTask]
    ) -> tuple[list[Any], bool]:
        # All of them first: an infeasible nu is refused before any pair is solved.
        return solve_nu_tasks(self, gram, tasks, [self._origin(task) for task in tasks])

    def _solve_task(self, task: BinaryTask) -> NuSolution:
        return solve_nu_task(self, task, self._origin(task))

    def _origin(self, task: BinaryTask) -> NuProblem:
        """Return the problem with both sums."""
        _, lower, upper, *_ = hinge_terms(task.y, task.costs, self.fit_intercept)
        return NuProblem(
            task.gram, np.zeros(task.y.size), lower, upper,
            self.fit_intercept, self._budget(task), has_margin=True,
        )  # fmt: skip

    def _model(
        self,
        data: LabelledData,
        kernel: Kernel,
        tasks: Sequence[BinaryTask],
        answers: Sequence[Any],
    ) -> FittedClassifier:
        self.rho_ = np.array([answer.multiplier for answer in answers])
        return super()._model(data, kernel, tasks, answers)

"""The support vector classifier: a drop-in for scikit-learn's, on the shared engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from widemargin.engine.problem import DualProblem, Terms, hinge_terms

from .base.hard_margin import NOT_KEPT, solve_hard_margin
from .base.multiclass import BinaryTask
from .base.sklearn_compat import Interval
from .base.task import Answer
from .base.training_data import LabelledData
from .incremental import IncrementalClassifier


class SVC(IncrementalClassifier):
    """Kernel support vector classifier, exact, fast, and with a certificate.

    Minimises ``1/2 ||w||^2 + C sum_i max(0, 1 - y_i (<w, phi(x_i)> + b))`` through its
    dual. Same parameters, attributes and answers as :class:`sklearn.svm.SVC`; in
    addition several threads, a time limit, Ctrl-C, warm starts, exact sample weights,
    and ``certificate_``, the proof of how good the fitted model is.

    Parameters
    ----------
    C : float, default=1.0
        Price of a unit of margin violation; larger fits the training data more closely.
        ``np.inf`` is the hard margin: no violation at all, or an error.
    kernel : str or callable, default="rbf"
        Inner product of two samples in feature space. One of "linear", "poly", "rbf",
        "laplacian" (``exp(-gamma * ||x - z||_1)``), "sigmoid" and "precomputed". A
        callable gets two arrays of samples and returns their kernel matrix; samples
        may then be anything: strings, graphs.
    degree : int, default=3
        Degree of "poly", from 0 to 1000.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient of "rbf", "laplacian", "poly" and "sigmoid". "scale" is
        ``1 / (n_features * X.var())``, rows counted with their sample weight.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    shrinking : bool, default=True
        Whether bounded samples that look settled leave the active set (shrinking).
    probability : bool, default=False
        Kept for compatibility; True is refused with what to use instead.
    tol : float, default=1e-3
        Largest violation of the optimality conditions at the end. Small fits go on to
        about 1e-9: see ``polish``.
    cache_size : float or "auto", default="auto"
        Memory for kernel rows in megabytes; "auto" takes at most a quarter of what is
        free and never more than the whole matrix.
    class_weight : dict or "balanced", optional
        Factor on C per class.
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
        None is a fixed seed: two fits give bitwise the same model.
    fit_intercept : bool, default=True
        False forces the boundary through the origin of the feature space.
    n_jobs : int, default=None
        Threads; None for all cores. The model is bitwise the same for any number.
    max_time : float, optional
        Limit of ``fit``, ``partial_fit`` and ``update`` in seconds; an update that
        takes longer leaves the model as it was and raises.
    warm_start : bool, default=False
        Start from the last fit's solution when rows, classes and kernel are the same.
    solver : {"auto", "direct", "divide"}, default="auto"
        "divide" goes through levels of clusters (divide and conquer) to the same
        solution, "direct" solves the whole problem at once; "auto" is "direct", which
        measured faster but for very local kernels. See
        :class:`widemargin.DivideConquerSVC` for those and for early prediction.
    polish : {"auto", True, False}, default="auto"
        Whether a fit to ``tol`` goes on to the exact solution, to about 1e-9 (status
        "polished"). "auto": where that takes at most a quarter of the work of the
        fit, by estimate; a large margin, or over 2,000 rows, stays "converged".
        An exact update of a model that was not polished solves exactly first.
    keep_rows : bool, default=False
        Keep all training rows, which ``partial_fit``, ``forget`` and ``update`` need;
        otherwise ``fit`` keeps the support vectors only. With ``ids`` in ``fit``, and
        in a model begun by ``partial_fit``, rows are kept anyway; ``compact`` drops
        them.
    exact_updates : bool or "auto", default="auto"
        Whether updates end at the exact solution, or at ``tol`` where a solve takes
        less work; "auto": a path ends exactly, a solve where ``fit`` does.

    Attributes
    ----------
    ids_ : ndarray
        Ids of the rows, which ``forget`` takes; only where rows are kept.
    certificate_ : Certificate, or list of them in pair order
        Objective, lower bound, duality gap, KKT violation, iterations, status.
    history_ : list of dict
        Stage records.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, \
n_iter_, fit_status_, shape_fit_, class_weight_, n_features_in_, feature_names_in_
        As in scikit-learn.
    gamma_ : float
        The kernel coefficient used.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SVC().fit(scale(X), y)
    >>> model.certificate_.kkt_violation < 1e-9
    True
    >>> local = SVC(kernel="laplacian", gamma="auto").fit(scale(X), y)
    >>> round(local.score(scale(X), y), 2)
    0.99
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IncrementalClassifier._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
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
        keep_rows: bool = False,
        exact_updates: bool | str = "auto",
    ) -> None:
        self.C = C
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
        self.keep_rows = keep_rows
        self.exact_updates = exact_updates

    def _validated(self, X: Any, y: Any, sample_weight: Any, ids: Any) -> LabelledData:
        if math.isinf(self.C) and (self.keep_rows or ids is not None):
            raise ValueError(NOT_KEPT)
        return super()._validated(X, y, sample_weight, ids)

    def _problem(self, task: BinaryTask) -> DualProblem:
        if math.isinf(self.C):
            raise ValueError(NOT_KEPT)
        return super()._problem(task)

    def _only_dual_problems(self) -> bool:
        return not math.isinf(self.C)

    def _solve_task(self, task: BinaryTask) -> Answer:
        if math.isinf(self.C):
            return solve_hard_margin(self, task, self.fit_intercept)
        return super()._solve_task(task)

    def _own_way(self) -> bool:
        return math.isinf(self.C)

    def _terms_of(self, tasks: Sequence[BinaryTask]) -> Terms:
        signs = np.concatenate([task.y for task in tasks])
        costs = np.concatenate([task.costs for task in tasks])
        return hinge_terms(signs, costs, self.fit_intercept)

"""The cost-sensitive support vector classifier."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import DualProblem
from widemargin.estimators.base.multiclass import BinaryTask, class_pairs
from widemargin.estimators.base.sklearn_compat import Interval
from widemargin.estimators.base.training_data import LabelledData
from widemargin.estimators.incremental import IncrementalClassifier

from .costs import (
    PairCosts,
    check_cost_matrix,
    check_costs,
    cost_problem,
    costs_of_pair,
)


class CostSensitiveSVC(IncrementalClassifier):
    r"""Kernel classifier for mistakes of unequal price; learns and forgets exactly.

    Minimises the cost-sensitive hinge loss (CSHL-SVM)

    .. math:: \tfrac12\|w\|^2 + C\Big[C_+\sum_{+}(1-F)_+
              + (2C_--1)\sum_{-}\big(\tfrac{1}{2C_--1}+F\big)_+\Big],

    in which C+ prices missing the positive class and C- moves the margin of the
    negative class in to 1/(2C- - 1). At C+ = C- = 1 it is :class:`widemargin.SVC`; at
    C- = 1 the SVM with two costs. Unlike class weights, C- also acts on separable data.

    Parameters
    ----------
    C : float, default=1.0
        Price of a unit of loss.
    cost_positive : float, default=1.0
        C+ > 0: the price of missing the positive class.
    cost_negative : float, default=1.0
        C- > 1/2. The paper's regime is C- >= 1 and C+ >= 2C- - 1; outside it a warning
        says what the values mean.
    cost_matrix : array of shape (n_classes, n_classes), optional
        ``[i, j]`` is the cost of predicting class j for a sample of class i, in the
        order of ``classes_``. Each pair of classes takes the one costlier to miss as
        positive and C+ = (2C- - 1) c_max / c_min; ``cost_positive`` and ``pos_label``
        must then be left alone.
    pos_label : label, optional
        The class that is costly to miss; None takes ``classes_[1]``. For two classes.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable
        As in :class:`widemargin.SVC`, and so are all parameters below.
    degree : int, default=3
        Degree of "poly", from 0 to 1000.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    shrinking : bool, default=True
        Whether samples far from the margin are set aside while the others settle.
    probability : bool, default=False
        Kept for compatibility; True is refused with what to use instead.
    tol : float, default=1e-3
        Largest violation of the optimality conditions at the end of ``fit``.
    cache_size : float or "auto", default="auto"
        Memory for kernel rows in megabytes.
    class_weight : dict or "balanced", optional
        Factor on C per class, on top of the costs.
    verbose : bool, default=False
        Show a progress bar on fits that take longer than a second.
    max_iter : int, default=-1
        Limit of pair steps; -1 for none.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Shape of ``decision_function`` with more than two classes.
    break_ties : bool, default=False
        Break ties between pair votes by the decision values.
    random_state : int, RandomState instance or None, default=None
        Order in which samples are first looked at. None is a fixed seed: two fits give
        the same model.
    fit_intercept : bool, default=True
        False forces the boundary through the origin of the feature space.
    n_jobs : int, default=None
        Threads; None for all cores.
    max_time : float, optional
        Limit of ``fit`` in seconds. Exact updates of a model are not cut short.
    warm_start : bool, default=False
        Start from the last fit's solution when rows, classes and kernel are the same.
    solver : {"auto", "direct", "divide"}, default="auto"
        Whether ``fit`` goes through clusters first.
    keep_rows : bool, default=False
        Keep all training rows, which ``partial_fit``, ``forget`` and ``update`` need.

    Attributes
    ----------
    ids_ : ndarray
        Ids of the rows, which ``forget`` takes; only where rows are kept.
    pair_costs_ : list of PairCosts
        What mistakes cost in every pair of classes, in pair order.
    certificate_, history_, classes_, support_, dual_coef_, intercept_
        As in :class:`widemargin.SVC`, and so are all its other attributes.

    Notes
    -----
    No row can be added or removed exactly without all the others: a model that is to
    learn and forget keeps its training rows (``keep_rows=True``, ``ids`` in ``fit``, or
    begun by ``partial_fit``). See Gu et al., Pattern Recognition 2018, for the method.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from widemargin import CostSensitiveSVC
    >>> X, y = make_classification(200, weights=[0.9], random_state=0)
    >>> model = CostSensitiveSVC(cost_positive=10, cost_negative=2, gamma=0.1)
    >>> model = model.partial_fit(X[:150], y[:150], classes=[0, 1])
    >>> model = model.partial_fit(X[150:], y[150:]).forget([3, 5])
    >>> model.ids_.size, model.certificate_.kkt_violation < 1e-8
    (198, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **IncrementalClassifier._parameter_constraints,
        "cost_positive": [Interval(Real, 0.0, None, closed="neither")],
        "cost_negative": [Interval(Real, 0.0, None, closed="neither")],
        "cost_matrix": ["array-like", None],
        "pos_label": "no_validation",
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        cost_positive: float = 1.0,
        cost_negative: float = 1.0,
        cost_matrix: Any = None,
        pos_label: Any = None,
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
        keep_rows: bool = False,
    ) -> None:
        self.C = C
        self.cost_positive = cost_positive
        self.cost_negative = cost_negative
        self.cost_matrix = cost_matrix
        self.pos_label = pos_label
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
        self.keep_rows = keep_rows

    def _tasks(
        self, data: LabelledData, gram: Gram, kernel: Kernel
    ) -> list[BinaryTask]:
        self.pair_costs_ = self._price_pairs(data.classes)
        return super()._tasks(data, gram, kernel)

    def _price_pairs(self, classes: NDArray[Any]) -> list[PairCosts]:
        """Return what mistakes cost in every pair of classes, in pair order."""
        pairs = class_pairs(classes.size)
        if self.cost_matrix is not None:
            matrix = self._checked_matrix(classes.size)
            return [
                costs_of_pair(matrix, negative, positive, self.cost_negative)
                for positive, negative in pairs
            ]
        check_costs(self.cost_positive, self.cost_negative)
        costly = self._costly_class(classes)
        prices = (float(self.cost_positive), float(self.cost_negative))
        return [
            PairCosts(
                (positive, negative),
                1 if costly in (-1, positive) else -1,
                *(prices if costly in (positive, negative) else (1.0, 1.0)),
            )
            for positive, negative in pairs
        ]

    def _checked_matrix(self, n_classes: int) -> NDArray[np.float64]:
        if self.cost_positive != 1.0 or self.pos_label is not None:
            raise ValueError(
                "cost_matrix says which class is costly and by how much; leave "
                "cost_positive and pos_label at their defaults."
            )
        matrix = check_cost_matrix(self.cost_matrix, n_classes)
        check_costs(2 * self.cost_negative, self.cost_negative)
        return matrix

    def _costly_class(self, classes: NDArray[Any]) -> int:
        """Return the number of the class that is costly to miss; -1 for none."""
        if self.pos_label is not None:
            found = np.flatnonzero(classes == self.pos_label)
            if found.size != 1:  # none, or a list of them
                raise ValueError(
                    f"pos_label={self.pos_label!r} is not one of the classes "
                    f"{classes.tolist()}."
                )
            return int(found[0])
        if classes.size == 2:
            return 1
        if self.cost_positive != 1.0 or self.cost_negative != 1.0:
            raise ValueError(
                f"cost_positive and cost_negative need to know which of the "
                f"{classes.size} classes is costly to miss: give pos_label or, for a "
                "price of every mistake, cost_matrix."
            )
        return -1

    def _problem(self, task: BinaryTask) -> DualProblem:
        pair = (task.positive, task.negative)
        prices = next(costs for costs in self.pair_costs_ if costs.pair == pair)
        return cost_problem(task.gram, task.y, task.costs, prices, self.fit_intercept)

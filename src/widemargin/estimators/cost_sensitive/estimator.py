"""The cost-sensitive support vector classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import DualProblem
from widemargin.estimators.base.multiclass import (
    BinaryTask,
    PairSamples,
    is_by_pair,
)
from widemargin.estimators.base.sklearn_compat import Interval, StrOptions
from widemargin.estimators.base.training_data import LabelledData
from widemargin.estimators.base.validation import check_weights, weighted_rows
from widemargin.estimators.incremental import IncrementalClassifier
from widemargin.estimators.incremental.chunk import Chunk, Given
from widemargin.estimators.incremental.refused import needs_rows
from widemargin.estimators.incremental.update_state import UpdateState

from .costs import cost_problem
from .prices import check_cost_matrix, price_pairs
from .reduction import check_sample_costs, cost_samples, in_units_of_the_least


class _PricedLabels(NamedTuple):
    """Labels, and what the answers cost for each row, on their way into a fit."""

    labels: Any
    costs: Any


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
        order of ``classes_``. Two classes: the one costlier to miss is positive and
        C+ = (2C- - 1) c_max / c_min, C being the price of the geometric mean of both.
        Several: cost-sensitive one-versus-one, see Notes.
        ``cost_positive`` and ``pos_label`` must then be left alone.
    pos_label : label, optional
        The class that is costly to miss; None takes ``classes_[1]``. For two classes.
    kernel : str or callable, default="rbf"
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
    break_ties : bool or "auto", default="auto"
        Break ties between pair votes by the decision values; "auto": where costs are
        reduced to pairs, see Notes. False gives a tie to the first of the classes.
    random_state : int, RandomState instance or None, default=None
        Order in which samples are first looked at. None is a fixed seed: two fits give
        the same model.
    fit_intercept : bool, default=True
        False forces the boundary through the origin of the feature space.
    n_jobs : int, default=None
        Threads; None for all cores.
    max_time : float, optional
        Limit of ``fit``, ``partial_fit`` and ``update`` in seconds; an update that
        takes longer leaves the model as it was and raises.
    warm_start : bool, default=False
        Start from the last fit's solution when rows, classes and kernel are the same.
    solver : {"auto", "direct", "divide"}, default="auto"
        Whether ``fit`` goes through clusters first.
    polish : {"auto", True, False}, default="auto"
        Whether a fit goes on to the exact solution, as in SVC.
    keep_rows : bool, default=False
        Keep all training rows, which ``partial_fit``, ``forget`` and ``update`` need.
    exact_updates : bool or "auto", default="auto"
        Whether updates end at the exact solution, or at ``tol`` where a solve takes
        less work; "auto": a path ends exactly, a solve where ``fit`` does.

    Attributes
    ----------
    ids_ : ndarray
        Ids of the rows, which ``forget`` takes; only where rows are kept.
    pair_costs_ : list of PairCosts
        C+ and C- of every pair of classes, in pair order; on top of the weights of the
        rows where costs are given by a matrix of several classes or by row.
    dual_coef_ : array of shape (n_classes - 1, n_SV), or (n_pairs, n_SV)
        Coefficients as in :class:`widemargin.SVC`; with a ``cost_matrix`` of several
        classes or with ``sample_costs`` a row for each pair of classes, in the order of
        ``intercept_``, since a sample of a third class has a coefficient in it too.
    certificate_, history_, classes_, support_, intercept_
        As in :class:`widemargin.SVC`, and so are all its other attributes.

    Notes
    -----
    Costs of three and more classes, and costs given row by row, are reduced to pairs as
    Lin (2014) does: the pair (i, j) is trained on every sample whose costs of answering
    i and j differ, of whatever class, for the cheaper of the two and with the
    difference as its weight, in units of the least cost of the matrix. Samples of a
    third class teach the pair which of two mistakes is the lesser. A matrix of zeros
    and ones gives :class:`widemargin.SVC` (with ``break_ties=True``).

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
        "break_ties": ["boolean", StrOptions({"auto"})],
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
        break_ties: bool | str = "auto",
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
        self.polish = polish
        self.keep_rows = keep_rows
        self.exact_updates = exact_updates

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        ids: Any = None,
        sample_costs: Any = None,
    ) -> Self:
        """Fit the model to training data; whatever was learnt before is gone.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            Training samples; the (n, n) kernel matrix with ``kernel="precomputed"``.
        y : array of shape (n_samples,)
            Labels.
        sample_weight : array of shape (n_samples,), optional
            Each row's factor on C; rows with weight <= 0 are as if absent.
        ids : array of shape (n_samples,), optional
            Unique integers or strings by which ``forget`` will know the rows, which are
            then kept; with ``keep_rows=True`` and no ids rows are numbered 0, 1, 2, ...
            over all calls.
        sample_costs : array of shape (n_samples, n_classes), optional
            ``[n, k]`` is the cost of predicting class k, in the order of ``classes_``,
            for row n: costs that differ from row to row, as amounts of money do. They
            multiply C as they are, so scale them to about 1; only differences within a
            row count. No other cost may be given then.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C. A former model stays; an estimator without one has the point
            reached, with ``fit_status_ = 1``, if every pair of classes has one.
        """
        return super().fit(X, _PricedLabels(y, sample_costs), sample_weight, ids)

    @needs_rows
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        ids: Any = None,
        sample_costs: Any = None,
        *,
        forget_ids: Any = None,
        window: Any = None,
    ) -> Self:
        """Add rows, let others go; the model becomes that of ``fit`` on the live rows.

        One update for both, all of it or, after an error, nothing.

        Parameters
        ----------
        X : array or CSR of shape (n_samples, n_features)
            New samples.
        y : array of shape (n_samples,)
            Their labels.
        classes : array, optional
            All labels that will ever occur. Where it is not given a label that is new
            adds a class, whose pairs are trained on the live rows; the first chunk has
            to hold two classes then.
        sample_weight : array of shape (n_samples,), optional
            Each row's factor on C; rows with weight <= 0 are as if absent.
        ids : array of shape (n_samples,), optional
            Unique integers or strings; given in every call or in none.
        sample_costs : array of shape (n_samples, n_classes), optional
            Costs of every answer for each row, as in ``fit``; given in every call or in
            none.
        forget_ids : int, str or array of them, optional
            Rows that leave in the same update, by their entries in ``ids_``.
        window : int, optional
            How many rows stay at most: the oldest leave in the same update, in the
            order in which they came.

        Returns
        -------
        self : object
            The estimator, with the new rows and without those that left.
        """
        priced = _PricedLabels(y, sample_costs)
        leavers = {"forget_ids": forget_ids, "window": window}
        return super().partial_fit(X, priced, classes, sample_weight, ids, **leavers)

    def _validated(self, X: Any, y: Any, sample_weight: Any, ids: Any) -> LabelledData:
        if not isinstance(y, _PricedLabels):  # a search has no costs by row
            return super()._validated(X, y, sample_weight, ids)
        data = super()._validated(X, y.labels, sample_weight, ids)
        if y.costs is None:
            return data
        costs = check_sample_costs(
            y.costs, data.n_given, data.rows, data.labels, data.classes
        )
        return replace(data, answer_costs=costs)

    def _checked_chunk(self, given: Given, former: UpdateState | None) -> Chunk:
        y = given.y
        chunk = super()._checked_chunk(replace(given, y=y.labels), former)
        priced = former is not None and former.live.answer_costs is not None
        if former is not None and former.live.n and priced != (y.costs is not None):
            raise ValueError(
                "sample_costs must be given in every call or in none; the first call "
                f"{'gave' if priced else 'did not give'} them."
            )
        brought = chunk.classes
        if priced and brought is not None and brought.renumbered is not None:
            raise ValueError(
                f"the classes {brought.labels.tolist()} are more than sample_costs had "
                "columns for; pass all classes on the first call, or call fit."
            )
        if y.costs is not None:
            n = chunk.n_given
            rows = weighted_rows(check_weights(given.sample_weight, n), n)
            labels = chunk.rows.targets
            assert labels is not None
            costs = check_sample_costs(y.costs, n, rows, labels, self.classes_)
            chunk = replace(chunk, rows=replace(chunk.rows, answer_costs=costs))
        return chunk

    def _tasks(
        self, data: LabelledData, gram: Gram, kernel: Kernel
    ) -> list[BinaryTask]:
        by_row = data.answer_costs is not None
        self.pair_costs_ = price_pairs(self, data.classes, by_row=by_row)
        return super()._tasks(data, gram, kernel)

    def _pair_samples(
        self, data: LabelledData, pairs: Sequence[tuple[int, int]]
    ) -> list[PairSamples]:
        if not self._by_pair(data):
            return super()._pair_samples(data, pairs)
        costs = data.answer_costs
        if costs is None:
            matrix = check_cost_matrix(self.cost_matrix, data.classes.size)
            costs = in_units_of_the_least(matrix)[data.labels]
        return [
            cost_samples(costs[:, first], costs[:, second]) for first, second in pairs
        ]

    def _by_pair(self, data: LabelledData) -> bool:
        several = self.cost_matrix is not None and data.classes.size > 2
        return several or data.answer_costs is not None

    def _breaks_ties(self, n_classes: int) -> bool:
        if self.break_ties != "auto":
            return bool(self.break_ties)
        if self.cost_matrix is not None:  # in a search nothing is fitted
            return True
        return self.__sklearn_is_fitted__() and is_by_pair(self.dual_coef_, n_classes)

    def _problem(self, task: BinaryTask) -> DualProblem:
        pair = (task.positive, task.negative)
        prices = next(costs for costs in self.pair_costs_ if costs.pair == pair)
        # all rows for one answer: constant, which takes an intercept
        intercept = self.fit_intercept or np.unique(task.y).size == 1
        return cost_problem(task.gram, task.y, task.costs, prices, intercept)

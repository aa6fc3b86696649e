"""Leave-one-out, exactly: what a model says of each row as if it had never been seen.

Removing a row without a coefficient changes nothing; a support vector leaves along the
path on which its box closes (mathematics 3.2, 9.4). No model is fitted again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from widemargin.engine.certificate import violation
from widemargin.engine.gram import Gram
from widemargin.engine.intercept import optimal_intercept
from widemargin.engine.path import accurate
from widemargin.engine.removals import closed, without_each
from widemargin.engine.solution import Solution
from widemargin.engine.updates import exact
from widemargin.estimators.base.validation import cache_megabytes, effective_threads
from widemargin.estimators.incremental.task_state import TaskState

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

LEAST_SHARED = 5e8  # bytes that removals share at least, where cache_size is "auto"


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """What :func:`leave_one_out` finds.

    Attributes
    ----------
    decision_values : ndarray of shape (n_rows,) or (n_rows, n_pairs)
        Value of each training row under the model of all others; a column per pair
        of classes where there are several.
    full_values : ndarray, of the same shape
        The same by the model of all rows.
    predictions : ndarray of shape (n_rows,)
        The labels that the first decide.
    targets : ndarray of shape (n_rows,)
        The labels of the rows.
    influence : ndarray of shape (n_rows,)
        How many decisions on the other training rows change when a row leaves.
    kkt_violation : float
        The largest that any of the smaller models has.
    ids : ndarray of shape (n_rows,)
        Names of the rows, as ``forget`` takes them.
    removed : int
        Paths followed: support vectors, over all pairs.
    seconds : float
        Wall time.
    """

    decision_values: Vector
    full_values: Vector
    predictions: NDArray[Any]
    targets: NDArray[Any]
    influence: Indices
    kkt_violation: float
    ids: NDArray[Any]
    removed: int
    seconds: float

    def __repr__(self) -> str:
        return (
            f"LeaveOneOut(rows={self.ids.size}, error={self.error:.4g}, "
            f"removed={self.removed}, kkt_violation={self.kkt_violation:.2g}, "
            f"seconds={self.seconds:.3g})"
        )

    @property
    def error(self) -> float:
        """The leave-one-out error: the share of rows that the others get wrong."""
        return float(np.mean(self.predictions != self.targets))

    def most_influential(self, count: int = 10) -> NDArray[Any]:
        """Return the ids of the rows whose removal changes most decisions.

        Parameters
        ----------
        count : int
            How many; rows without influence are left out.
        """
        order = np.argsort(-self.influence, kind="stable")[:count]
        return self.ids[order[self.influence[order] > 0]]


def _lacks(model: Any) -> str:
    return "has none" if is_classifier(model) else "predicts numbers"


def leave_one_out(model: Any) -> LeaveOneOut:
    """Return the decision values of all training rows as if each had not been seen.

    Equal to as many fits as there are rows, each without one of them and with the
    kernel coefficient of the whole, by one short path per support vector.

    Parameters
    ----------
    model : fitted classifier that kept its rows
        ``SVC(keep_rows=True)`` or ``CostSensitiveSVC(keep_rows=True)``.

    Returns
    -------
    LeaveOneOut
        Values, predictions, influence, and how exact they are.

    Raises
    ------
    ValueError
        Where the model has no rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from widemargin import SVC, leave_one_out
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SVC(keep_rows=True).fit(scale(X[:150]), y[:150])
    >>> found = leave_one_out(model)
    >>> bool(found.kkt_violation < 1e-8), bool(found.error < 0.1)
    (True, True)
    """
    if not is_classifier(model) or not hasattr(model, "ids_"):
        raise ValueError(
            "leave_one_out needs a fitted classifier that kept its training rows; this "
            f"{type(model).__name__} {_lacks(model)}. Fit SVC(keep_rows=True) or "
            "CostSensitiveSVC(keep_rows=True)."
        )
    started = time.perf_counter()
    state = model._updates
    live, threads = state.live, effective_threads(model.n_jobs)
    gram = Gram(live.X, state.kernel, threads=threads)
    found = [
        _left_out(gram, task, threads, _budget(model, gram.n)) for task in state.tasks
    ]
    values = np.stack([one.values for one in found], axis=1)
    full = np.stack([one.full for one in found], axis=1)
    if len(found) == 1:
        values, full = values[:, 0], full[:, 0]
    return LeaveOneOut(
        decision_values=values,
        full_values=full,
        predictions=model._labels(values, model.classes_),
        targets=model.classes_[live.targets],
        influence=np.sum([one.influence for one in found], axis=0),
        kkt_violation=max(one.violation for one in found),
        ids=live.ids,
        removed=sum(one.removed for one in found),
        seconds=time.perf_counter() - started,
    )


def _budget(model: Any, n: int) -> float:
    """Return the bytes that removals may share: twice the cache of a fit."""
    allowed = 2e6 * cache_megabytes(model.cache_size, n)
    return max(allowed, LEAST_SHARED) if model.cache_size == "auto" else allowed


@dataclass(frozen=True, eq=False)
class _Pair:
    """What is found of one task, for all rows."""

    values: Vector
    full: Vector
    influence: Indices
    violation: float
    removed: int


def _left_out(gram: Gram, state: TaskState, threads: int, budget: float) -> _Pair:
    members, n = state.members, gram.n
    solution = state.solution(gram.subset(members))
    solution = accurate(solution) if state.solved else exact(solution)[0]
    beta = np.zeros(n)
    beta[members] = solution.beta
    full = gram.times(beta) + solution.intercept
    values, influence = full.copy(), np.zeros(n, dtype=np.intp)
    support = np.flatnonzero(solution.beta)
    before = solution.values + solution.intercept >= 0.0
    worst = violation(solution.problem, solution.beta, solution.values)
    for removed in without_each(solution, support, threads, budget):
        row = removed.row
        values[members[row]] = removed.decisions[row]
        changed = (removed.decisions >= 0.0) != before
        changed[row] = False
        influence[members[row]] = np.count_nonzero(changed)
        worst = max(worst, removed.violation)
    _mind_the_intercept(solution, members, values)
    return _Pair(values, full, influence, worst, support.size)


def _mind_the_intercept(solution: Solution, members: Indices, values: Vector) -> None:
    """Correct rows without a coefficient that bound an interval of intercepts.

    Where a support vector is free the intercept is its own; else the rows decide.
    """
    problem = solution.problem
    if problem.total is None or problem.free(solution.beta).any():
        return
    for row in np.flatnonzero(solution.beta == 0.0):
        smaller = closed(problem, int(row))
        others = np.arange(problem.n) != row
        intercept = optimal_intercept(
            solution.values[others], smaller.linear[others], smaller.lower[others],
            smaller.upper[others], smaller.total,
        )  # fmt: skip
        values[members[row]] = solution.values[row] + intercept

"""Reserve vectors: rows far beyond the margin, which enter and leave at 0.

A row whose coefficient is 0 before and after, and whose breakpoint lies outside the
interval of optimal intercepts, leaves solution, certificate and model as they are.
Its own kernel sums alone decide whether it does.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.engine.gram import Gram
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import stage_record
from widemargin.engine.verification import bounded_cross

from .known_parameters import same_prices
from .live_rows import LiveRows
from .record import Update, recent
from .task_state import TaskState
from .update_state import UpdateState

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

# what no path has taken
QUIET = {
    "steps": 0, "exchanges": 0, "shifts": 0, "perturbations": 0, "refactorisations": 0,
    "route": "settled",
}  # fmt: skip


def settled_newcomers(
    estimator: Any,
    tasks: Sequence[TaskState],
    newcomers: Sequence[tuple[Indices, DualProblem]],
) -> list[tuple[Vector, Vector]] | None:
    """Return K beta of new rows, with bounds, if none of them changes anything.

    Parameters
    ----------
    estimator : object
        The fitted model: its support vectors and coefficients.
    tasks : list of TaskState
        The solutions it stands on.
    newcomers : list of pairs
        For each task its new rows, of the chunk, and their terms as a problem.
    """
    expansion = Expansion(estimator)
    found = []
    for column, (state, (rows, terms)) in enumerate(zip(tasks, newcomers, strict=True)):
        if rows.size == 0:
            found.append((np.zeros(0), np.zeros(0)))
            continue
        sums, errors = expansion.sums(column, terms.gram.samples)
        if not state.settles(terms, sums, errors):
            return None
        found.append((sums, errors))
    return found


class Expansion:
    """The support vectors of a fitted model with their coefficients in each task."""

    def __init__(self, estimator: Any) -> None:
        self._table = estimator._expansion()
        self._gram = Gram(estimator.support_vectors_, estimator._kernel, cache_mb=1)

    def sums(self, task: int, samples: Any) -> tuple[Vector, Vector]:
        """Return K beta of samples in one task, with bounds on its rounding."""
        return bounded_cross(self._gram, samples, self._column(task))

    def _column(self, number: int) -> Vector:
        """Return the coefficients of one task out of those of all, dense or sparse."""
        if self._table.ndim == 1:
            return np.ascontiguousarray(self._table)
        column = self._table[:, [number]]
        dense = column.toarray() if sparse.issparse(column) else column
        return np.ascontiguousarray(dense.ravel())


def settled_leavers(estimator: Any, state: UpdateState, gone: Indices) -> bool:
    """Whether rows can leave without changing anything, in any task.

    Their own K beta is summed where it is not known: a refit leaves that to updates.
    """
    chosen = [task.places(gone) for task in state.tasks]
    for task, places in zip(state.tasks, chosen, strict=True):
        if not task.solved or task.total is None or task.beta[places].any():
            return False
    expansion = Expansion(estimator)
    for number, (task, places) in enumerate(zip(state.tasks, chosen, strict=True)):
        if not places.size:
            continue
        if task.values is not None and task.errors is not None:
            sums, errors = task.values[places], task.errors[places]
        else:
            samples = state.live.X[task.members[places]]
            sums, errors = expansion.sums(number, samples)
        if not task.settled(places, sums, errors):
            return False
    return True


def enter_quietly(
    estimator: Any, state: UpdateState, chunk: LiveRows
) -> UpdateState | None:
    """Return the state with new rows that change nothing; None if they do, or may."""
    if not (state.tasks and estimator.__sklearn_is_fitted__()):
        return None
    if not (state.kernel.semidefinite and same_prices(estimator, state.parameters)):
        return None
    if estimator._every_row_counts():
        return None
    data = estimator._training(chunk)
    gram = estimator._make_gram(data, state.kernel)
    tasks = estimator._tasks(data, gram, state.kernel)
    newcomers = [(task.rows, estimator._moved_problem(task)) for task in tasks]
    found = settled_newcomers(estimator, state.tasks, newcomers)
    if found is None:
        return None
    joined, first = state.live.joined(chunk), state.live.n
    extended = [
        task.extended(first + rows, terms, *sums) if rows.size else task
        for task, (rows, terms), sums in zip(state.tasks, newcomers, found, strict=True)
    ]
    return state.changed(live=joined, tasks=extended)


def leave_quietly(
    estimator: Any, state: UpdateState, gone: Indices
) -> UpdateState | None:
    """Return the state without rows that change nothing; None if they do, or may.

    Their places are still there: :func:`erase` is for the moment when it is certain
    that the state stands.
    """
    if gone.size == 0 or gone.size == state.n or not state.live.writeable:
        return None
    if estimator._every_row_counts() or not same_prices(estimator, state.parameters):
        return None
    if not settled_leavers(estimator, state, gone):
        return None
    number = estimator.support_
    ranks = gone - np.searchsorted(state.gone, gone)  # among the live rows
    later = state.changed(gone=np.union1d(state.gone, gone))
    estimator.support_ = (number - np.searchsorted(ranks, number)).astype(number.dtype)
    if later.gone.size > later.n:  # so that memory follows the live rows
        return later.closed_up()
    return later


def erase(state: UpdateState, gone: Indices) -> None:
    """Overwrite what is stored of rows that have left; idempotent."""
    state.index.remove(state.live.ids[gone], gone)
    state.live.erase(gone)
    for task in state.tasks:
        task.erase(gone)


def note(estimator: Any, state: UpdateState, update: Update) -> None:
    """Record an update after which model and certificate are what they were."""
    found = estimator.certificate_
    certificates = found if isinstance(found, list) else [found]
    record = stage_record(
        update.stage,
        state.n,
        time.perf_counter() - update.begun,
        certificates,
        kkt_violation=max(c.kkt_violation or 0.0 for c in certificates),
        chunk=update.chunk,
        forgotten=update.forgotten,
        margin=max(task.margin for task in state.tasks),
        **QUIET,
    )
    estimator.history_ = recent([*estimator.history_, record])
    estimator.shape_fit_ = (state.n, estimator.n_features_in_)

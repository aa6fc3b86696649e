"""Solutions with one row removed, from the solution with all rows.

Removing a row is the path on which its box closes (mathematics 3.2). Removals from the
same solution share what a path costs most: the response of all rows to each, computed
once (core/path/removals.hpp). What the paths lead to is multiplied by the kernel matrix
and accepted by its KKT violation; a removal that meets a tie is solved by itself, by
:func:`widemargin.engine.updates.move`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.numerics.products import products
from widemargin.runtime.cancellation import check_cancelled

from .certificate import violation
from .intercept import MASS_ROUNDING
from .path import accurate
from .path.follow import gradient_unit
from .problem import DualProblem
from .solution import Solution
from .updates import move

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

ACCEPTED = 1e-9  # KKT violation, per unit of the linear term
WATCH_ALL_BELOW = 600  # fewer rows than this are all watched
WATCH_SHARE = 2  # otherwise this many rows for each support vector
TOGETHER = 64  # removals between two checks of signals, verified by one product
BYTES = 8


@dataclass(frozen=True, eq=False)
class Removed:
    """The solution without one row.

    Attributes
    ----------
    row : int
        Which.
    decisions : ndarray of shape (n,)
        ``K beta + b`` at all rows, the removed one too.
    violation : float
        KKT violation of the smaller problem.
    """

    row: int
    decisions: Vector
    violation: float


def closed(problem: DualProblem, row: int) -> DualProblem:
    """Return the problem with the box of a row closed at zero."""
    lower, upper = problem.lower.copy(), problem.upper.copy()
    lower[row] = upper[row] = 0.0
    return DualProblem(problem.gram, problem.linear, lower, upper, problem.total)


def without_each(
    solution: Solution, rows: Indices, threads: int, budget: float = np.inf
) -> Iterator[Removed]:
    """Yield the solution without each of some rows, in their order.

    Parameters
    ----------
    solution : Solution
        Exact, of a problem without kinks.
    rows : ndarray
        Support vectors; the removal of any other row changes nothing.
    threads : int
        Removals side by side.
    budget : float
        Bytes of memory that what they share may take; without it each is a path.
    """
    solution = accurate(solution)
    shared = _Shared.of(solution, threads, budget) if rows.size else None
    for first in range(0, rows.size, TOGETHER):
        check_cancelled()
        part = rows[first : first + TOGETHER]
        found = {} if shared is None else shared.without(part)
        for row in part.tolist():
            yield found[row] if row in found else _by_a_path(solution, row)


def _by_a_path(solution: Solution, row: int) -> Removed:
    moved, _ = move(solution, closed(solution.problem, row))
    return Removed(
        row, moved.values + moved.intercept,
        violation(moved.problem, moved.beta, moved.values),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Shared:
    """What all removals share: kernel values of the watched rows, and the response."""

    solution: Solution
    watched: Indices
    entries: Vector  # K of all rows and the watched ones
    paths: _core.Removals
    unit: float
    threads: int

    @classmethod
    def of(cls, solution: Solution, threads: int, budget: float) -> _Shared | None:
        """Return it, or None where memory or the margin set does not allow it."""
        problem, beta = solution.problem, solution.beta
        values, n = solution.values, problem.n
        gradient = values + solution.intercept - problem.linear
        watched = _watched(beta, gradient)
        margin = int(np.count_nonzero(problem.free(beta)))
        if BYTES * watched.size * (n + watched.size + 2 * margin) > budget:
            return None
        entries = np.empty((n, watched.size))
        for first in range(0, watched.size, TOGETHER):
            check_cancelled()
            part = slice(first, first + TOGETHER)
            entries[:, part] = problem.gram.rows(watched[part]).T
        unit = gradient_unit(problem, beta, values)
        paths = _core.Removals(
            beta[watched], gradient[watched], problem.lower[watched],
            problem.upper[watched], problem.total is not None, unit,
            entries[watched], threads,
        )  # fmt: skip
        if not paths.ready:
            return None
        return cls(solution, watched, entries, paths, unit, threads)

    def without(self, rows: Indices) -> dict[int, Removed]:
        """Return what was reached, checked on all rows; ties are left out."""
        places = np.searchsorted(self.watched, rows)
        betas = np.zeros((rows.size, self.watched.size))
        reached = np.zeros(rows.size, dtype=np.int8)
        self.paths.remove(places.astype(np.int32), betas, reached)
        problem, before = self.solution.problem, self.solution.beta
        changes = betas - before[self.watched]
        changes[reached == 0] = 0.0
        moved = np.flatnonzero(changes.any(axis=0))
        values = self.solution.values + (
            products(changes[:, moved], self.entries[:, moved], self.threads)
        )
        found = {}
        for k in np.flatnonzero(reached):
            row, beta = int(rows[k]), before.copy()
            beta[self.watched] = betas[k]
            one = self._checked(problem, row, beta, values[k])
            if one is not None:
                found[row] = one
        return found

    def _checked(
        self, problem: DualProblem, row: int, beta: Vector, values: Vector
    ) -> Removed | None:
        """Return what a path has reached if it solves the smaller problem."""
        slopes = values - problem.linear
        can_grow, can_fall = beta < problem.upper, beta > problem.lower
        can_grow[row] = can_fall[row] = False
        growth = slopes.min(where=can_grow, initial=np.inf)
        fall = slopes.max(where=can_fall, initial=-np.inf)
        if problem.total is None:
            left, level = max(0.0, -growth, fall), 0.0
        else:
            left, level = max(0.0, fall - growth), 0.5 * (fall + growth)
            missed = abs(float(beta.sum()) - problem.total)
            left = max(left, missed / max(float(np.abs(beta).sum()), 1e-300))
            room = np.minimum(problem.upper - beta, beta - problem.lower)
            room[row] = 0.0
            mass = float((problem.upper - problem.lower).sum())
            if room.max() <= MASS_ROUNDING * mass:  # an interval of intercepts
                return None
        if not left <= ACCEPTED * self.unit:
            return None
        return Removed(row, values - level, float(left))


def _watched(beta: Vector, gradient: Vector) -> Indices:
    """Rows that may meet an event: support vectors, and the nearest to the margin."""
    n, support = beta.size, int(np.count_nonzero(beta))
    wanted = max(WATCH_ALL_BELOW, WATCH_SHARE * support)
    if wanted >= n:
        return np.arange(n)
    chosen = beta != 0.0
    distance = np.where(chosen, np.inf, np.abs(gradient))
    chosen[np.argpartition(distance, wanted - support)[: wanted - support]] = True
    return np.flatnonzero(chosen)

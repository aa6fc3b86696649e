"""Chains over the few rows that can be support vectors; sweeps settle the others.

Of many rows few are support vectors in any fold at any cost, and only entries between
these are read over and over. So the kernel matrix of such candidates alone is held:

1. A survey solves the problems of all costs over all rows at once, by stages: first of
   some rows, then of twice as many, with those that violate their conditions, from the
   solutions of the stage before.
2. Its support vectors, and the rows nearest to the margin, are the candidates. The
   chains of all folds are solved over them, each moving as the survey did.
3. One sweep evaluates the entries between support vectors and all other rows, each once
   for all solutions. A member at zero that violates the conditions of its problem
   becomes a candidate, and its problems are solved on.

When no member violates, every problem is solved over all of its members to the
tolerance, and the values at held-out rows are those of the last sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .gram import Gram
from .intercept import optimal_intercept
from .problem import Terms
from .solve_options import Monitor
from .split_variables import fall_slopes, growth_slopes
from .warm_start_chain import (
    Chain,
    ChainSolution,
    Matrix,
    MatrixMemory,
    kernel_matrix,
    several_times,
    solve_chain,
)

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

FIRST_ROWS = 2000  # of the first stage of a survey, at least
SURVEY_TOLERANCE = 10.0  # of that of the folds
NEAR = 0.25  # of the support vectors: as many others are expected to become one
MOST_CANDIDATES = 0.7  # of the rows so far: above, plain fits by stages take less time

Mapped = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(eq=False)
class _Cell:
    """One problem of a chain: its point, and ``K beta``, over all rows."""

    chain: Chain
    problem: Terms
    beta: Vector
    values: Vector
    found: ChainSolution | None = None
    n_iter: int = 0


@dataclass(eq=False)
class _HeldRows:
    """Solves over a matrix of some rows, and sweeps over others.

    Attributes
    ----------
    ended : bool
        Whether the monitor ended a solve.
    """

    gram: Gram
    dtype: Any
    most: int
    monitor: Monitor | None
    mapped: Mapped
    memory: MatrixMemory
    ended: bool = False

    def solve(
        self,
        candidates: Mask,
        cells: list[list[_Cell]],
        tol: float,
        similar: tuple[Matrix, Matrix] | None,
    ) -> bool:
        """Solve problems over their members among the candidates, chain by chain.

        From the solutions of similar problems where these are given, else from their
        own. False where the candidates are too many, or the monitor ended a solve.
        """
        rows = np.flatnonzero(candidates)
        if rows.size > self.most:
            return False
        matrix = kernel_matrix(self.gram.subset(rows), self.dtype, self.memory)

        def solved(row: list[_Cell]) -> None:
            inside = candidates[row[0].chain.members]
            members = row[0].chain.members[inside]
            others = np.setdiff1d(rows, members, assume_unique=True)
            places = np.searchsorted(rows, members), np.searchsorted(rows, others)
            read = np.concatenate([members, others])
            starts = near = None
            if similar is not None and len(similar[0]) == len(row):
                near = similar[0][:, read], similar[1][:, read]
            elif row[0].found is not None:
                starts = (
                    np.array([cell.beta[members] for cell in row]),
                    np.array([cell.values[read] for cell in row]),
                )
            terms = [_restricted(cell.problem, inside) for cell in row]
            given = *places, terms, tol, self.monitor, starts, near
            found = solve_chain(matrix, *given)
            self.ended |= len(found) < len(row)
            for cell, solution in zip(row, found, strict=False):
                cell.found = solution
                cell.beta[members] = solution.beta
                cell.values[members] = solution.values
                cell.values[others] = solution.other_values
                cell.n_iter += solution.n_iter

        list(self.mapped(solved, cells))
        return not self.ended

    def sweep(self, cells: list[_Cell], rows: Mask) -> None:
        """Evaluate the values of problems at some rows, each entry once for all."""
        chosen = np.flatnonzero(rows)
        betas = np.array([cell.beta for cell in cells])
        sweep = several_times(self.gram, betas, chosen, self.dtype)
        for cell, values in zip(cells, sweep, strict=True):
            cell.values[chosen] = values


def solve_by_candidates(
    gram: Gram,
    chains: Sequence[Chain],
    tol: float,
    dtype: Any,
    most: int,
    monitor: Monitor | None = None,
    mapped: Mapped = map,
    memory: MatrixMemory | None = None,
) -> list[list[ChainSolution]] | None:
    """Solve chains over all rows of a handle without their whole matrix.

    Parameters
    ----------
    gram : Gram
        All rows.
    chains : sequence of Chain
        Their problems as :func:`solve_chain` takes them.
    tol : float
        Largest KKT violation.
    dtype : float32 or float64
        Precision of the entries.
    most : int
        Candidates whose matrix fits in memory.
    monitor : callable, optional
        As that of a solve.
    mapped : callable
        Maps a function over chains, as :func:`map` does; in threads, for example.
    memory : MatrixMemory, optional
        Where the matrix goes.

    Returns
    -------
    list of list of ChainSolution
        As :func:`solve_chain` gives them, none where the monitor returned False; or
        None where the candidates are too many.
    """
    n = gram.n
    memory = memory or MatrixMemory()
    expected = min(most, int(MOST_CANDIDATES * n))
    memory.reserve(expected * expected * np.dtype(dtype).itemsize)
    held = _HeldRows(gram, dtype, most, monitor, mapped, memory)
    cells = [_cells(chain, n) for chain in chains]
    survey = _cells(_joined(chains, n), n)
    candidates = _surveyed(held, survey, tol)
    similar = _points(survey)
    if candidates is None or not _solved(held, cells, candidates, similar, tol):
        return [[] for _ in chains] if held.ended else None
    return [list(_solutions(row)) for row in cells]


def _solved(
    held: _HeldRows,
    unsolved: list[list[_Cell]],
    candidates: Mask,
    similar: tuple[Matrix, Matrix] | None,
    tol: float,
) -> bool:
    """Solve problems over candidates until no other member violates its conditions."""
    while unsolved:
        if not held.solve(candidates, unsolved, tol, similar):
            return False
        similar = None
        flat = [cell for row in unsolved for cell in row]
        held.sweep(flat, ~candidates)
        violators = [_violators(cell, candidates, tol) for cell in flat]
        candidates = candidates | np.any(violators, axis=0)
        left = {id(c) for c, found in zip(flat, violators, strict=True) if found.any()}
        again = ([cell for cell in row if id(cell) in left] for row in unsolved)
        unsolved = [row for row in again if row]
    return True


def _cells(chain: Chain, n: int) -> list[_Cell]:
    return [
        _Cell(chain, problem, np.zeros(n), np.zeros(n)) for problem in chain.problems
    ]


def _joined(chains: Sequence[Chain], n: int) -> Chain:
    """Return a chain over the members of all: each with its terms in the first."""
    count = min(len(chain.problems) for chain in chains)
    terms = np.zeros((count, 4, n))
    present = np.zeros(n, dtype=np.bool_)
    for chain in reversed(chains):
        present[chain.members] = True
        for own, problem in zip(terms, chain.problems, strict=False):
            kink = 0.0 if problem.kink is None else problem.kink
            own[0, chain.members] = problem.linear
            own[1, chain.members] = problem.lower
            own[2, chain.members] = problem.upper
            own[3, chain.members] = kink
    members = np.flatnonzero(present)
    total = chains[0].problems[0].total
    problems = []
    for own in terms:
        linear, lower, upper, kink = own[:, members]
        problems.append(
            Terms(linear, lower, upper, total, kink if kink.any() else None)
        )
    return Chain(members, members[:0], problems)


def _surveyed(held: _HeldRows, cells: list[_Cell], tol: float) -> Mask | None:
    """Solve the problems of all rows roughly; return the candidates that they show.

    By stages of twice as many rows: of those that a stage adds, the ones that violate
    their conditions are candidates beside the support vectors so far. None where a
    solve came to no end, or where most rows are candidates before the last stage.
    """
    n, tol = held.gram.n, SURVEY_TOLERANCE * tol
    order = np.random.default_rng(0).permutation(cells[0].chain.members)
    sizes = [order.size]
    while sizes[0] >= 2 * FIRST_ROWS:
        sizes.insert(0, sizes[0] // 2)
    candidates: Mask = np.zeros(n, dtype=np.bool_)
    candidates[order[: sizes[0]]] = True
    similar = None
    for following in [*sizes[1:], None]:
        if not held.solve(candidates, [cells], tol, similar):
            return None
        seen = np.zeros(n, dtype=np.bool_)
        seen[order[:following]] = True
        held.sweep(cells, seen & ~candidates)
        near = NEAR if following is None else 0.0
        expected = [_expected(cell, candidates, seen, tol, near) for cell in cells]
        candidates = np.any(expected, axis=0)
        share = np.count_nonzero(candidates) / np.count_nonzero(seen)
        if following is not None and share > MOST_CANDIDATES:
            return None  # the folds are not worth another stage
        similar = _points(cells)
    return candidates


def _points(cells: list[_Cell]) -> tuple[Matrix, Matrix]:
    """Return the points of problems, and ``K beta`` of them."""
    return (
        np.array([cell.beta for cell in cells]),
        np.array([cell.values for cell in cells]),
    )


def _expected(
    cell: _Cell, candidates: Mask, seen: Mask, tol: float, near: float
) -> Mask:
    """Return the support vectors and violators, and of others those that may follow."""
    expected = (cell.beta != 0.0) | (seen & _violators(cell, candidates, tol))
    slack = np.where(seen & ~expected, _slack(cell, candidates), np.inf)
    count = int(near * np.count_nonzero(expected))
    if 0 < count < slack.size:
        expected |= slack <= max(np.partition(slack, count - 1)[count - 1], 0.0)
    chosen: Mask = expected & seen
    return chosen


def _restricted(terms: Terms, inside: Mask) -> Terms:
    """Return the terms of some of the members, the others being zero."""
    kink = None if terms.kink is None else terms.kink[inside]
    return Terms(
        terms.linear[inside], terms.lower[inside], terms.upper[inside],
        terms.total, kink,
    )  # fmt: skip


def _violators(cell: _Cell, candidates: Mask, tol: float) -> Mask:
    """Return which members that are no candidates violate their conditions at zero."""
    room = tol if cell.problem.total is None else 0.5 * tol
    return (_slack(cell, candidates) < -room) & ~candidates


def _slack(cell: _Cell, candidates: Mask) -> Vector:
    """Return how far members are from a violation of their conditions.

    The level is where the slopes of the candidates meet; rows that are no members are
    as far as can be.
    """
    members, terms = cell.chain.members, cell.problem
    beta, inside = cell.beta[members], candidates[members]
    gradient = cell.values[members] - terms.linear
    growth = growth_slopes(beta, gradient, terms.kink)
    growth = np.where(beta < terms.upper, growth, np.inf)
    fall = fall_slopes(beta, gradient, terms.kink)
    fall = np.where(beta > terms.lower, fall, -np.inf)
    level = 0.0
    if terms.total is not None:
        lowest, highest = (
            growth[inside].min(initial=np.inf),
            fall[inside].max(initial=-np.inf),
        )
        level = 0.5 * (lowest + highest)
    slack = np.full(cell.beta.size, np.inf)
    slack[members] = np.minimum(growth - level, level - fall)
    return slack


def _solutions(row: list[_Cell]) -> Iterator[ChainSolution]:
    """Yield the solutions of a chain over all of its members."""
    for cell in row:
        chain, terms = cell.chain, cell.problem
        assert cell.found is not None
        values = cell.values[chain.members]
        yield replace(
            cell.found, problem=terms, beta=cell.beta[chain.members], values=values,
            other_values=cell.values[chain.others],
            intercept=optimal_intercept(values, *terms), n_iter=cell.n_iter,
        )  # fmt: skip

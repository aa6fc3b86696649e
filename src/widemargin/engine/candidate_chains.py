"""Chains over the few rows that can be support vectors; sweeps settle the others.

Of many rows few are support vectors in any fold at any cost, and only entries between
these are read over and over. So the kernel matrix of such candidates alone is held:

1. Candidates are a random choice of the rows.
2. The chains of all folds are solved over them.
3. One sweep evaluates the entries between support vectors and all other rows, each once
   for all solutions. A member at zero that violates the conditions of its problem
   becomes a candidate, and 2 goes on from the solutions found.

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
    Indices,
    Matrix,
    MatrixMemory,
    kernel_matrix,
    several_times,
    solve_chain,
)

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

FIRST_CANDIDATES = 2000
FIRST_MEMBERS = 100  # at least, of each chain
MOST_CANDIDATES = 0.75  # of the rows: above, plain fits by stages take less time

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
    most = min(most, int(MOST_CANDIDATES * n))
    cells = [
        [_Cell(chain, problem, np.zeros(n), np.zeros(n)) for problem in chain.problems]
        for chain in chains
    ]
    candidates = np.zeros(n, dtype=np.bool_)
    rng = np.random.default_rng(0)
    candidates[rng.permutation(n)[:FIRST_CANDIDATES]] = True
    for chain in chains:
        candidates[rng.permutation(chain.members)[:FIRST_MEMBERS]] = True
    unsolved, first, memory = cells, True, memory or MatrixMemory()
    while unsolved:
        if np.count_nonzero(candidates) > most:
            return None
        rows = np.flatnonzero(candidates)
        matrix = kernel_matrix(gram.subset(rows), dtype, memory)
        _solve_over(matrix, rows, unsolved, tol, monitor, mapped)
        flat = [cell for row in unsolved for cell in row]
        if any(cell.found is None for cell in flat):
            return [[] for _ in chains]
        rest = np.flatnonzero(~candidates)
        sweep = several_times(gram, np.array([c.beta for c in flat]), rest, dtype)
        violators = np.zeros((len(flat), n), dtype=np.bool_)
        for cell, values, violating in zip(flat, sweep, violators, strict=True):
            cell.values[rest] = values
            violating[:] = _violators(cell, candidates, tol)
        if first:  # of the random choice, those that matter
            candidates = np.any([cell.beta != 0.0 for cell in flat], axis=0)
        first = False
        candidates |= violators.any(axis=0)
        left = {id(c) for c, found in zip(flat, violators, strict=True) if found.any()}
        again = ([cell for cell in row if id(cell) in left] for row in unsolved)
        unsolved = [row for row in again if row]
    return [list(_solutions(row)) for row in cells]


def _solve_over(
    matrix: Matrix,
    rows: Indices,
    unsolved: list[list[_Cell]],
    tol: float,
    monitor: Monitor | None,
    mapped: Mapped,
) -> None:
    """Solve problems over their members among the rows of a matrix."""

    def solved(row: list[_Cell]) -> None:
        chain = row[0].chain
        inside = np.isin(chain.members, rows)
        members = chain.members[inside]
        others = np.setdiff1d(rows, members)
        places = np.searchsorted(rows, members), np.searchsorted(rows, others)
        read = np.concatenate([members, others])
        starts = None
        if row[0].found is not None:
            starts = (
                np.array([cell.beta[members] for cell in row]),
                np.array([cell.values[read] for cell in row]),
            )
        terms = [_restricted(cell.problem, inside) for cell in row]
        given = *places, terms, tol, monitor, starts
        for cell in row:
            cell.found = None
        for cell, found in zip(row, solve_chain(matrix, *given), strict=False):
            cell.found = found
            cell.beta[members] = found.beta
            cell.values[members] = found.values
            cell.values[others] = found.other_values
            cell.n_iter += found.n_iter

    list(mapped(solved, unsolved))


def _restricted(terms: Terms, inside: Mask) -> Terms:
    """Return the terms of some of the members, the others being zero."""
    kink = None if terms.kink is None else terms.kink[inside]
    return Terms(
        terms.linear[inside], terms.lower[inside], terms.upper[inside],
        terms.total, kink,
    )  # fmt: skip


def _violators(cell: _Cell, candidates: Mask, tol: float) -> Mask:
    """Return which members that are no candidates violate their conditions at zero.

    The level is where the slopes of the candidates meet, to half the tolerance.
    """
    members, terms = cell.chain.members, cell.problem
    beta, inside = cell.beta[members], candidates[members]
    gradient = cell.values[members] - terms.linear
    growth = growth_slopes(beta, gradient, terms.kink)
    fall = fall_slopes(beta, gradient, terms.kink)
    can_grow, can_fall = beta < terms.upper, beta > terms.lower
    level, room = 0.0, tol
    if terms.total is not None:
        lowest = growth[can_grow & inside].min(initial=np.inf)
        highest = fall[can_fall & inside].max(initial=-np.inf)
        level, room = 0.5 * (lowest + highest), 0.5 * tol
    violating = (can_grow & (growth < level - room)) | (
        can_fall & (fall > level + room)
    )
    out = np.zeros(cell.beta.size, dtype=np.bool_)
    out[members] = violating & ~inside
    return out


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

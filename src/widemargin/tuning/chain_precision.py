"""Chains in the precision that they need, and in double precision what that stalls.

Single precision takes half of the memory and of the time, but rounding of its entries
may leave a violation above the tolerance at the largest costs of a narrow kernel. Such
problems alone go on in double precision, from where they stand.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.candidate_chains import Mapped, solve_by_candidates
from widemargin.engine.gram import Gram
from widemargin.engine.solve_options import Monitor
from widemargin.engine.warm_start_chain import (
    Chain,
    ChainSolution,
    MatrixMemory,
    kernel_matrix,
    several_times,
    solve_chain,
)

Indices = NDArray[np.intp]
Solutions = list[ChainSolution]


@dataclass(frozen=True)
class ChainSolver:
    """Solves chains over the samples of a handle.

    Attributes
    ----------
    gram : Gram
        The samples.
    budget : float
        Bytes of a matrix.
    room : float
        Bytes of two at a time, the first in single precision.
    precision : float32 or float64
        Precision of the entries, at first.
    tol : float
        Largest KKT violation.
    monitor : callable
        As that of a solve.
    mapped : callable
        Maps a function over chains, as :func:`map` does; in threads, for example.
    memory : MatrixMemory
        Where the first matrix goes.
    """

    gram: Gram
    budget: float
    room: float
    precision: Any
    tol: float
    monitor: Monitor
    mapped: Mapped
    memory: MatrixMemory

    def over_matrix(
        self, chains: Sequence[Chain], places: Indices
    ) -> list[Solutions] | None:
        """Return the solutions over the whole matrix; None where it is too large.

        ``places`` are those of the samples of the chains on the handle.
        """
        size = 4.0 * self.gram.n**2
        if size > self.budget:
            return None
        matrix = kernel_matrix(self.gram, self.precision, self.memory)
        goes_on = self.precision is np.float32 and 3.0 * size <= self.room
        once = threading.Lock()

        @cache
        def exact_matrix() -> NDArray[np.float64]:
            return kernel_matrix(self.gram, np.float64)

        def solved(chain: Chain) -> Solutions:
            rows = places[chain.members], places[chain.others]
            given = self.tol, self.monitor
            found = solve_chain(matrix, *rows, chain.problems, *given)
            stalled = _stalled(found)
            if not stalled or not goes_on:
                return found
            with once:
                exact = exact_matrix()
            betas = np.zeros((len(stalled), self.gram.n))
            betas[:, rows[0]] = [found[k].beta for k in stalled]
            values = several_times(self.gram, betas, np.concatenate(rows), np.float64)
            starts = betas[:, rows[0]], values
            problems = _part(chain, stalled).problems
            again = solve_chain(exact, *rows, problems, *given, starts)
            return _replaced(found, stalled, again)

        return list(self.mapped(solved, chains))

    def over_candidates(self, chains: Sequence[Chain]) -> list[Solutions] | None:
        """Return the solutions over candidates; None where these are too many."""
        found = self._by_candidates(chains, self.precision)
        if found is None:
            return None
        stalled = sorted(set().union(*map(_stalled, found)))
        if not stalled or self.precision is np.float64:
            return found
        rest = [_part(chain, stalled) for chain in chains]
        again = self._by_candidates(rest, np.float64) or [[] for _ in rest]
        return [
            _replaced(own, stalled, new) for own, new in zip(found, again, strict=True)
        ]

    def _by_candidates(
        self, chains: Sequence[Chain], precision: Any
    ) -> list[Solutions] | None:
        most = int(np.sqrt(self.budget / np.dtype(precision).itemsize))
        return solve_by_candidates(
            self.gram, chains, self.tol, precision, most, self.monitor, self.mapped,
            self.memory,
        )  # fmt: skip


def _stalled(found: Solutions) -> list[int]:
    return [k for k, solution in enumerate(found) if not solution.converged]


def _part(chain: Chain, chosen: Sequence[int]) -> Chain:
    problems = [chain.problems[k] for k in chosen]
    return Chain(chain.members, chain.others, problems)


def _replaced(found: Solutions, places: Sequence[int], again: Solutions) -> Solutions:
    """Return the solutions, those at some places as they were found again."""
    kept = dict(enumerate(found)) | dict(zip(places, again, strict=False))
    return list(kept.values())

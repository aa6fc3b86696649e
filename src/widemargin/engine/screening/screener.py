"""Safe screening inside a solve, called whenever gradients are up to date."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from .rules import Screened, decide, distances_within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.engine.gram import Gram
    from widemargin.engine.problem import DualProblem

    Vector = NDArray[np.float64]
    Mask = NDArray[np.bool_]

WORTHWHILE = 2000  # active samples below which a check costs more than it saves
WORTH_REMOVING = 0.1  # share of the active samples below which nothing is rearranged
HALVED = 0.5  # share of the gap at the last check at which the next one is due


class Screener:
    """Screening between the blocks of a solve, over the samples that are active.

    Passed to :func:`widemargin.engine.solve.solve` as ``screen``. Removed samples act
    through the gradient, which includes them, and through the sum left to the others;
    nothing is copied and no kernel row is computed again. A sample that is decided but
    not yet at its bound stays active, so that the sum is never broken. With a kernel
    known to be indefinite nothing is decided.

    Parameters
    ----------
    smallest : int
        With fewer active samples nothing is checked.
    rank : bool
        Whether the interval rule is followed by the rank rule. It decides more, and
        sooner, but its rows cost a multiple of the solve they were meant to shorten (a
        table on the page of the ramp loss), so that by default it is left out here.

    Attributes
    ----------
    checks : list of dict
        One entry per check: ``n_iter``, ``seconds`` since this object was made, ``gap``
        and ``share`` of all samples decided so far.
    """

    def __init__(self, smallest: int = WORTHWHILE, rank: bool = False) -> None:
        self.smallest = smallest
        self.rank = rank
        self.checks: list[dict[str, float]] = []
        self._diagonal: tuple[Gram, Vector] | None = None
        self._last: tuple[DualProblem, int, float] | None = None
        self._started = time.perf_counter()

    def __call__(
        self,
        problem: DualProblem,
        n_iter: int,
        remaining: NDArray[np.int32],
        beta: Vector,
        gradient: Vector,
        error: float | Vector,
    ) -> Mask:
        """Return which of the samples `remaining` stay active."""
        keep: Mask = np.ones(len(remaining), dtype=bool)
        convex = problem.gram.kernel.semidefinite
        if not convex or len(remaining) < self.smallest:
            return keep
        wanted = self._wanted(problem, len(remaining))
        decided = self._decided(problem, remaining, beta, gradient, error, wanted)
        if decided.gap > wanted:
            return keep
        point = beta[remaining]
        settled = (decided.at_lower & (point == problem.lower[remaining])) | (
            decided.at_upper & (point == problem.upper[remaining])
        )
        count = int(np.count_nonzero(settled))
        self.checks.append(
            {
                "n_iter": n_iter,
                "seconds": time.perf_counter() - self._started,
                "gap": decided.gap,
                "share": (problem.n - len(remaining) + count) / problem.n,
            }
        )
        self._last = problem, len(remaining), decided.gap
        if count >= WORTH_REMOVING * len(remaining):
            keep = ~settled
        return keep

    def _decided(
        self,
        problem: DualProblem,
        remaining: NDArray[np.int32],
        beta: Vector,
        gradient: Vector,
        error: float | Vector,
        wanted: float,
    ) -> Screened:
        """Apply the rules to the active samples; the others are part of the sum."""
        point, total = beta[remaining], problem.total
        if total is not None:
            total = total - float(np.sum(beta) - np.sum(point))
        distances = None
        if self.rank:
            distances = distances_within(problem.gram, remaining)
        if self._diagonal is None or self._diagonal[0] is not problem.gram:
            self._diagonal = problem.gram, problem.gram.diagonal()
        return decide(
            -gradient[remaining],
            point,
            problem.lower[remaining],
            problem.upper[remaining],
            total,
            self._diagonal[1][remaining],
            error=error,
            distances=distances,
            largest_gap=wanted,
        )

    def _wanted(self, problem: DualProblem, active: int) -> float:
        """Return the largest gap at which a check is due."""
        if self._last is None or self._last[0] is not problem:
            return np.inf
        _, before, gap = self._last
        # With more samples than there were, the engine has started afresh.
        return np.inf if active > before else HALVED * gap

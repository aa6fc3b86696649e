"""Safe screening inside a solve, called whenever gradients are up to date."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from .rules import decide, distances_within

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
        convex = problem.gram.kernel.semidefinite
        if not convex or len(remaining) < self.smallest:
            return np.ones(len(remaining), dtype=bool)
        lower, upper = problem.lower[remaining], problem.upper[remaining]
        point, targets = beta[remaining], -gradient[remaining]
        total = problem.total
        if total is not None:
            total = total - float(np.sum(beta) - np.sum(point))
        wanted = self._wanted(problem, len(remaining))
        distances = None
        if self.rank:
            distances = distances_within(problem.gram, remaining)
        if self._diagonal is None or self._diagonal[0] is not problem.gram:
            self._diagonal = problem.gram, problem.gram.diagonal()
        diagonal = self._diagonal[1][remaining]
        decided = decide(
            targets,
            point,
            lower,
            upper,
            total,
            diagonal,
            error=error,
            distances=distances,
            largest_gap=wanted,
        )
        if decided.gap > wanted:
            return np.ones(len(remaining), dtype=bool)
        settled = (decided.at_lower & (point == lower)) | (
            decided.at_upper & (point == upper)
        )
        gone = problem.n - len(remaining) + int(np.count_nonzero(settled))
        self.checks.append(
            {
                "n_iter": n_iter,
                "seconds": time.perf_counter() - self._started,
                "gap": decided.gap,
                "share": gone / problem.n,
            }
        )
        if np.count_nonzero(settled) < WORTH_REMOVING * len(remaining):
            settled[:] = False
        keep: Mask = ~settled
        self._last = problem, len(remaining), decided.gap
        return keep

    def _wanted(self, problem: DualProblem, in_play: int) -> float:
        """Return the largest gap at which a check is due."""
        if self._last is None or self._last[0] is not problem:
            return np.inf
        _, before, gap = self._last
        # With more samples than there were, the engine has started afresh.
        return np.inf if in_play > before else HALVED * gap

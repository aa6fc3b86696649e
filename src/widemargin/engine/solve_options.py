"""Options of a solve: tolerance, limits, pair rule, observers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.runtime.deadline import NEVER, Deadline

from .problem import DualProblem, SecondSum

Vector = NDArray[np.float64]
Monitor = Callable[[int, float, int], bool]

POLISH_LIMIT = 5000  # free support vectors, at most: the factor takes 200 MB there
BLOCKS = "blocks"
PAIR_RULES = (
    "second_order",
    "first_order",
    "libsvm_second_order",
    "libsvm_first_order",
)


@dataclass(frozen=True)
class DrawnPairs:
    """Pair rule that draws its second member by the exponential mechanism (DPWSS).

    Parameters
    ----------
    epsilon : float
        Epsilon of one draw; infinity takes the best score instead of drawing.
    sigma : float in (0, 1]
        Smallest admitted score, as a share of the largest violation.
    once : bool
        Whether a pair may be drawn only once in the whole run.
    robust_maximum : bool
        Whether scores are relative to the largest violation among unused pairs.
    """

    epsilon: float = 1.0
    sigma: float = 0.7
    once: bool = True
    robust_maximum: bool = False


class Screen(Protocol):
    """A rule that takes samples out of a solve once their optimal value is certain."""

    checks: list[dict[str, float]]

    def __call__(
        self,
        problem: DualProblem,
        n_iter: int,
        remaining: NDArray[np.int32],
        beta: Vector,
        gradient: Vector,
        error: float | Vector,
    ) -> NDArray[np.bool_]:
        """Return which of the samples `remaining` stay active.

        The others must be certain to stay at the bound they are at. ``gradient`` is up
        to date for `remaining`, to within about `error`.
        """


@dataclass(frozen=True)
class SolveOptions:
    """Options of :func:`widemargin.engine.solve.solve`.

    Parameters
    ----------
    tol : float
        Largest KKT violation of a converged solution.
    exact : bool
        Whether to go on to about 1e-10 where the free support vectors are few enough
        (status "polished").
    polish_limit : int
        Most free support vectors that ``exact`` polishes; beyond it, to ``tol`` only.
    max_iter : int
        Limit of pair steps; -1 for none.
    deadline : Deadline
        When to end. Samples that no step has looked at by then enter the certificate
        by a bound.
    shrinking : bool
        Whether bounded variables that look settled leave the active set (shrinking).
    seed : int
        Seed of the order in which samples are first looked at.
    selection : {"blocks", "second_order", "first_order", "libsvm_second_order", \
"libsvm_first_order"} or DrawnPairs
        "blocks" is the engine; the others are the plain pair solver with that rule
        (those of LIBSVM: ties to the last index and float32 rows, as it has them). A
        :class:`DrawnPairs` draws its pairs; ``seed`` is then the seed of the draws.
    monitor : callable, optional
        ``monitor(n_iter, violation, active)``, a few times a second; False stops.
    screen : Screen, optional
        Called by "blocks" whenever gradients are up to date; see
        :class:`widemargin.engine.screening.screener.Screener`. Its ``checks`` of this
        solve are kept as ``Solution.screened``.
    every_value : bool
        Whether ``K beta`` is wanted for all samples, also those far from the margin
        that are otherwise passed over (see ``Solution.stale``). Only "blocks" asks.
    certify : bool
        Whether the values of the point are verified, so that its violation is proved to
        be at most ``tol``. False for a step on the way to another problem: the status
        is then what float32 rows say, and :func:`widemargin.engine.solve.proved`
        verifies it later.
    proved_later : bool
        Whether a solve without ``certify`` leaves as much room for the rounding of
        float32 rows as one with it, since its solution will be verified.
    second_sum : SecondSum, optional
        Keeps the sum of ``|beta|`` that the start has; the problem of the solution is
        then that at the multiplier found. Needs "blocks" and an intercept.
    """

    tol: float = 1e-3
    exact: bool = False
    polish_limit: int = POLISH_LIMIT
    max_iter: int = -1
    deadline: Deadline = NEVER
    shrinking: bool = True
    seed: int = 0
    selection: str | DrawnPairs = BLOCKS
    monitor: Monitor | None = None
    screen: Screen | None = None
    every_value: bool = False
    certify: bool = True
    proved_later: bool = False
    second_sum: SecondSum | None = None

    def __post_init__(self) -> None:
        """Refuse what no solve can do; a number of numpy becomes Python's."""
        object.__setattr__(self, "tol", float(self.tol))
        if not self.tol > 0.0:
            raise ValueError(f"tol={self.tol!r} must be a positive number.")
        known = isinstance(self.selection, DrawnPairs)
        if not known and self.selection not in (BLOCKS, *PAIR_RULES):
            raise ValueError(
                f"selection={self.selection!r} is unknown; use one of "
                f"{[BLOCKS, *PAIR_RULES]} or DrawnPairs."
            )

    @property
    def blocks(self) -> bool:
        """Whether the engine chooses; the pair rules are studied for their own path."""
        return self.selection == BLOCKS

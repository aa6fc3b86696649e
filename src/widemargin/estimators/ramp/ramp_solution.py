"""The answer of the concave-convex procedure, with the certificate of the ramp loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounds import UNIT, gap_between, total_above, total_below
from widemargin.engine.certificate import Certificate
from widemargin.engine.solution import Solution, summary
from widemargin.engine.solve import proved
from widemargin.engine.status import Status
from widemargin.runtime.lazy import lazy_property

from .concave_convex import (
    Outcome,
    RampProblem,
    stationarity,
    with_certain_margins,
)

# Stages of the history that are convex problems; the others are parts of solving one.
ROUNDS = ("convex", "loose", "fold")
EXACT = 1e-8  # misreading of a margin, beyond rounding, that a polished point may have

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RampSolution:
    """The last convex problem's solution as that of the whole procedure.

    Attributes
    ----------
    convex : Solution
        Solution of the last convex problem, verified.
    status : Status
        How the procedure ended.
    objective : float
        The ramp objective ``J``.
    flat_loss : float
        Loss of the clipped samples, which the convex problem leaves out.
    clipped : mask
        The samples on the flat part of the loss that did not pull.
    beyond_cut : array
        How far each margin is below ``s``; negative above it.
    lost_side : float
        Sign of the class of which most would have been clipped; 0 for none.
    stationarity : float
        Upper bound on how far the point is from a stationary one of ``J``.
    rounds : int
        Convex problems solved.
    n_iter, seconds : int, float
        Pair steps and time of all rounds.
    """

    convex: Solution
    status: Status
    objective: float
    flat_loss: float
    clipped: NDArray[np.bool_]
    beyond_cut: Vector
    lost_side: float
    stationarity: float
    rounds: int
    n_iter: int
    seconds: float

    @property
    def beta(self) -> Vector:
        """Signed dual variables."""
        return self.convex.beta

    @property
    def intercept(self) -> float:
        """Intercept of the model."""
        return self.convex.intercept

    @property
    def converged(self) -> bool:
        """Whether the procedure settled, to the tolerance."""
        return self.status.solved

    @lazy_property
    def certificate(self) -> Certificate:
        """Certificate of the last convex problem, with the loss of clipped samples.

        So its objective is an upper bound of ``J`` too; the violation is that of ``J``.
        """
        own, flat = self.convex.certificate, self.flat_loss
        spare = 4.0 * UNIT * flat
        objective = total_above([own.objective, flat, spare])
        bound = total_below([own.bound, flat, -spare])
        return replace(
            own,
            status=self.status.value,
            objective=objective,
            bound=bound,
            gap=gap_between(objective, bound),
            kkt_violation=self.stationarity,
            n_iter=self.n_iter,
            seconds=self.seconds,
        )


def convex_record(figures: dict[str, Any], solution: Solution) -> dict[str, Any]:
    """Return the stage record of a convex problem; of the clipped set its size."""
    clipped = int(np.count_nonzero(figures["clipped"]))
    return summary(solution, "convex") | figures | {"clipped": clipped}


def finished(
    ramp: RampProblem, end: Outcome, history: list[dict[str, Any]], tol: float
) -> RampSolution:
    """Verify where the procedure ended; `history` has its rounds.

    That is the point before most of a class was clipped, where it came to that. The
    convex problem knows no violation at its intercept, only a spread over pairs, which
    may be above ``tol`` where no sample is: that of J decides the status.
    """
    point = end.believable
    solution = with_certain_margins(ramp, proved(point.solution, tol))
    assert solution.checked is not None
    size = np.abs(solution.checked.values) + abs(solution.intercept)
    rounding = solution.checked.errors + 4.0 * UNIT * size
    convex = [entry for entry in history if entry["stage"] in ROUNDS]
    violation = stationarity(ramp, solution, rounding)
    status = solution.status
    if not status.stopped and end.lost_side != 0.0:
        status = Status.CLASS_CLIPPED
    elif not status.stopped and not end.settled:
        status = Status.MAX_ROUNDS
    elif status.solved and violation > tol:
        status = Status.STALLED
    elif status == Status.STALLED and violation <= tol:
        status = Status.CONVERGED
    elif status.solved and stationarity(ramp, solution, -rounding) > EXACT:
        status = Status.CONVERGED
    below = ramp.clips(solution)
    return RampSolution(
        convex=solution,
        status=status,
        objective=point.objective,
        flat_loss=ramp.flat_loss(point.clipped),
        # Most of a class may be below s where the procedure was taken back.
        clipped=below if end.lost_side == 0.0 else below & point.clipped,
        beyond_cut=ramp.s - ramp.margins(solution),
        lost_side=end.lost_side,
        stationarity=violation,
        rounds=len(convex),
        n_iter=sum(entry["n_iter"] for entry in convex),
        seconds=sum(entry["seconds"] for entry in convex),
    )

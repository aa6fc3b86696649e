"""How the rounds are spent: loosely first, to the tolerance last; and where they start.

Most rounds of the concave-convex procedure only move the clipped set a little. So it is
run to its end with loosely solved problems first, and from there with exact ones: the
result is a stationary point of the same objective, sooner.

``continuation`` chooses the start (mathematics 5.5). It solves a thousandth of the
costs, a hundredth and a tenth in turn and carries the clipped set along, on a sample
where there are many rows: models that smooth do not need them all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.engine.solution import Solution
from widemargin.engine.status import Status
from widemargin.numerics.products import inner

from .concave_convex import Outcome, RampProblem, descend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .concave_convex import Record, Solver

    Vector = NDArray[np.float64]
    Mask = NDArray[np.bool_]

STEP = 10.0  # factor between the costs of two stages of the continuation (5.5)
CONTINUATION = (STEP**-3, STEP**-2, STEP**-1)  # shares of C solved before C itself
SAMPLE = 3000  # rows that the stages of the continuation look at
FEW = 2000  # rows up to which every round is exact: there is little to save


@dataclass(frozen=True)
class Plan:
    """Solvers, limits and observer of the schedule.

    Attributes
    ----------
    solver, rough : callable
        Solve a convex problem to the tolerance, and loosely.
    max_rounds : int
        Most convex problems solved at one value of the costs.
    record : callable
        Called after each convex problem with its figures and its solution.
    seed : int
        Seed of the sample that the continuation uses.
    """

    solver: Solver
    rough: Solver
    max_rounds: int
    record: Record
    seed: int = 0

    def loose(self, figures: dict[str, Any], solution: Solution) -> None:
        """Record a loose round as such."""
        self.record({"stage": "loose", **figures}, solution)


def economical_descent(
    ramp: RampProblem, plan: Plan, clipped: Mask | None = None
) -> Outcome:
    """Run the procedure from the samples `clipped` (none: the SVM), loosely first."""
    start: Solution | None = None
    if ramp.gram.n > FEW and np.isfinite(ramp.s):
        end = descend(
            ramp, plan.rough, clipped=clipped,
            max_rounds=plan.max_rounds, record=plan.loose,
        )  # fmt: skip
        if end.solution.status.stopped:
            return end
        clipped, start = end.believable.clipped, end.believable.solution
    return descend(
        ramp, plan.solver, clipped=clipped, start=start,
        max_rounds=plan.max_rounds, record=plan.record,
    )  # fmt: skip


def continuation(ramp: RampProblem, plan: Plan) -> Mask | None:
    """Return the samples to clip at the start: those clipped while C is small.

    Where the costs are small, a mislabelled sample far inside the other class is far
    below ``s``; it is clipped before it can bend the boundary, and stays clipped while
    the costs grow. The point so reached can have the higher ``J`` and still be the
    better model (5.5). A stage that clips most of a class has found a constant model,
    not wrong labels, and is passed over. None when no stage was believable.
    """
    part = sample(ramp, plan.seed)
    clipped: Mask | None = None
    start: Solution | None = None
    believed: Solution | None = None
    for share in CONTINUATION:
        end = descend(
            priced(part, share),
            plan.rough,
            clipped=clipped,
            start=start,
            max_rounds=plan.max_rounds,
            record=plan.loose,
        )
        if end.solution.status.stopped:
            return None
        clipped, start, believed = None, None, None
        if end.lost_side == 0.0:
            clipped, start, believed = end.clipped, grow(end.solution), end.solution
    if believed is None or part is ramp:
        return clipped
    beta = np.zeros(ramp.gram.n)
    beta[sampled_rows(ramp, plan.seed)] = believed.beta
    margins = ramp.y * (ramp.gram.times(beta) + believed.intercept)
    below: Mask = margins < ramp.s
    return below if ramp.lost_side(below) == 0.0 else None


def priced(ramp: RampProblem, share: float) -> RampProblem:
    """Return the problem with a share of its costs."""
    return replace(ramp, costs=share * ramp.costs)


def sampled_rows(ramp: RampProblem, seed: int) -> NDArray[np.intp]:
    """Return `SAMPLE` rows drawn at random, in their order."""
    rows = np.random.default_rng(seed).permutation(ramp.gram.n)[:SAMPLE]
    return np.sort(rows)


def sample(ramp: RampProblem, seed: int) -> RampProblem:
    """Return the problem over `SAMPLE` rows that carry the whole loss; all if few."""
    if ramp.gram.n <= SAMPLE:
        return ramp
    part = ramp.subset(sampled_rows(ramp, seed))
    return priced(part, ramp.gram.n / SAMPLE)


def grow(solution: Solution, most: float = STEP) -> Solution:
    """Return the best multiple of `solution` to start at when costs grow `most` times.

    All boxes have zero at one end, so every multiple up to `most` is feasible; the dual
    is a parabola along that ray.
    """
    curvature = inner(solution.beta, solution.values)
    slope = inner(solution.problem.linear, solution.beta)
    factor = float(np.clip(slope / curvature, 1.0, most)) if curvature > 0.0 else 1.0
    return Solution(
        solution.problem,
        factor * solution.beta,
        factor * solution.values,
        Status.START,
        exact=solution.exact,
    )

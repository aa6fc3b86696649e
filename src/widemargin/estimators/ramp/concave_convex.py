"""The concave-convex procedure for the ramp loss, on the engine's one dual.

Minimise ``J = 1/2 ||w||^2 + sum_i C_i min(1 - s, max(0, 1 - y_i F(x_i)))`` with
``s <= 0``. The ramp is a hinge minus a second hinge that starts at ``s``; replacing
the second by its tangent gives a convex problem which is the plain SVM's dual with
some boxes moved: a sample that is *clipped* (``y_i F(x_i) < s`` at the last point) gets
``[-C_i, 0]`` instead of ``[0, C_i]`` (times ``y_i``), so that it no longer pulls.
``J`` never increases, there are finitely many clipped sets, and the procedure stops
when one repeats: at a stationary point, which need not be the global minimum. A
constant model is such a point, with every sample of a rare class clipped; so the last
point before most of a class was clipped is kept.
Mathematics 5.1, 5.4, 5.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.engine.bounds import UNIT
from widemargin.engine.feasible import project
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.status import Status
from widemargin.numerics.products import inner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.engine.gram import Gram

    Vector = NDArray[np.float64]
    Mask = NDArray[np.bool_]
    Solver = Callable[[DualProblem, Solution | None], Solution]
    Record = Callable[[dict[str, Any], Solution], None]

SPARE = 2.0  # the sum is put right on samples with this much more room than needed
UNBALANCED = 1e-9  # share of sum(abs(beta)) that rounding may leave in sum(beta)
SURE = 1e-9  # rounding that leaves no doubt worth another sum
AT_BOUND = 1e-12  # of the box: what the rounding of a sum leaves to a bound
MOST_CLIPPED = 0.5  # share of a class, by cost, that may be mislabelled


@dataclass(frozen=True, eq=False)
class RampProblem:
    """The data of one two-class ramp-loss problem.

    Attributes
    ----------
    gram : Gram
        Shared by every convex problem, so that no kernel row is computed twice.
    y : array of +1 and -1
    costs : array
        ``C_i``, the price of one unit of loss of sample ``i``.
    s : float
        Margin below which the loss is flat; ``-inf`` never clips.
    fit_intercept : bool
    tolerance : float
        How far off the margins of a solve may be: that of its KKT conditions.
    """

    gram: Gram
    y: Vector
    costs: Vector
    s: float
    fit_intercept: bool = True
    tolerance: float = 0.0

    def subset(self, rows: NDArray[np.intp]) -> RampProblem:
        """Return the problem over some of the samples."""
        part = self.gram.subset(rows)
        return replace(self, gram=part, y=self.y[rows], costs=self.costs[rows])

    def convex(self, clipped: Mask) -> DualProblem:
        """Return the convex problem in which the samples `clipped` do not pull."""
        pull = self.costs * self.y
        shift = np.where(clipped, pull, 0.0)
        return DualProblem(
            self.gram,
            self.y,
            np.minimum(0.0, pull) - shift,
            np.maximum(0.0, pull) - shift,
            0.0 if self.fit_intercept else None,
        )

    def flat_loss(self, clipped: Mask) -> float:
        """Return what the convex problem leaves out: the loss of the samples `clipped`.

        J is at most its objective plus this constant (5.1).
        """
        return fsum(self.costs[clipped]) * (1.0 - self.s) if clipped.any() else 0.0

    def margins(self, solution: Solution) -> Vector:
        """Return ``y_i F(x_i)`` at `solution`."""
        margins: Vector = self.y * (solution.values + solution.intercept)
        return margins

    def clips(self, solution: Solution) -> Mask:
        """Return the samples on the flat part of the loss: certainly below `s`.

        An SVM that has found no more than the frequent class puts all of a rare one at
        a margin of -1, give or take the tolerance of its solve: with ``s = -1`` chance
        would clip about half of it. A polished solution knows its margins.
        """
        doubt = 0.0 if solution.status is Status.POLISHED else self.tolerance
        mask: Mask = self.margins(solution) < self.s - doubt
        return mask

    def lost_side(self, clipped: Mask) -> float:
        """Return the sign of a class of which more than half is clipped, 0 for none.

        By cost. Such a model has found one class only, not wrong labels.
        """
        for sign in (1.0, -1.0):
            side = np.where(self.y == sign, self.costs, 0.0)
            if float(side[clipped].sum()) > MOST_CLIPPED * float(side.sum()):
                return sign
        return 0.0

    def objective(self, solution: Solution) -> float:
        """Return the primal ramp objective ``J`` at `solution`."""
        loss = np.maximum(0.0, 1.0 - self.margins(solution))
        capped = np.minimum(1.0 - self.s, loss)
        return 0.5 * inner(solution.beta, solution.values) + inner(self.costs, capped)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where the procedure ended.

    Attributes
    ----------
    solution : Solution
        Solution of the last convex problem.
    clipped : mask
        The samples that did not pull in that problem.
    objective : float
        ``J`` there.
    settled : bool
        False when the rounds ran out before the clipped set repeated.
    lost_side : float
        Sign of a class that is clipped for the most part; 0 for none.
    before : Outcome or None
        The last point before that, if there was one on the way.
    """

    solution: Solution
    clipped: Mask
    objective: float
    settled: bool
    lost_side: float = 0.0
    before: Outcome | None = None

    @property
    def believable(self) -> Outcome:
        """The point itself, or the one before most of a class was clipped."""
        return self if self.before is None else self.before


def stationarity(
    ramp: RampProblem, solution: Solution, rounding: float | Vector = 0.0
) -> float:
    """Return by how much margins must be misread for `solution` to be stationary.

    The loss is a hinge less a second one: ``y beta = eta - mu`` with slopes in
    ``[0, C_i]``. The first may be below ``C_i`` only at margin 1 or above, and above 0
    only at 1 or below; the second likewise at ``s``. So ``y beta < C_i`` needs a margin
    of at least 1 or at most ``s``; ``> 0`` one between the two; ``< 0`` both a margin
    of at least 1 and one of at most ``s``, which no margin is: such a point is not
    stationary, and counts with at least ``(1 - s) / 2``. Beyond ``[-C_i, C_i]``, or if
    the sum of ``beta``, the derivative in the intercept, is not zero, nothing helps:
    infinite. Zero at a stationary point of ``J``; the unit is that of ``tol``.

    Parameters
    ----------
    ramp : RampProblem
    solution : Solution
    rounding : float or array
        How far the margins may be off; the worst case counts, of negative ones the
        best.
    """
    margins, beta = ramp.margins(solution), solution.beta
    alpha = ramp.y * beta
    below_one = np.maximum(1.0 - margins + rounding, 0.0)
    above_one = np.maximum(margins - 1.0 + rounding, 0.0)
    below_s = np.maximum(ramp.s - margins + rounding, 0.0)
    above_s = np.maximum(margins - ramp.s + rounding, 0.0)
    wrong = np.where(alpha < ramp.costs, np.minimum(below_one, above_s), 0.0)
    pulls, pushes = alpha > 0.0, alpha < 0.0
    wrong[pulls] = np.maximum(wrong, np.maximum(above_one, below_s))[pulls]
    wrong[pushes] = np.maximum(below_one, above_s)[pushes]
    wrong[np.abs(alpha) > ramp.costs] = np.inf
    if ramp.fit_intercept and abs(fsum(beta)) > UNBALANCED * np.abs(beta).sum():
        return np.inf
    # each distance is a difference that was rounded, and a sum
    return float(wrong.max(initial=0.0)) * (1.0 + 4.0 * UNIT)


def with_certain_margins(ramp: RampProblem, solution: Solution) -> Solution:
    """Return a verified solution whose margins are known on either side of 1 and s.

    To verify the convex problem it is enough that a sample lies beyond the margin;
    which piece of the ramp it lies on is decided here, in float64 where in doubt.
    """
    checked = solution.checked
    assert checked is not None
    margins = ramp.y * (checked.values + solution.intercept)
    near_one, near_s = np.abs(margins - 1.0), np.abs(margins - ramp.s)
    doubtful = ~checked.summed | (checked.errors > SURE)
    doubtful &= np.minimum(near_one, near_s) <= checked.errors
    rows = np.flatnonzero(doubtful)
    values, errors = checked.values.copy(), checked.errors.copy()
    if rows.size:
        values[rows], errors[rows] = ramp.gram.bounded_times(solution.beta, rows)
    certain = replace(checked, values=values, errors=errors)
    return replace(solution, known_values=values, checked=certain, evidence=None)


def bounded(solution: Solution) -> Solution:
    """Return a solution with its members on the bounds that only rounding keeps off.

    Where all others are bounded, one that the sum's rounding left off its bound would
    fix the intercept, of which a whole interval is optimal (mathematics 0.2): the
    convex problem has no violation then at that one, but J at any other.
    """
    problem, beta = solution.problem, solution.beta
    near = AT_BOUND * (problem.upper - problem.lower)
    moved = np.where(beta - problem.lower <= near, problem.lower, beta)
    moved = np.where(problem.upper - beta <= near, problem.upper, moved)
    change = moved - beta
    if problem.free(moved).any() or not change.any():
        return solution
    values = solution.values + problem.gram.times(change)
    return replace(
        solution, beta=moved, known_values=values, evidence=None, checked=None
    )


def carry(ramp: RampProblem, solution: Solution, after: Mask) -> Solution:
    """Return a feasible point of the next convex problem near `solution` (5.4).

    The multiplier of the hinge stays, so a sample that becomes clipped moves by
    ``-C_i y_i`` and one released by ``+C_i y_i``: as far as its box. The sum this
    breaks is put right on the margin samples, whose gradient is zero, so that neither
    the gap nor the number of kernel columns grows more than it must. Only the columns
    of samples that moved are asked for.
    """
    problem = ramp.convex(after)
    lower, upper = problem.lower, problem.upper
    shift = lower - solution.problem.lower  # exactly zero where the box stays
    beta = np.clip(solution.beta + shift, lower, upper)
    if problem.total is not None:
        chosen = _adjustable(problem, beta, solution)
        rest = problem.total - float(np.delete(beta, chosen).sum())
        beta[chosen] = project(beta[chosen], lower[chosen], upper[chosen], rest)
    times = ramp.gram.times if solution.exact else ramp.gram.roughly_times
    values = solution.values + times(beta - solution.beta)
    return Solution(problem, beta, values, Status.START, exact=solution.exact)


def _adjustable(
    problem: DualProblem, beta: Vector, solution: Solution
) -> NDArray[np.intp]:
    """Return the samples to put the sum right on: as few as have the room for it."""
    missing = (problem.total or 0.0) - float(beta.sum())
    room = problem.upper - beta if missing > 0.0 else beta - problem.lower
    margin = problem.free(beta)
    wanted = SPARE * abs(missing)
    # Margin samples first, those with most room; then by distance from the margin.
    inner = np.flatnonzero(margin)
    order = inner[np.argsort(-room[inner], kind="stable")]
    if float(room[inner].sum()) <= wanted:
        outer = np.flatnonzero(~margin)
        distance = np.abs(solution.values + solution.intercept - problem.linear)[outer]
        order = np.append(order, outer[np.argsort(distance, kind="stable")])
    enough = int(np.searchsorted(np.cumsum(room[order]), wanted)) + 1
    return order[:enough]


def descend(
    ramp: RampProblem,
    solver: Solver,
    *,
    clipped: Mask | None = None,
    start: Solution | None = None,
    max_rounds: int = 50,
    record: Record | None = None,
) -> Outcome:
    """Run the concave-convex procedure from the samples `clipped` (none: the SVM).

    Parameters
    ----------
    ramp : RampProblem
    solver : callable
        Solves a convex problem from a feasible start, or from None.
    clipped : mask, optional
        Samples that do not pull in the first convex problem.
    start : Solution, optional
        Feasible point of the first convex problem.
    max_rounds : int
        Most convex problems solved.
    record : callable, optional
        Called after each convex problem with its figures and its solution.
    """
    if clipped is None:
        clipped = np.zeros(ramp.gram.n, bool)
    best: Outcome | None = None
    believed: Outcome | None = None
    for round_ in range(max_rounds):
        solution = bounded(solver(ramp.convex(clipped), start))
        objective = ramp.objective(solution)
        after = ramp.clips(solution)
        if record is not None:
            record(
                {"round": round_, "objective": objective, "clipped": after}, solution
            )
        if solution.status.stopped:
            return Outcome(solution, clipped, objective, False)
        repeats = np.array_equal(after, clipped)
        if best is not None and objective >= best.objective and not repeats:
            # No descent left within the tolerance of the solves: the sets would only
            # go on swapping samples at the kink (5.5).
            best = replace(best, settled=True)
            break
        best = Outcome(solution, clipped, objective, repeats)
        if ramp.lost_side(clipped) == 0.0:
            believed = best
        if repeats:
            break
        start = carry(ramp, solution, after)
        clipped = after
    if best is None:
        raise ValueError(f"max_rounds={max_rounds} must be at least 1.")
    lost = ramp.lost_side(best.clipped) or ramp.lost_side(ramp.clips(best.solution))
    return best if lost == 0.0 else replace(best, lost_side=lost, before=believed)


def resume(ramp: RampProblem, beta: Vector) -> tuple[Mask, Solution]:
    """Return the clipped set and the start that a former model's `beta` stands for.

    None is clipped where that would be most of a class.
    """
    problem = ramp.convex(np.zeros(ramp.gram.n, bool))
    point = project(beta, problem.lower, problem.upper, problem.total)
    former = Solution(problem, point, ramp.gram.times(point), Status.START, exact=True)
    clipped = ramp.clips(former)
    if ramp.lost_side(clipped) != 0.0:
        clipped = np.zeros(ramp.gram.n, bool)
    return clipped, carry(ramp, former, clipped)

"""A feasible starting point: the origin, a vertex, or the projection of a given one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .problem import DualProblem
from .solution import Solution

Vector = NDArray[np.float64]

PROBES = 32  # columns of the kernel matrix that estimate a gradient


def project(
    beta: ArrayLike,
    lower: Vector,
    upper: Vector,
    total: float | None,
    kinked: bool = False,
) -> Vector:
    """Return the nearest point of the box, and of the plane sum = total if given.

    The projection is ``clip(beta - shift)``; the shift is found from the breakpoints,
    exactly, and the rounding left in the sum goes to the member with most room
    (mathematics 0.3). ``kinked`` members stop at zero, too: one that left it by 1e-16
    would make an optimal point look far from optimal, as it would at a bound.
    """
    point = np.asarray(beta, dtype=np.float64)
    clipped = np.clip(point, lower, upper)
    if total is None or point.size == 0:
        return clipped
    # A feasible point stays as it is: a member that left its bound by 1e-16 would count
    # as free to move, and an optimal start would look far from optimal.
    excess = float(clipped.sum()) - total
    if abs(excess) > 1e-14 * float(np.abs(clipped).sum()):
        # sum(clip(beta - shift)) falls from sum(upper) to sum(lower): bisect its kinks.
        kinks = np.sort(np.concatenate([point - lower, point - upper]))
        below, above = 0, kinks.size - 1
        while above - below > 1:
            middle = (below + above) // 2
            if np.clip(point - kinks[middle], lower, upper).sum() >= total:
                below = middle
            else:
                above = middle
        high = np.clip(point - kinks[below], lower, upper)
        low = np.clip(point - kinks[above], lower, upper)
        fall = float(high.sum() - low.sum())
        share = 0.0 if fall <= 0.0 else (float(high.sum()) - total) / fall
        clipped = high + min(max(share, 0.0), 1.0) * (low - high)
        clipped = np.clip(clipped, lower, upper)
    for _ in range(3):  # the rounding residue goes to the member with most room
        residue = total - float(clipped.sum())
        if residue == 0.0:
            break
        room = np.minimum(upper - clipped, clipped - lower)
        if kinked:
            room = np.minimum(room, np.abs(clipped))
        if room.max() <= abs(residue):  # no member is free: one must leave its bound
            room = upper - clipped if residue > 0 else clipped - lower
        widest = int(np.argmax(room))
        moved = clipped[widest] + residue
        clipped[widest] = min(max(moved, lower[widest]), upper[widest])
    return clipped


def feasible(beta: ArrayLike, problem: DualProblem) -> Vector:
    """Return the nearest feasible point; members at their kink stay there."""
    box = problem.lower, problem.upper, problem.total
    return project(beta, *box, kinked=problem.kink is not None)


def starting_point(
    problem: DualProblem, start: ArrayLike | Solution | None
) -> tuple[Vector, Vector, bool]:
    """Return a feasible point, ``K`` times it, and whether these values are float64."""
    known, exact = None, True
    if isinstance(start, Solution):
        if start.problem.n == problem.n:
            known, exact = (start.beta, start.values), start.exact
        start = start.beta
    if start is None and _origin_is_feasible(problem):
        return np.zeros(problem.n), np.zeros(problem.n), True
    if start is None and problem.total is not None:
        beta = vertex(problem)
        return beta, problem.gram.roughly_times(beta), False
    point = np.zeros(problem.n) if start is None else np.array(start, dtype=np.float64)
    if point.shape != (problem.n,):
        raise ValueError(
            f"start has shape {point.shape}; the problem has {problem.n} variables."
        )
    beta = project(point, problem.lower, problem.upper, problem.total)
    if known is not None:
        return beta, known[1] + problem.gram.times(beta - known[0]), exact
    return beta, problem.gram.times(beta), exact


def vertex(problem: DualProblem) -> Vector:
    """Return a vertex of the feasible set where the origin is infeasible.

    The projection of the origin would have every variable free, and each would take
    pair steps to its bound. From the gradient at a point within, estimated on some
    columns of the kernel matrix, one step of Frank and Wolfe leads to bounds that
    mostly stay.
    """
    n = problem.n
    columns = np.random.default_rng(0).permutation(n)[:PROBES]
    sample = np.zeros(n)
    sample[columns] = _within(problem)[columns] * (n / columns.size)
    values = problem.gram.roughly_times(sample)
    return lowest_vertex(problem, values - problem.linear)


def _within(problem: DualProblem) -> Vector:
    """Return the feasible point that is as far between its bounds for each member."""
    lower, upper, total = problem.lower, problem.upper, problem.total
    assert total is not None
    room = float((upper - lower).sum())
    if not 0.0 < room < np.inf:
        return project(np.zeros(problem.n), lower, upper, total)
    return lower + (total - float(lower.sum())) / room * (upper - lower)


def lowest_vertex(problem: DualProblem, gradient: Vector) -> Vector:
    """Return a vertex at which ``gradient' beta`` is least.

    Members of the least gradients are at their upper bounds, as many as the total
    allows (of equal ones the first), the others at their lower bounds; one member may
    be between.
    """
    lower, upper, total = problem.lower, problem.upper, problem.total
    assert total is not None
    room = upper - lower
    left = total - float(lower.sum())
    widest = float(room.max())
    if widest == room.min():
        full = int(left // widest) if widest > 0.0 else problem.n
    else:
        order = np.argsort(gradient)
        full = int(np.searchsorted(np.cumsum(room[order]), left, side="right"))
    if full >= problem.n:
        return project(upper, lower, upper, total)
    threshold = np.partition(gradient, full)[full]
    below = gradient < threshold
    beta = np.where(below, upper, lower)
    left -= float(room[below].sum())
    equal = np.flatnonzero(gradient == threshold)
    filled = np.cumsum(room[equal])
    full = int(np.searchsorted(filled, left, side="right"))
    beta[equal[:full]] = upper[equal[:full]]
    if full < equal.size:
        last = equal[full]
        partly = left - (float(filled[full - 1]) if full > 0 else 0.0)
        beta[last] = np.clip(lower[last] + partly, lower[last], upper[last])
    return project(beta, lower, upper, total)


def _origin_is_feasible(problem: DualProblem) -> bool:
    within = bool(np.all((problem.lower <= 0.0) & (problem.upper >= 0.0)))
    return within and problem.total in (None, 0.0)

"""From a point on both sums to the exact solution: solve for the margin set, check.

As :mod:`widemargin.engine.polish`, with a border for each sum: sizes of free members
of either sign move until their gradients agree, sum by sum (mathematics 9.3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import violation
from widemargin.engine.polish import EXACT
from widemargin.engine.split_variables import fall_slopes, growth_slopes
from widemargin.numerics.cholesky import newton_step
from widemargin.numerics.products import times, transposed_times
from widemargin.runtime.cancellation import check_cancelled

from .nu_problem import NuProblem

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_ROUNDS = 30


def polish(
    origin: NuProblem, a: Vector, limit: int
) -> tuple[Vector, Vector, float] | None:
    """Return the exact solution near a point, its values K a and its multiplier.

    None where the free members are more than `limit`, and where the violation of the
    engine's problem at the multiplier does not fall to about 1e-10 of the linear term.
    """
    entrants: Indices = np.empty(0, dtype=np.intp)
    signs = np.where(origin.upper > 0.0, 1.0, -1.0)
    if not origin.has_margin:
        signs = np.sign(a)
    values = None
    for _ in range(MAX_ROUNDS):
        free = origin.free(a)
        margin = np.union1d(np.flatnonzero(free), entrants)
        if margin.size > limit or not check_cancelled():
            return None
        rows = origin.gram.rows(margin)
        if values is None:
            values = origin.gram.times(a)
        block = rows.take(margin, axis=1)
        moved = _margin_step(origin, a, values, margin, signs[margin], block)
        change = transposed_times(rows, (moved - a)[margin], origin.gram.threads)
        a, values = moved, values + change
        multiplier, intercept = origin.levels(values)
        if origin.has_margin and not multiplier > 0.0:
            return None
        problem, unit = origin.at(multiplier), origin.unit(multiplier)
        exact = EXACT * (float(np.abs(problem.linear).max()) or 1.0)
        beta = np.clip(a / unit, problem.lower, problem.upper)
        if violation(problem, beta, values / unit) <= exact:
            return a, values, multiplier
        gradient = (values + intercept) / unit - problem.linear
        growth = -growth_slopes(beta, gradient, problem.kink) * (beta < problem.upper)
        fall = fall_slopes(beta, gradient, problem.kink) * (beta > problem.lower)
        pull = np.where(free, 0.0, np.maximum(growth, fall))
        entrants = _entrants(pull, free, exact)
        if not origin.has_margin:  # a member at zero goes to the side that pulls it
            resting = a == 0.0
            signs[resting] = np.where(growth >= fall, 1.0, -1.0)[resting]
        if entrants.size == 0:
            return None
    return None


def _margin_step(
    origin: NuProblem,
    a: Vector,
    values: Vector,
    margin: Indices,
    signs: Vector,
    block: Vector,
) -> Vector:
    """Return the solution of the margin system; members that reach a bound are pinned.

    Signs turn members into sizes, on which both constraints are sums of a group.
    """
    a = a.copy()
    block = block * signs * signs[:, None]
    gradient = signs * (values - origin.linear)[margin]
    groups = np.zeros(margin.size, dtype=np.int32)
    if origin.fit_intercept:
        groups[signs < 0.0] = 1
    most = np.where(signs > 0.0, origin.upper[margin], -origin.lower[margin])
    sizes = np.abs(a[margin])
    free = np.arange(margin.size)
    while free.size and check_cancelled():
        step = newton_step(
            block, free, gradient[free], bordered=True, groups=groups[free],
            threads=origin.gram.threads,
        )  # fmt: skip
        goals = np.where(step > 0.0, most[free], 0.0)
        room = np.full(free.size, np.inf)
        with np.errstate(over="ignore"):  # a negligible step is not limited
            np.divide(goals - sizes[free], step, out=room, where=step != 0.0)
        share = float(min(1.0, room.min(initial=1.0)))
        sizes[free] = np.clip(sizes[free] + share * step, 0.0, most[free])
        if share >= 1.0:
            break
        moved = np.zeros(margin.size)
        moved[free] = share * step
        gradient += times(block, moved, origin.gram.threads)
        stopped = room <= share * (1.0 + 1e-12)
        sizes[free[stopped]] = goals[stopped]
        free = free[~stopped]
    a[margin] = signs * sizes
    return a


def _entrants(pull: Vector, free: NDArray[np.bool_], exact: float) -> Indices:
    """Return members at a bound, or at zero, that violate optimality: the worst."""
    wanting = np.flatnonzero(pull > exact)
    limit = max(8, int(np.count_nonzero(free)) // 4)
    return wanting[np.argsort(-pull[wanting], kind="stable")[:limit]]

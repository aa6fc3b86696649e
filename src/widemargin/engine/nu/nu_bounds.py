"""Objective and lower bound of a problem with a second sum, rounding included.

The model is the pair (w, b) of the stored coefficients and the multiplier m: with the
unit margin of nu-SVC it stands for (m w, m b, m). Its objective is that of the engine's
problem at m, in this problem's unit, less ``m budget``; of nu-SVR, plus ``m budget``.

For the bound there must be a point on both sums. Some real point ``a + t`` near the
stored one is (mathematics 9.3): sizes shrink in proportion, or grow into the room of
their boxes, until both signs sum to the same, on the right side of the budget. With
``shift >= sum |t_i| sqrt(K_ii)`` its value is at least

    linear' a - |linear|' |t| - 1/2 (||w|| + shift)^2.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounds import (
    SUM,
    UNIT,
    half_square_above,
    objective_bound,
    sum_above,
    total_above,
)
from widemargin.engine.certificate import Certificate
from widemargin.engine.solution import Solution, certificate_of, is_convex

from .nu_problem import NuProblem

Vector = NDArray[np.float64]

OUTWARD = 16.0 * UNIT  # relative: more than the roundings of any formula here


def certify(origin: NuProblem, multiplier: float, solution: Solution) -> Certificate:
    """Return the certificate of a stored model for the problem with both sums."""
    solution = solution.verified()
    problem, beta, checked = solution.problem, solution.beta, solution.checked
    assert checked is not None
    known = checked.values, checked.errors
    fixed = objective_bound(problem, beta, solution.intercept, *known)
    unit = origin.unit(multiplier)
    price = origin.budget * multiplier
    here = fixed * unit * unit * (1.0 + OUTWARD)
    signed = -price if origin.has_margin else price
    objective = total_above([here, signed, OUTWARD * price])
    bound = None
    if is_convex(problem, beta, checked.values):
        square = 2.0 * half_square_above(beta, *known)
        bound = dual_bound(origin, multiplier, beta, math.sqrt(max(square, 0.0)))
    return certificate_of(solution, objective, bound)


def dual_bound(
    origin: NuProblem, multiplier: float, beta: Vector, norm: float
) -> float | None:
    """Return a lower bound on the optimum; `norm` is an upper bound on ``||w||``.

    None where no point on both sums is near.
    """
    unit = origin.unit(multiplier)
    a = origin.coefficients(beta, multiplier)
    moved = _moved(origin, a)
    if moved is None:
        return None
    lengths = np.sqrt(np.maximum(origin.gram.diagonal(), 0.0))
    moved = moved + np.abs(a - unit * beta) + 2.0 * UNIT * np.abs(a)
    shift = sum_above(moved * lengths) * (1.0 + 1e-9)
    reach = (norm * unit + shift) * (1.0 + OUTWARD)
    losses = np.concatenate([-origin.linear * a, np.abs(origin.linear) * moved])
    bound = -sum_above(losses) - 0.5 * reach * reach * (1.0 + OUTWARD)
    return bound - OUTWARD * abs(bound)


def _moved(origin: NuProblem, a: Vector) -> Vector | None:
    """Bounds on how far each member moves to a point on both sums; None without one."""
    rising, falling = a > 0.0, a < 0.0
    if origin.has_margin:
        rising, falling = origin.upper > 0.0, origin.lower < 0.0
    groups = origin.groups(rising, falling)
    goals = [group.share for group in groups]
    if not origin.has_margin:  # any equal sums within the budget: a little below either
        sums = [math.fsum(np.abs(a[group.members]).tolist()) for group in groups]
        goals = [min(*sums, *goals) * (1.0 - 4.0 * UNIT)] * len(groups)
    moved = np.zeros(a.size)
    for group, goal in zip(groups, goals, strict=True):
        own = _to_sum(np.abs(a[group.members]), group.most, goal)
        if own is None:
            return None
        moved[group.members] += own
    return moved


def _to_sum(sizes: Vector, most: Vector, goal: float) -> Vector | None:
    """Bounds on how far each member of a group moves until sizes sum to the goal."""
    excess = math.fsum([*sizes.tolist(), -goal])
    if excess == 0.0:
        return np.zeros(sizes.size)
    room = sizes  # all of it may shrink
    if excess < 0.0:
        room = (most - sizes) * (1.0 - 2.0 * UNIT)
    share = abs(excess) / max(float(room.sum()), np.finfo(float).tiny)
    if excess < 0.0 and not share <= 1.0 - SUM:
        return None
    return room * min(1.0, share * (1.0 + SUM))

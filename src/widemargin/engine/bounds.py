"""Objective, lower bound and KKT violation of a stored model, rounding included.

With ``|values_i - (K beta)_i| <= errors_i`` (mathematics 8),

    primal <= 1/2 sum beta_i values_i + 1/2 sum |beta_i| errors_i + total b
              + sum_i loss_i at the worse end of values_i -+ errors_i
    dual   >= linear'beta - 1/2 sum beta_i values_i - 1/2 sum |beta_i| errors_i - repair

where the repair pays for making ``sum(beta) = total`` hold exactly. A kink takes
``kink'|beta|`` from the dual, and its loss is that of its two sides. Every sum here is
rounded outward.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from .problem import DualProblem
from .split_variables import fall_slopes, growth_slopes, twice, two_sides

Vector = NDArray[np.float64]

UNIT = 2.0**-53  # unit roundoff of float64
BLOCK = 1 << 14  # members at a time: temporary arrays of 128 KB stay in the cache
SUM = 64.0 * UNIT  # relative error of numpy's pairwise sums of products


def gap_between(objective: float, bound: float | None) -> float | None:
    """Return objective less bound, rounded up; None without a bound."""
    if bound is None:
        return None
    return float(np.nextafter(max(0.0, objective - bound), np.inf))


def total_above(values: Iterable[float]) -> float:
    """Return an upper bound on the sum of some numbers."""
    return float(np.nextafter(math.fsum(values), np.inf))


def total_below(values: Iterable[float | None]) -> float | None:
    """Return a lower bound on the sum of some numbers, None if one is missing."""
    known = list(values)
    if None in known:
        return None
    total = math.fsum(value for value in known if value is not None)
    return float(np.nextafter(total, -np.inf)) if total != 0.0 else 0.0


def objective_bound(
    problem: DualProblem,
    beta: Vector,
    intercept: float,
    values: Vector,
    errors: Vector,
) -> float:
    """Return an upper bound on the primal objective at w(beta) and the intercept."""
    losses = [
        _loss_above(problem, part, intercept, values[part], errors[part])
        for part in _blocks(problem.n)
    ]
    offset = 0.0 if problem.total is None else problem.total * intercept
    half_square = half_square_above(beta, values, errors)
    return total_above([*losses, half_square, offset + UNIT * abs(offset)])


def _loss_above(
    problem: DualProblem, part: slice, intercept: float, values: Vector, errors: Vector
) -> float:
    """Sum the losses of some members, each at the worse end of its value."""
    kink = None if problem.kink is None else problem.kink[part]
    linear, lower, upper = two_sides(
        problem.linear[part], problem.lower[part], problem.upper[part], kink
    )
    values, errors = twice(values, kink), twice(errors, kink)
    return sum_above(loss_terms(linear, lower, upper, intercept, values, errors))


def loss_terms(
    linear: Vector,
    lower: Vector,
    upper: Vector,
    intercept: float | Vector,
    values: Vector,
    errors: Vector,
) -> Vector:
    """Return the loss of each member at the worse end of its value."""
    residual = linear - values - intercept
    size = np.abs(linear) + np.abs(values) + np.abs(intercept)
    slack = np.where((lower != 0.0) | (upper != 0.0), errors + 4.0 * UNIT * size, 0.0)
    # The loss is convex and piecewise linear: largest at one of the two ends.
    rises, falls = residual + slack, residual - slack
    ends = (lower * rises, upper * rises, lower * falls, upper * falls)
    return np.asarray(np.maximum.reduce(ends))


def _blocks(n: int) -> Iterator[slice]:
    """Cut all members into blocks: on large data every temporary array matters."""
    for first in range(0, n, BLOCK):
        yield slice(first, first + BLOCK)


def dual_bound(
    problem: DualProblem, beta: Vector, values: Vector, errors: Vector
) -> float | None:
    """Return a lower bound on the optimum, None where ``beta`` cannot be repaired."""
    repair = repair_cost(problem, beta, values, errors)
    bound = -np.inf
    if repair is not None:
        support = np.flatnonzero(beta != 0.0)
        gain = problem.linear[support] * beta[support]
        terms = np.concatenate([_half_square(beta, values, errors), -gain])
        if problem.kink is not None:
            price = problem.kink[support] * np.abs(beta[support])
            terms = np.concatenate([terms, price])
        bound = -sum_above(terms) - repair * (1.0 + 4.0 * UNIT)
        bound -= 2.0 * UNIT * abs(bound)
    no_loss_is_negative = problem.total in (None, 0.0) and bool(
        np.all((problem.lower <= 0.0) & (problem.upper >= 0.0))
    )
    if no_loss_is_negative and not bound > 0.0:
        return 0.0
    return float(bound) if np.isfinite(bound) else None


def repair_cost(
    problem: DualProblem, beta: Vector, values: Vector, errors: Vector
) -> float | None:
    """Bound the loss of dual value when ``sum(beta) = total`` is made exact.

    Members with most room absorb the difference: moving ``beta_j`` by ``t`` costs at
    most ``|t| (|linear_j - values_j| + errors_j + kink_j)``, and all together half the
    square of the sum of ``|t_j| sqrt(K_jj)``. None where ``beta`` is outside its box,
    or no member has the room.
    """
    if ((beta < problem.lower) | (beta > problem.upper)).any():
        return None
    if problem.total is None:
        return 0.0
    support = np.flatnonzero(beta != 0.0)
    missing = math.fsum([*beta[support].tolist(), -problem.total])
    if missing == 0.0:
        return 0.0
    ends = problem.lower if missing > 0.0 else problem.upper
    needed = abs(missing) * (1.0 + 2.0 * UNIT)
    # the support first; where all of it is bounded, any member
    for candidates in (support, np.arange(beta.size)):
        room = np.abs(ends[candidates] - beta[candidates]) * (1.0 - 2.0 * UNIT)
        if float(room.sum()) > needed * (1.0 + 1e-6):
            break
    order = np.argsort(-room, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(room[order])])
    last = int(np.searchsorted(before, needed * (1.0 + 1e-9)))
    if last > order.size:
        return None
    movers = candidates[order[:last]]
    moved = np.minimum(room[order[:last]], np.maximum(needed - before[:last], 0.0))
    moved = moved * (1.0 + 1e-9)
    pull = np.abs(problem.linear[movers] - values[movers]) + errors[movers]
    if problem.kink is not None:
        pull += problem.kink[movers]
    lengths = np.sqrt(np.maximum(problem.gram.diagonal(movers), 0.0))
    cost = float((moved * pull).sum()) + 0.5 * float((moved * lengths).sum()) ** 2
    return cost * (1.0 + 1e-9)


def violation_bound(
    problem: DualProblem, beta: Vector, values: Vector, errors: Vector
) -> float:
    """Return an upper bound on the KKT violation, over all members."""
    slopes = slope_bounds(problem, beta, values, errors)
    return violation_of(*slopes, has_equality=problem.total is not None)


def slope_bounds(
    problem: DualProblem, beta: Vector, values: Vector, errors: Vector
) -> tuple[float, float]:
    """Return bounds on the steepest slopes: the least of growing, the most of falling.

    Without the intercept; infinite where no member can grow, or fall.
    """
    growth, fall = np.inf, -np.inf
    for part in _blocks(problem.n):
        gradient, own = values[part] - problem.linear[part], beta[part]
        slack = errors[part] + 2.0 * UNIT * np.abs(gradient)
        kink = None if problem.kink is None else problem.kink[part]
        if kink is not None:  # one more rounding
            slack += 4.0 * UNIT * (np.abs(gradient) + kink)
        grows, falls = own < problem.upper[part], own > problem.lower[part]
        least = growth_slopes(own, gradient, kink) - slack
        most = fall_slopes(own, gradient, kink) + slack
        growth = min(growth, float(least.min(where=grows, initial=np.inf)))
        fall = max(fall, float(most.max(where=falls, initial=-np.inf)))
    return growth, fall


def violation_of(growth: float, fall: float, *, has_equality: bool) -> float:
    """Return the KKT violation that the steepest slopes prove, rounded up."""
    if not has_equality:
        return max(0.0, -growth, fall)
    spread = fall - growth
    return max(0.0, spread + 2.0 * UNIT * abs(spread))


def half_square_above(beta: Vector, values: Vector, errors: Vector) -> float:
    """Return an upper bound on 1/2 beta' K beta from the values and their rounding."""
    return sum_above(_half_square(beta, values, errors))


def _half_square(beta: Vector, values: Vector, errors: Vector) -> Vector:
    """Terms that sum to at least 1/2 beta' K beta."""
    support = np.flatnonzero(beta != 0.0)
    return square_terms(beta[support], values[support], errors[support])


def square_terms(beta: Vector, values: Vector, errors: Vector) -> Vector:
    """Return an upper bound on each member's contribution to 1/2 beta' K beta."""
    return np.asarray(0.5 * (beta * values + np.abs(beta) * errors))


def sum_above(terms: Vector) -> float:
    """Return an upper bound on the sum; each term may be off by a few roundings."""
    return float(sums_above(terms))


def sums_above(terms: Vector) -> Vector:
    """Return the same for the sums over the last axis."""
    return np.asarray(terms.sum(axis=-1) + SUM * np.abs(terms).sum(axis=-1))

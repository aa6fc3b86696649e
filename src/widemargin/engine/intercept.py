"""The intercept: all optimal ones, also where no support vector is free."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .problem import Vector
from .split_variables import Kink, twice, two_sides

# Share of the mass of all boxes within which masses are taken for equal.
MASS_ROUNDING = 1e-12


def intercept_interval(
    values: Vector,
    linear: Vector,
    lower: Vector,
    upper: Vector,
    total: float,
    kink: Kink = None,
    chosen: NDArray[np.bool_] | None = None,
) -> tuple[float, float]:
    """Return all optimal intercepts for w(beta), as an interval (mathematics 0.2).

    The primal is piecewise linear in b with breakpoints ``t_i = linear_i - values_i``
    of mass ``upper_i - lower_i``; its minimisers form a weighted quantile interval. A
    member with a kink has two, ``t_i - kink_i`` of mass ``upper_i`` and
    ``t_i + kink_i`` of mass ``-lower_i``. Only `chosen` members count, all by default.
    """
    linear, lower, upper = two_sides(linear, lower, upper, kink)
    some = ... if chosen is None else twice(chosen, kink)
    # no copy of each argument: of many rows they would be the peak of a fit's memory
    breakpoints = (linear - twice(values, kink))[some]
    widths = (upper - lower)[some]
    target = float(upper[some].sum()) - total
    if breakpoints.size == 0:
        return 0.0, 0.0
    mass = float(widths.sum())
    if target <= 0.0:  # only beta = upper is feasible; b is unbounded below
        return float(breakpoints.min()), float(breakpoints.min())
    if target >= mass:
        return float(breakpoints.max()), float(breakpoints.max())
    order = np.argsort(breakpoints)  # equal ones in any order: only values count
    order = order[widths[order] > 0.0]
    cumulative = widths[order]
    np.cumsum(cumulative, out=cumulative)
    # Sums of equal box widths meet the target exactly in exact arithmetic.
    slack = MASS_ROUNDING * mass
    left = int(np.searchsorted(cumulative, target - slack))
    left = min(left, order.size - 1)
    right = left
    if abs(cumulative[left] - target) <= slack and left + 1 < order.size:
        right = left + 1
    return float(breakpoints[order[left]]), float(breakpoints[order[right]])


def optimal_intercept(
    values: Vector,
    linear: Vector,
    lower: Vector,
    upper: Vector,
    total: float | None,
    kink: Kink = None,
    chosen: NDArray[np.bool_] | None = None,
) -> float:
    """Return the midpoint of the optimal intercepts; 0 without an intercept."""
    if total is None:
        return 0.0
    left, right = intercept_interval(values, linear, lower, upper, total, kink, chosen)
    return 0.5 * (left + right)

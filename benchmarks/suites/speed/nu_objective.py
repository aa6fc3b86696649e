"""Objective and gap of nu-SVC and nu-SVR, recomputed in float64.

Problem::

    minimise 1/2 a' K a - linear' a
    subject to |a_i| <= most, and positive and negative sizes of half the budget each

at least (nu-SVC, linear = 0, signs as the labels) or at most (nu-SVR, linear = y). For
given w the primal falls into one function of one number for each sign: an edge, beyond
which a member costs ``most`` a unit, and which itself is worth half the budget a unit.
Shares no code with the package, as the other judges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin_papers.harness.contestants import Settings
from widemargin_papers.harness.objective import Judgement, KernelChoice, kernel_times

Vector = NDArray[np.float64]


def judge_nu(
    choice: KernelChoice, X: Any, y: Vector, settings: Settings, beta: Vector
) -> Judgement:
    """Judge an answer: primal value at the best edges, dual value, gap.

    Coefficients of nu-SVC are in the unit of any margin: only their shares count.
    """
    classes = settings.estimator == "NuSVC"
    most = 1.0 if classes else settings.C
    half = 0.5 * settings.nu * most * len(y)
    linear = np.zeros(len(y)) if classes else y
    a = np.zeros(len(y))
    for sign in (1.0, -1.0):
        sizes = np.maximum(sign * beta, 0.0)
        a += sign * with_sum(sizes, half, most, grow=classes)
    values = kernel_times(choice, X, a)
    quadratic = 0.5 * float(a @ values)
    residual = linear - values
    objective = quadratic
    for sign in (1.0, -1.0):
        own = sign * residual[sign * y > 0] if classes else sign * residual
        objective += edge_cost(own, half, most)
    bound = float(linear @ a) - quadratic
    return Judgement(objective, bound, objective - bound, 0.0)


def with_sum(sizes: Vector, share: float, most: float, *, grow: bool) -> Vector:
    """Return sizes in proportion that sum to the share; less stays unless they grow."""
    if not grow:
        return sizes * min(1.0, share / max(float(sizes.sum()), 1e-300))
    factor = share / float(sizes.sum())
    for _ in range(50):  # what is cut at the bound is made up for by the others
        found: Vector = np.minimum(factor * sizes, most)
        if found.sum() >= share * (1.0 - 1e-13):
            break
        factor *= share / float(found.sum())
    return found


def edge_cost(residual: Vector, share: float, most: float) -> float:
    """Return the least of ``most sum max(0, r - edge) + share edge`` over the edge."""
    falling = np.sort(residual)[::-1]
    edge = falling[min(int(share / most), len(falling) - 1)]
    return most * float(np.maximum(residual - edge, 0.0).sum()) + share * float(edge)

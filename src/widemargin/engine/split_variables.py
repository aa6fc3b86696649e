"""Variables with a kink at zero, split into their positive and negative parts.

The dual of a loss that is zero within a tube has ``kink_i |beta_i|`` in its objective
(mathematics 0.6). With ``gradient = K beta - linear`` a member grows at the slope
``gradient + kink`` from zero on and ``gradient - kink`` below it, and falls at
``gradient + kink`` above zero and ``gradient - kink`` from there on.

Such a member equals two without a kink, on either side of zero (LIBSVM's ``alpha`` and
``alpha*``): ``rise >= 0`` with the linear term ``linear - kink`` and ``fall <= 0`` with
``linear + kink``. The losses of
the two add up to the member's, so objective, bound, gap, intercept and violation are
those of the two sides. The engine solves for one variable per member; what is
a sum over members or a breakpoint of the intercept is written down by its sides.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .problem import DualProblem, Vector

Kink = Vector | None
Kind = TypeVar("Kind", bound=np.generic)


def growth_slopes(beta: Vector, gradient: Vector, kink: Kink) -> Vector:
    """Return the slope of the dual objective where each member grows."""
    if kink is None:
        return gradient
    return np.asarray(gradient + np.where(beta >= 0.0, kink, -kink))


def fall_slopes(beta: Vector, gradient: Vector, kink: Kink) -> Vector:
    """Return the slope of the dual objective where each member falls."""
    if kink is None:
        return gradient
    return np.asarray(gradient + np.where(beta > 0.0, kink, -kink))


def two_sides(
    linear: Vector, lower: Vector, upper: Vector, kink: Kink
) -> tuple[Vector, Vector, Vector]:
    """Return linear term and box of the two sides of each member.

    Without a kink the arrays as they are. In place of the linear term a residual
    serves as well: it is shifted likewise.
    """
    if kink is None:
        return linear, lower, upper
    return (
        np.concatenate([linear - kink, linear + kink]),
        np.concatenate([np.maximum(lower, 0.0), np.minimum(lower, 0.0)]),
        np.concatenate([np.maximum(upper, 0.0), np.minimum(upper, 0.0)]),
    )


def twice(values: NDArray[Kind], kink: Kink) -> NDArray[Kind]:
    """Return what both sides of a member share, once for each side."""
    return values if kink is None else np.concatenate([values, values])


def split(beta: Vector, kink: Kink) -> Vector:
    """Return the two sides of each variable: what is positive, what is negative."""
    if kink is None:
        return beta
    return np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])


def joined(sides: Vector) -> Vector:
    """Return one variable per member from its two sides."""
    rise, fall = sides.reshape(2, -1)
    return np.asarray(rise + fall)


def by_sides(problem: DualProblem) -> DualProblem:
    """Return a problem with kinks as one with two members per sample and no kink."""
    if problem.kink is None:
        return problem
    rows = np.tile(np.arange(problem.n), 2)
    box = two_sides(problem.linear, problem.lower, problem.upper, problem.kink)
    return DualProblem(problem.gram.subset(rows), *box, problem.total)


def on_segments(
    problem: DualProblem, beta: Vector, level: float, values: Vector
) -> DualProblem:
    """Return the problem on the side of zero where each member is.

    A member at zero stands on the side it would leave by, judged by ``-level`` as the
    intercept. As long as no member crosses zero the two problems are the same.
    """
    if problem.kink is None:
        return problem
    wants_to_grow = values - problem.linear < level
    rises = (beta > 0.0) | ((beta == 0.0) & wants_to_grow)
    kinked = problem.kink > 0.0
    return DualProblem(
        problem.gram,
        problem.linear + np.where(rises, -problem.kink, problem.kink),
        np.where(kinked & rises, np.maximum(problem.lower, 0.0), problem.lower),
        np.where(kinked & ~rises, np.minimum(problem.upper, 0.0), problem.upper),
        problem.total,
    )

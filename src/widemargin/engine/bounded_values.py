"""K beta to within bounds on its rounding, as a solve and its verification leave it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .intercept import optimal_intercept
from .problem import DualProblem

Vector = NDArray[np.float64]

CURRENT, UNKNOWN = -1, -2  # core/solver/problem.hpp: which point a gradient belongs to


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of the values of ``K beta`` after a solve.

    Attributes
    ----------
    errors : ndarray of shape (n,)
        Bounds on the rounding in the values; infinite where unknown.
    anchors : ndarray of int32, shape (n,)
        The point each value belongs to: ``CURRENT``, ``UNKNOWN`` (no value at all), or
        the number of one of ``points``.
    points : list of ndarray
        Earlier points of the solve.
    """

    errors: Vector
    anchors: NDArray[np.int32]
    points: list[Vector]

    @classmethod
    def none(cls, n: int) -> Evidence:
        """Nothing is known of any value."""
        return cls(np.full(n, np.inf), np.full(n, UNKNOWN, dtype=np.int32), [])


@dataclass(frozen=True, eq=False)
class KnownPoint:
    """A point whose ``K beta`` is bounded at every member: others follow from it."""

    beta: Vector
    known: BoundedValues


@dataclass(frozen=True, eq=False)
class BoundedValues:
    """``K beta`` to within ``errors``, for every member.

    Where not ``summed`` it is a value of an earlier point, or none: of members at zero
    that are certain to lie beyond the margin, or that there was no time to look at.
    """

    values: Vector
    errors: Vector
    summed: NDArray[np.bool_]

    def intercept(self, problem: DualProblem) -> float:
        """Return the optimal intercept for what was summed.

        Members beyond the margin do not move it, whatever their value.
        """
        p = problem
        return optimal_intercept(
            self.values, p.linear, p.lower, p.upper, p.total, p.kink, self.summed
        )

"""The one convex problem every kernel system here is a value of.

::

    minimise    1/2 beta' K beta - linear' beta + kink' |beta|
    subject to  lower <= beta <= upper,   and, with an intercept, sum(beta) = total

``beta_i = y_i alpha_i`` is signed, so no label appears: costs, weights, margins, ramp
shifts, clusters and screened subsets are values of these arrays. Only losses with a
tube around zero have a kink.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .gram import Gram

Vector = NDArray[np.float64]


class Terms(NamedTuple):
    """Terms of a dual problem: linear, box, required sum, and kink if there is one."""

    linear: Vector
    lower: Vector
    upper: Vector
    total: float | None
    kink: Vector | None = None


@dataclass(frozen=True, eq=False)
class DualProblem:
    """A box-constrained quadratic problem over the kernel of ``gram``.

    Parameters
    ----------
    gram : Gram
        Samples and kernel; label-free, shared between problems.
    linear, lower, upper : ndarray of shape (n,)
        Linear term and box, ``lower <= upper``.
    total : float or None
        Required sum of ``beta``; None when the model has no intercept.
    kink : ndarray of shape (n,) or None
        Price of ``|beta_i|``, not negative: half the width of the tube within which
        an error is free. None for all zero. Zero must lie in the box of a kink.
    """

    gram: Gram
    linear: Vector
    lower: Vector
    upper: Vector
    total: float | None
    kink: Vector | None = None

    def __post_init__(self) -> None:
        """Check shapes and feasibility before compiled code sees them."""
        arrays = ("linear", "lower", "upper", *(() if self.kink is None else ("kink",)))
        for name in arrays:
            array = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            if array.shape != (self.gram.n,):
                raise ValueError(
                    f"{name} has shape {array.shape}; the Gram matrix has "
                    f"{self.gram.n} samples, so ({self.gram.n},) is needed."
                )
            if not np.isfinite(array).all():
                raise ValueError(f"{name} contains NaN or infinity.")
            object.__setattr__(self, name, array)
        if (self.lower > self.upper).any():
            raise ValueError("lower must not exceed upper.")
        if self.kink is not None:
            if (self.kink < 0.0).any():
                raise ValueError("kink must not be negative.")
            if ((self.kink > 0.0) & ((self.lower > 0.0) | (self.upper < 0.0))).any():
                raise ValueError("kink needs a box that contains zero.")
        if self.total is not None:
            least, most = float(self.lower.sum()), float(self.upper.sum())
            slack = 1e-9 * max(1.0, abs(least), abs(most))
            if not least - slack <= self.total <= most + slack:
                raise ValueError(
                    f"total={self.total} cannot be reached: the box allows sums from "
                    f"{least} to {most}."
                )

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.gram.n

    def free(self, beta: Vector) -> NDArray[np.bool_]:
        """Mask of free variables, neither at a bound nor at a kink: the margin set."""
        mask: NDArray[np.bool_] = (beta > self.lower) & (beta < self.upper)
        if self.kink is not None:
            mask &= (beta != 0.0) | (self.kink == 0.0)
        return mask

    def reduced(self, active: NDArray[np.intp], beta: Vector) -> DualProblem:
        """Return the problem over ``active`` with all other members fixed at ``beta``.

        The fixed members enter through the linear term and the sum
        (mathematics 0, last row of the table).
        """
        fixed = np.array(beta, dtype=np.float64)
        fixed[active] = 0.0
        pull = self.gram.times(fixed, indices=active)
        total = None if self.total is None else self.total - float(fixed.sum())
        return DualProblem(
            self.gram.subset(active),
            self.linear[active] - pull,
            self.lower[active],
            self.upper[active],
            total,
            None if self.kink is None else self.kink[active],
        )


@dataclass(frozen=True)
class SecondSum:
    """A solve that also keeps the sum of ``|beta|``, and finds the multiplier of it.

    Parameters
    ----------
    has_margin : bool
        True for nu-SVC, where the multiplier is a factor on a linear term of +1 and -1;
        False for nu-SVR, where it is the kink of all variables (mathematics 9.3).
    """

    has_margin: bool

    def kink(self, problem: DualProblem) -> float:
        """Return the kink of a problem that the solver begins with."""
        return 0.0 if problem.kink is None else float(problem.kink[0])

    def at(self, problem: DualProblem, kink: float) -> DualProblem:
        """Return the problem at the kink that the solver has found."""
        if self.has_margin:
            return replace(problem, linear=(1.0 - kink) * problem.linear)
        return replace(problem, kink=np.full(problem.n, max(kink, 0.0)))


def only_point(lower: Vector, upper: Vector, total: float | None) -> Vector | None:
    """Return the only feasible point where box and sum leave a single one.

    The usual case is a single class with an intercept: all zero. A sum of
    bounds counts as the total up to its own rounding, whatever the unit of the costs
    and however large the bounds on the other side are.
    """
    if lower.size == 0:
        return np.zeros(0)
    if total is None:
        return None
    for bound, room in ((upper, upper.sum() - total), (lower, total - lower.sum())):
        if room <= 1e-14 * (float(np.abs(bound).sum()) + abs(total)):
            return bound.copy()
    return None


def classification_problem(
    gram: Gram, y: ArrayLike, costs: ArrayLike, fit_intercept: bool = True
) -> DualProblem:
    """Build the C-SVC dual: ``linear = y``, box between 0 and ``y_i costs_i``.

    Parameters
    ----------
    gram : Gram
        Samples and kernel.
    y : array of +1 and -1
        Signed labels.
    costs : array or float
        C_i, the price of a unit of hinge loss at each sample.
    fit_intercept : bool
        False drops the equality constraint.
    """
    signs = np.asarray(y, dtype=np.float64)
    costs = np.asarray(costs, dtype=np.float64)
    return DualProblem(gram, *hinge_terms(signs, costs, fit_intercept))


def hinge_terms(signs: Vector, costs: Vector, fit_intercept: bool) -> Terms:
    """Return linear term, bounds and total of the C-SVC dual."""
    ends = signs * costs
    total = 0.0 if fit_intercept else None
    return Terms(signs, np.minimum(ends, 0.0), np.maximum(ends, 0.0), total)

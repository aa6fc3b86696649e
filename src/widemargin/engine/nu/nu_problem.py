"""A dual problem with a second sum, and the engine's problem at a fixed multiplier.

    minimise    1/2 a' K a - linear' a
    subject to  lower <= a <= upper,  sum(a) = 0 with an intercept, and
                nu-SVC: sum |a| >= budget;    nu-SVR: sum |a| <= budget

The box of nu-SVC is on one side of zero for each member, and it has no linear term.
With the multiplier m >= 0 of the second sum fixed it is the engine's problem with the
linear term ``m sign`` (nu-SVC) or the kink m (nu-SVR): m is the margin rho of the one,
the half width epsilon of the tube of the other (mathematics 9.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.feasible import project
from widemargin.engine.gram import Gram
from widemargin.engine.intercept import intercept_interval, optimal_intercept
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import NOT_FINITE

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Group(NamedTuple):
    """Sizes of members, each of one sign, and what they sum to on the budget."""

    members: NDArray[np.intp]
    signs: Vector
    most: Vector
    share: float


@dataclass(frozen=True, eq=False)
class NuProblem:
    """A problem with a second sum.

    Parameters
    ----------
    gram : Gram
        Samples and kernel.
    linear, lower, upper : ndarray of shape (n,)
        Linear term and box, which contains zero.
    fit_intercept : bool
        Whether the coefficients sum to zero.
    budget : float
        What the sizes of the coefficients sum to, at least or at most.
    has_margin : bool
        True for nu-SVC, at least; False for nu-SVR, at most.
    """

    gram: Gram
    linear: Vector
    lower: Vector
    upper: Vector
    fit_intercept: bool
    budget: float
    has_margin: bool

    @property
    def total(self) -> float | None:
        """Required sum of the coefficients."""
        return 0.0 if self.fit_intercept else None

    def unit(self, multiplier: float) -> float:
        """Return what a coefficient of the engine's problem is worth in this one.

        A nu-SVC is stored in units of its margin: it is the C-SVC at C = 1/m.
        """
        return multiplier if self.has_margin else 1.0

    def at(self, multiplier: float) -> DualProblem:
        """Return the engine's problem at a multiplier."""
        unit = self.unit(multiplier)
        with np.errstate(over="ignore"):
            box = self.lower / unit, self.upper / unit
        if not (np.isfinite(multiplier) and np.isfinite(box).all()):
            raise ValueError(NOT_FINITE)
        if self.has_margin:
            signs = np.where(self.upper > 0.0, 1.0, -1.0)
            return DualProblem(self.gram, signs, *box, self.total)
        kink = np.full(self.gram.n, multiplier) if multiplier > 0.0 else None
        return DualProblem(self.gram, self.linear, *box, self.total, kink)

    def coefficients(self, beta: Vector, multiplier: float) -> Vector:
        """Return a point of the engine's problem at a multiplier as one of this.

        What is at a bound there is at the same bound here, rounding or not.
        """
        if not self.has_margin:
            return beta
        a = np.clip(multiplier * beta, self.lower, self.upper)
        a = np.where(beta == self.lower / multiplier, self.lower, a)
        return np.where(beta == self.upper / multiplier, self.upper, a)

    def excess(self, a: Vector) -> float:
        """Return how far the sum exceeds the budget, as a share of it."""
        return float(np.abs(a).sum()) / self.budget - 1.0

    def free(self, a: Vector) -> Mask:
        """Mask of members neither at a bound nor at zero."""
        mask: Mask = (a > self.lower) & (a < self.upper) & (a != 0.0)
        return mask

    def groups(self, rising: Mask, falling: Mask) -> list[Group]:
        """Return the parts on which both constraints are one sum each.

        With an intercept the two signs, each with half the budget; else one for all.
        A member may stand in both, as of nu-SVR.
        """
        up, down = np.flatnonzero(rising), np.flatnonzero(falling)
        sides = [
            Group(up, np.ones(up.size), self.upper[up], 0.5 * self.budget),
            Group(down, -np.ones(down.size), -self.lower[down], 0.5 * self.budget),
        ]
        if self.fit_intercept:
            return sides
        members, signs, most = (
            np.concatenate([sides[0][k], sides[1][k]]) for k in range(3)
        )
        return [Group(members, signs, most, self.budget)]

    def feasible(self, a: Vector) -> Vector:
        """Return the nearest point of the same signs on both sums, if there is one."""
        moved = a.copy()
        rising, falling = a > 0.0, a < 0.0
        if self.has_margin:
            rising, falling = self.upper > 0.0, self.lower < 0.0
        for members, signs, most, share in self.groups(rising, falling):
            if share <= float(most.sum()) * (1.0 + 1e-12):
                nothing = np.zeros(members.size)
                sizes = project(signs * a[members], nothing, most, share)
                moved[members] = signs * sizes
        return moved

    def levels(self, values: Vector) -> tuple[float, float]:
        """Return the multiplier and the intercept that are best for w(a).

        With both, the primal falls into one function for each sign; their minima are
        weighted quantiles (mathematics 0.2).
        """
        found = []
        for group in self.groups(self.upper > 0.0, self.lower < 0.0):
            members, signs, most, share = group
            ends = intercept_interval(
                signs * values[members], signs * self.linear[members],
                np.zeros(members.size), most, share,
            )  # fmt: skip
            found.append(0.5 * (ends[0] + ends[1]))
        multiplier = sum(found) / len(found)
        if self.has_margin:
            multiplier = -multiplier
        intercept = 0.5 * (found[0] - found[1]) if self.fit_intercept else 0.0
        if multiplier > 0.0 or self.has_margin:
            return multiplier, intercept
        box = self.linear, self.lower, self.upper
        return 0.0, optimal_intercept(values, *box, self.total)

    def central_levels(self, a: Vector, values: Vector) -> tuple[float, float]:
        """Return the multiplier that leaves the least violation, and its intercept.

        The middle of what members of either sign allow: those that can grow in size
        on the one hand, those that can shrink on the other.
        """
        gradient = values - self.linear
        middles = []
        for can_grow, can_fall in (
            ((a >= 0.0) & (a < self.upper), a > 0.0),
            (a < 0.0, (a <= 0.0) & (a > self.lower)),
        ):
            lowest = gradient.min(where=can_grow, initial=np.inf)
            highest = gradient.max(where=can_fall, initial=-np.inf)
            ends = [end for end in (lowest, highest) if np.isfinite(end)]
            middles.append(float(np.mean(ends)) if ends else 0.0)
        kink = 0.5 * (middles[1] - middles[0])
        multiplier = -kink if self.has_margin else max(kink, 0.0)
        return multiplier, -0.5 * (middles[0] + middles[1])

    def thinned(self, share: int) -> NuProblem:
        """Return the problem on every `share`-th row, with the same sums of weights."""
        falling = self.upper == 0.0  # the other class; no row of a regression
        chosen = np.sort(
            np.concatenate(
                [np.flatnonzero(side)[::share] for side in (falling, ~falling)]
            )
        )
        lower, upper = self.lower[chosen], self.upper[chosen]
        if lower.any():
            lower *= self.lower.sum() / lower.sum()
        if upper.any():
            upper *= self.upper.sum() / upper.sum()
        gram, linear = self.gram.subset(chosen), self.linear[chosen]
        return replace(self, gram=gram, linear=linear, lower=lower, upper=upper)

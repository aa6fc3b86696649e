"""What is true of a model of nu-SVC or nu-SVR: both constraints, the multiplier too.

Shares no code with the package; see :mod:`tests.oracles.exact_certificate`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

from tests.oracles.exact_certificate import Model, Truth
from tests.oracles.exact_numbers import Arithmetic, Interval


def within(weights: Any) -> float:
    """Return the largest float that is not above the sum of the weights."""
    whole = sum(map(Fraction, weights.tolist()), Fraction(0))
    near = float(whole)
    return near if near <= whole else math.nextafter(near, -math.inf)


class NuTruth(Truth):
    """A model at its multiplier m, as one of the problem that m was found for.

    Parameters
    ----------
    model : Model
        The problem at the multiplier. Of nu-SVC in units of the margin m, with the
        boxes ``weights / m`` as they are rounded.
    multiplier, budget : float
        Margin or half width of the tube, and what the sizes of the coefficients sum to.
    boxes : pair of arrays, optional
        Lower and upper ends of nu-SVC, which stands for (m w, m b, m).
    arithmetic : Arithmetic, optional
        Numbers to compute with.
    """

    def __init__(
        self,
        model: Model,
        multiplier: float,
        budget: float,
        boxes: Any = None,
        arithmetic: Arithmetic | None = None,
    ) -> None:
        self.multiplier, self.budget, self.boxes = multiplier, budget, boxes
        super().__init__(model, arithmetic)

    def of(self, model: Model, arithmetic: Arithmetic) -> Truth:
        """Return what is true of another model with the same multiplier."""
        given = self.multiplier, self.budget, self.boxes
        return NuTruth(model, *given, arithmetic)

    @cached_property
    def _weighted(self) -> Truth:
        """The same model with the boxes of nu-SVC."""
        lower, upper = self.boxes
        boxes = {"lower": lower, "upper": upper}
        return Truth(Model(**(vars(self.model) | boxes)), self.arithmetic)

    def primal_at(self, intercept: float) -> Interval:
        """Return the objective with any intercept, at this multiplier."""
        m, price = Fraction(self.multiplier), Fraction(self.budget)
        if self.boxes is None:
            return super().primal_at(intercept) + Interval(m * price, m * price)
        whole, half = self._weighted.primal_at(intercept), self._weighted._half_norm
        return Interval(
            m * m * half.low + m * (whole.low - half.low) - m * price,
            m * m * half.high + m * (whole.high - half.high) - m * price,
        )

    @property
    def dual(self) -> None:
        """No stored point is on both sums to the last bit."""

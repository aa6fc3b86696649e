"""The true objective, dual value and KKT violation of a model, with error bounds.

Shares no code with the package. The coefficients, the intercept and the samples are
taken as exact numbers and the kernel is evaluated in exact arithmetic, up to an error
that is bounded here and returned with each value:

- ``LONG`` has 64 bits of mantissa (glibc's ``expl`` is within one unit of them), so its
  errors are 2,048 times smaller than those of the float64 sums that are judged;
- ``DECIMAL`` has 60 digits, for small problems and where ``long double`` is ``double``.

Gaussian entries come from differences of rows. Every value is an :class:`Interval` of
rational numbers that contains the truth, so that no comparison rounds.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tests.oracles.better_model import better_coefficients
from tests.oracles.exact_kernels import kernel_blocks
from tests.oracles.exact_numbers import (
    CONTEXT,
    DECIMAL,
    HAS_LONG,
    LONG,
    Arithmetic,
    Interval,
    rational,
)

SHARP = 500_000  # operations on decimals
MOVERS = 8  # members tried for the repair: of the first alone K_jj may be large


@dataclass(frozen=True, eq=False)
class Model:
    """A dual problem and a model of it, in plain arrays.

    Attributes
    ----------
    kernel : {"linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed"}
    X : array or CSR
        Samples, or the kernel matrix.
    beta, intercept : array, float
        The model: ``F(x) = sum_i beta_i k(x_i, x) + intercept``.
    linear, lower, upper, total : arrays, float or None
        The problem of mathematics 0; ``total`` is None without an intercept.
    gamma, degree, coef0 : float, int, float
        Of the kernel.
    constant : float or Fraction
        Added to the objective and to the optimum (ramp loss).
    kink : array or None
        Price of ``|beta_i|`` in the dual: no loss up to it. Every box contains zero.
    """

    kernel: str
    X: Any
    beta: Any
    intercept: float
    linear: Any
    lower: Any
    upper: Any
    total: float | None
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    constant: Any = 0
    kink: Any = None

    def with_point(self, beta: Any, intercept: float) -> Model:
        """Return another model of the same problem."""
        return Model(**(vars(self) | {"beta": beta, "intercept": intercept}))


class Truth:
    """What is true of a model; each property is an :class:`Interval`."""

    def __init__(self, model: Model, arithmetic: Arithmetic | None = None) -> None:
        self.model = model
        self.arithmetic = arithmetic or (LONG if HAS_LONG else DECIMAL)
        with decimal.localcontext(CONTEXT):
            self._evaluate()

    def sharper(self) -> Truth | None:
        """Return the same with more digits, where that takes under a second."""
        work = self.support.size * self.model.X.shape[0]
        work *= {"rbf": 20, "precomputed": 1}.get(self.model.kernel, 3)
        if self.model.kernel != "precomputed":
            work *= self.model.X.shape[1]
        if self.arithmetic is DECIMAL or work > SHARP:
            return None
        return self.of(self.model, DECIMAL)

    def of(self, model: Model, arithmetic: Arithmetic) -> Truth:
        """Return what is true of another model of the same problem."""
        return Truth(model, arithmetic)

    def _evaluate(self) -> None:
        """Compute ``K beta`` and bounds of its errors."""
        model, number = self.model, self.arithmetic.number
        self.beta = number(model.beta)
        self.support = np.flatnonzero(model.beta)
        coefficients = self.beta[self.support]
        sums = self._additions(self.support.size) * self.arithmetic.unit
        values, errors = [], []
        for _, entries, wrong in kernel_blocks(model, self.support, self.arithmetic):
            products = entries * coefficients
            values.append(products.sum(axis=1))
            wrong = wrong * abs(coefficients) + abs(products) * sums
            errors.append(wrong.sum(axis=1) * 2)
        if self.support.size:
            self.values, self.errors = np.concatenate(values), np.concatenate(errors)
        else:
            self.values = number(np.zeros(len(model.beta)))
            self.errors = self.values * 0

    def _additions(self, terms: int) -> int:
        """Return how many roundings a term meets on the way into a sum.

        numpy adds the last axis of an array of its own numbers pairwise, in blocks of
        128; the product is one rounding more.
        """
        if self.arithmetic is LONG:
            return min(terms, 24 + terms.bit_length()) + 4
        return terms + 4

    def _sum(self, terms: Any, errors: Any) -> Interval:
        """Return the sum of terms that are off by at most ``errors``."""
        if len(terms) == 0:
            return Interval(Fraction(0), Fraction(0))
        rounding = self._additions(len(terms)) * self.arithmetic.unit
        return Interval.around(
            terms.sum(), (errors.sum() + abs(terms).sum() * rounding) * 2
        )

    @cached_property
    def _kink(self) -> Any:
        kink, number = self.model.kink, self.arithmetic.number
        return None if kink is None else number(kink)

    @cached_property
    def _half_norm(self) -> Interval:
        """Half of ``beta' K beta``."""
        own = self.beta[self.support]
        values, errors = self.values[self.support], self.errors[self.support]
        whole = self._sum(own * values, abs(own) * errors)
        return Interval(whole.low / 2, whole.high / 2)

    def primal_at(self, intercept: float) -> Interval:
        """Return the primal objective of ``w(beta)`` with any intercept."""
        with decimal.localcontext(CONTEXT):
            m, number = self.model, self.arithmetic.number
            linear, b = number(m.linear), number(intercept)[()]
            lower, upper = number(m.lower), number(m.upper)
            residual = linear - self.values - b
            loss = np.maximum(lower * residual, upper * residual)
            if (kink := self._kink) is not None:
                above, below = upper * (residual - kink), lower * (residual + kink)
                loss = np.maximum(np.maximum(above, below), residual * 0)
            steepest = np.maximum(abs(lower), abs(upper))
            size = (
                abs(linear) + abs(self.values) + abs(b) + (0 if kink is None else kink)
            )
            wrong = steepest * (self.errors + size * (5 * self.arithmetic.unit))
            whole = self._half_norm + self._sum(loss, wrong)
        offset = rational(m.constant)
        if m.total is not None:
            offset += Fraction(m.total) * Fraction(intercept)
        return whole + Interval(offset, offset)

    @cached_property
    def primal(self) -> Interval:
        """The objective of the model."""
        return self.primal_at(float(self.model.intercept))

    @cached_property
    def excess(self) -> Fraction:
        """``sum(beta) - total``, exactly; 0 without an intercept."""
        if self.model.total is None:
            return Fraction(0)
        whole = sum((Fraction(b) for b in self.model.beta.tolist()), Fraction(0))
        return whole - Fraction(self.model.total)

    @cached_property
    def in_box(self) -> bool:
        """Whether every coefficient lies in its box."""
        m = self.model
        return bool(((m.beta >= m.lower) & (m.beta <= m.upper)).all())

    @cached_property
    def dual(self) -> Interval | None:
        """The dual value of ``beta``, the sum put right where that costs least.

        A feasible point, so no optimum is below it; None where there is none near by:
        outside the box, or no member has room for the whole excess.
        """
        if not self.in_box:
            return None
        with decimal.localcontext(CONTEXT):
            own = self.beta[self.support]
            linear = self.arithmetic.number(self.model.linear)[self.support]
            reward = self._sum(own * linear, abs(own) * 0)
            if self._kink is not None:
                reward += self._sum(-abs(own) * self._kink[self.support], own * 0)
        offset = rational(self.model.constant)
        low = reward.low - self._half_norm.high + offset
        high = reward.high - self._half_norm.low + offset
        if self.excess:
            repair = self._repair()
            if repair is None:
                return None
            low, high = low - repair.high, high - repair.low
        return Interval(low, high)

    def _repair(self) -> Interval | None:
        """Return the least loss of dual value for moving one member by the excess."""
        m, by = self.model, self.excess
        room = m.beta - m.lower if by > 0 else m.upper - m.beta
        able = np.flatnonzero(room > float(abs(by)) * (1 + 1e-9))
        if able.size == 0:
            return None
        pulls = np.asarray(m.linear, float)[able] - self.values[able].astype(float)
        cheapest = able[np.argsort(pulls * float(by), kind="stable")[:MOVERS]]
        costs = [self._cost_of_moving(int(j)) for j in cheapest]
        return min(costs, key=lambda cost: cost.high)

    def _cost_of_moving(self, j: int) -> Interval:
        """Return the loss of dual value for moving member j by the excess."""
        by = self.excess
        pull = Fraction(float(self.model.linear[j])) - rational(self.values[j])
        first, wrong = by * pull, abs(by) * rational(self.errors[j])
        if self.model.kink is not None:
            own = Fraction(float(self.model.beta[j]))
            first += Fraction(float(self.model.kink[j])) * (abs(own - by) - abs(own))
        square, entry = by * by / 2, self._diagonal(j)
        return Interval(
            first - wrong + square * entry.low, first + wrong + square * entry.high
        )

    def _diagonal(self, j: int) -> Interval:
        """Return ``K_jj``."""
        row = self.model.X[[j]]
        if self.model.kernel == "precomputed":
            return Interval.around(float(row[0, j]), 0)
        alone = Model(**(vars(self.model) | {"X": row}))
        _, entries, errors = next(kernel_blocks(alone, [0], self.arithmetic))
        return Interval.around(entries[0, 0], errors[0, 0])

    @cached_property
    def violation(self) -> Interval:
        """The KKT violation: a spread over pairs with an intercept."""
        m = self.model
        with decimal.localcontext(CONTEXT):
            number, unit = self.arithmetic.number, self.arithmetic.unit
            linear = number(m.linear)
            gradient = self.values - linear
            size, growth, fall = abs(self.values) + abs(linear), gradient, gradient
            if (kink := self._kink) is not None:
                size = size + kink
                growth = gradient + np.where(m.beta >= 0, kink, -kink)
                fall = gradient + np.where(m.beta > 0, kink, -kink)
            errors = (self.errors + size * unit) * 2
            grows, falls = m.beta < m.upper, m.beta > m.lower
            ends = []
            for sign in (-1, 1):  # of the errors: the least and the most it can be
                steepest_fall = (fall + errors * sign)[falls]
                steepest_growth = (growth - errors * sign)[grows]
                down = rational(steepest_fall.max()) if falls.any() else None
                up = rational(steepest_growth.min()) if grows.any() else None
                ends.append(_spread(down, up, m.total is not None))
        return Interval(ends[0], ends[1])

    @cached_property
    def best_intercept(self) -> float:
        """An intercept that is optimal for ``w(beta)`` up to rounding."""
        m = self.model
        if m.total is None:
            return 0.0
        breaks = (self.arithmetic.number(m.linear) - self.values).astype(float)
        width = np.asarray(m.upper) - m.lower
        if m.kink is not None:  # the loss bends twice
            breaks = np.append(breaks - m.kink, breaks + m.kink)
            width = np.append(m.upper, -np.asarray(m.lower))
        order = np.argsort(breaks)
        mass = np.cumsum(width[order])
        target = float(np.sum(m.upper)) - m.total
        at = min(int(np.searchsorted(mass, target)), len(order) - 1)
        near = {max(at - 1, 0), at, min(at + 1, len(order) - 1)}
        candidates = [float(m.intercept), *(float(breaks[order[k]]) for k in near)]
        return min(candidates, key=lambda b: self.primal_at(b).high)

    @cached_property
    def optimum_at_most(self) -> Fraction:
        """The least objective known of any model: the optimum is not above it."""
        least = min(self.primal.high, self.primal_at(self.best_intercept).high)
        columns = np.arange(len(self.model.beta))
        blocks = kernel_blocks(self.model, columns, LONG)
        K = np.concatenate([np.asarray(rows, np.float64) for _, rows, _ in blocks])
        for beta in better_coefficients(self.model, K):
            better = self.of(self.model.with_point(beta, 0.0), self.arithmetic)
            least = min(least, better.primal_at(better.best_intercept).high)
        return least


def _spread(down: Fraction | None, up: Fraction | None, equality: bool) -> Fraction:
    if equality:
        known = down is not None and up is not None
        return max(Fraction(0), down - up) if known else Fraction(0)
    return max(Fraction(0), down or Fraction(0), -(up or Fraction(0)))


class JointTruth:
    """The same of problems side by side: a kernel that is cut to clusters."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def sharper(self) -> JointTruth | None:
        """Return the same with more digits, where that takes under a second."""
        parts = [part.sharper() for part in self.parts]
        return None if any(part is None for part in parts) else JointTruth(parts)

    @cached_property
    def primal(self) -> Interval:
        """The sum of the objectives."""
        return sum((p.primal for p in self.parts), Interval(Fraction(0), Fraction(0)))

    @cached_property
    def dual(self) -> Interval | None:
        """The sum of the dual values."""
        duals = [part.dual for part in self.parts]
        if any(dual is None for dual in duals):
            return None
        return sum(duals, Interval(Fraction(0), Fraction(0)))

    @cached_property
    def violation(self) -> Interval:
        """The largest violation."""
        found = [part.violation for part in self.parts]
        return Interval(max(v.low for v in found), max(v.high for v in found))

    @cached_property
    def optimum_at_most(self) -> Fraction:
        """The sum of the least objectives known."""
        return sum((part.optimum_at_most for part in self.parts), Fraction(0))

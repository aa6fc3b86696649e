"""Numbers for judging: long doubles, decimals, and intervals of rational numbers."""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

DIGITS = 60


@dataclass(frozen=True)
class Arithmetic:
    """Numbers that numpy can compute with, and their unit of rounding."""

    name: str
    unit: Any
    number: Any  # array of floats -> array of these numbers, exactly
    exp: Any


CONTEXT = decimal.Context(prec=DIGITS, Emin=-(10**9), Emax=10**9, traps=[])
LONG = Arithmetic(
    "long double",
    np.finfo(np.longdouble).eps / 2,
    lambda values: np.asarray(values, np.longdouble),
    np.exp,
)
DECIMAL = Arithmetic(
    "decimal",
    decimal.Decimal(10) ** (1 - DIGITS),
    lambda values: np.asarray(
        np.frompyfunc(decimal.Decimal, 1, 1)(np.asarray(values, np.float64)), object
    ),
    np.frompyfunc(lambda value: value.exp(CONTEXT), 1, 1),
)
HAS_LONG = np.finfo(np.longdouble).nmant >= 63  # elsewhere it may be plain double


def rational(value: Any) -> Fraction:
    """Return a number of any kind, exactly."""
    if isinstance(value, np.longdouble):
        return Fraction(*value.as_integer_ratio())
    return Fraction(value)


@dataclass(frozen=True)
class Interval:
    """Two rational numbers with the truth between them."""

    low: Fraction
    high: Fraction

    @classmethod
    def around(cls, value: Any, error: Any) -> Interval:
        """Return ``value`` plus or minus ``error``, numbers of either arithmetic."""
        middle, radius = rational(value), rational(error)
        return cls(middle - radius, middle + radius)

    def __add__(self, other: Interval) -> Interval:
        """Return the interval of the sum."""
        return Interval(self.low + other.low, self.high + other.high)

    def __float__(self) -> float:
        """Return the middle."""
        return float((self.low + self.high) / 2)

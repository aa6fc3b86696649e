"""Objective, bound and violation are on the safe side of exact arithmetic.

The values of the margins are taken as exact here: what is left are the roundings of the
sums themselves, too small to be seen beside those of kernel entries in a whole fit.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from widemargin.engine.bounds import dual_bound, objective_bound, violation_bound

N = 300


def drawn(seed, kinked):
    """Return a problem without an equality, a point of it and its values."""
    rng = np.random.default_rng(seed)
    lower, upper = -(10.0 ** rng.uniform(-6, 6, (2, N)))
    beta = rng.uniform(lower, -upper) * rng.integers(0, 2, N)
    problem = SimpleNamespace(
        n=N,
        linear=rng.normal(size=N),
        lower=lower,
        upper=-upper,
        total=None,
        kink=rng.random(N) if kinked else None,
    )
    return problem, beta, rng.normal(size=N)


def exact(values):
    return [Fraction(value) for value in values.tolist()]


def exact_terms(problem, beta, values):
    """Yield coefficient, value, linear term, ends and kink of every member."""
    kink = np.zeros(N) if problem.kink is None else problem.kink
    columns = beta, values, problem.linear, problem.lower, problem.upper, kink
    return list(zip(*map(exact, columns), strict=True))


@pytest.mark.parametrize("kinked", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_no_rounding_makes_a_claim_untrue(seed, kinked):
    problem, beta, values = drawn(seed, kinked)
    objective, dual, steepest = Fraction(0), Fraction(0), Fraction(0)
    for b, v, linear, low, high, kink in exact_terms(problem, beta, values):
        objective += b * v / 2 + max(high * (linear - kink - v), 0)
        objective += max(low * (linear + kink - v), 0)
        dual -= b * v / 2 - linear * b + kink * abs(b)
        falls = v - linear + (kink if b > 0 else -kink)
        rises = v - linear + (kink if b >= 0 else -kink)
        steepest = max(steepest, falls if b > low else 0, -rises if b < high else 0)
    nothing = np.zeros(N)
    assert objective_bound(problem, beta, 0.0, values, nothing) >= objective
    bound = dual_bound(problem, beta, values, nothing)
    assert bound <= max(dual, 0)
    assert violation_bound(problem, beta, values, nothing) >= steepest
    # and not by much
    size = sum(
        abs(b * v) + abs(b * x) for b, v, x, *_ in exact_terms(problem, beta, values)
    )
    assert dual - Fraction(bound) <= Fraction(1, 10**12) * size or dual < 0

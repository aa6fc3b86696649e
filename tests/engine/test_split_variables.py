"""A kink at zero and its two sides: the same objective, gap, intercept, violation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.certificate import (
    dual_objective,
    duality_gap,
    primal_objective,
    violation,
)
from widemargin.engine.gram import Gram
from widemargin.engine.intercept import intercept_interval, optimal_intercept
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import DualProblem
from widemargin.engine.split_variables import by_sides, joined, on_segments, split

N = 40


def kinked(seed: int, total: float | None = 0.0):
    """Return a problem with and without kinks among its members, and a point of it."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 3))
    kink = rng.choice([0.0, 0.1, 0.7], N)
    problem = DualProblem(
        Gram(X, Gaussian(0.4)), rng.standard_normal(N), -rng.uniform(0, 2, N),
        rng.uniform(0, 2, N), total, kink,
    )  # fmt: skip
    beta = np.clip(rng.standard_normal(N), problem.lower, problem.upper)
    beta[rng.random(N) < 0.3] = 0.0
    return problem, beta, problem.gram.times(beta)


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_is_that_of_the_tube_and_the_gap_closes_the_two_objectives(seed):
    problem, beta, values = kinked(seed)
    lower, upper, kink = problem.lower, problem.upper, problem.kink
    for b in (-0.7, 0.0, 0.4):
        residual = problem.linear - values - b
        outside = upper * np.maximum(residual - kink, 0.0)
        outside -= lower * np.maximum(-residual - kink, 0.0)
        expected = 0.5 * beta @ values + outside.sum()
        box = problem.linear, lower, upper, None, kink
        primal = primal_objective(beta, values, b, *box)
        assert_allclose(primal, expected, rtol=1e-13)
        dual = dual_objective(beta, values, problem.linear, kink)
        # feasible for the sum that it has: b pays for it
        gap = duality_gap(beta, residual, lower, upper, kink)
        assert_allclose(gap, primal + dual + b * beta.sum(), rtol=1e-12)


@pytest.mark.parametrize("total", [0.0, None])
@pytest.mark.parametrize("seed", range(5))
def test_the_two_sides_violate_as_much_as_the_member(seed, total):
    problem, beta, values = kinked(seed, total)
    sides = by_sides(problem)
    assert sides.kink is None and sides.n == 2 * N
    twofold = split(beta, problem.kink)
    assert_array_equal(joined(twofold), beta)
    assert (sides.lower <= twofold).all() and (twofold <= sides.upper).all()
    assert_allclose(sides.gram.times(twofold)[:N], values, atol=1e-12)
    both = np.concatenate([values, values])
    found = violation(problem, beta, values)
    assert_allclose(found, violation(sides, twofold, both), rtol=1e-14)
    member = np.flatnonzero((beta == 0.0) & (problem.kink > 0.0))
    assert member.size and not problem.free(beta)[member].any()


def test_the_intercept_minimises_the_loss_of_the_tube():
    problem, beta, values = kinked(3)
    box = problem.linear, problem.lower, problem.upper, 0.0, problem.kink

    def loss(b):
        return primal_objective(beta, values, b, *box)

    left, right = intercept_interval(values, *box)
    best = min(loss(b) for b in np.linspace(-4, 4, 4001))
    assert_allclose([loss(left), loss(right)], loss(optimal_intercept(values, *box)))
    assert loss(left) <= best


@pytest.mark.parametrize("seed", range(3))
def test_on_its_segments_a_problem_has_the_same_objective(seed):
    problem, beta, values = kinked(seed)
    segments = on_segments(problem, beta, 0.2, values)
    assert segments.kink is None
    assert (segments.lower <= beta).all() and (beta <= segments.upper).all()
    dual = dual_objective(beta, values, problem.linear, problem.kink)
    assert_allclose(dual_objective(beta, values, segments.linear), dual, rtol=1e-12)
    moved = np.where(problem.kink > 0, beta * 0.5, beta)
    there = problem.gram.times(moved)
    assert_allclose(
        dual_objective(moved, there, segments.linear),
        dual_objective(moved, there, problem.linear, problem.kink),
        rtol=1e-12,
    )
    at_zero = (beta == 0.0) & (problem.kink > 0.0)
    grows = values - problem.linear < 0.2
    assert_array_equal(segments.lower[at_zero & grows], 0.0)
    assert_array_equal(segments.upper[at_zero & ~grows], 0.0)


def test_a_kink_is_checked():
    problem, _, _ = kinked(0)
    box = problem.gram, problem.linear, problem.lower, problem.upper, 0.0
    with pytest.raises(ValueError, match="kink must not be negative"):
        DualProblem(*box, -problem.kink)
    with pytest.raises(ValueError, match="kink has shape"):
        DualProblem(*box, problem.kink[1:])
    with pytest.raises(ValueError, match="kink contains NaN"):
        DualProblem(*box, np.nan * problem.kink)
    ones = np.ones(N)
    with pytest.raises(ValueError, match="box that contains zero"):
        DualProblem(problem.gram, ones, 0.5 * ones, ones, None, ones)
    part = problem.reduced(np.arange(5), np.zeros(N))
    assert_array_equal(part.kink, problem.kink[:5])

"""Gap, KKT violation, intercept interval: pure functions against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from widemargin.engine.certificate import (
    Certificate,
    dual_objective,
    duality_gap,
    kkt_violation,
    primal_objective,
)
from widemargin.engine.intercept import intercept_interval, optimal_intercept


def drawn(seed, n=30):
    """Return a random feasible point of a random problem."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, 5))
    lower, upper = -rng.uniform(0, 2, n), rng.uniform(0, 2, n)
    beta = rng.uniform(lower, upper)
    return features @ features.T, beta, rng.standard_normal(n), lower, upper, beta.sum()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("intercept", [0.0, -1.3, 4.0])
def test_gap_is_primal_minus_dual_for_every_intercept(seed, intercept):
    K, beta, linear, lower, upper, total = drawn(seed)
    values = K @ beta
    gap = duality_gap(beta, linear - values - intercept, lower, upper)
    primal = primal_objective(beta, values, intercept, linear, lower, upper, total)
    assert gap >= 0
    assert_allclose(gap, primal + dual_objective(beta, values, linear), rtol=1e-12)


def test_gap_does_not_cancel_at_the_optimum():
    # Two points, K = 1e8 I: the textbook difference of two 1e8 loses all digits.
    beta = np.array([1.0, -1.0])
    residual = np.array([1e-9, -1e-9])
    lower, upper = np.array([0.0, -2.0]), np.array([2.0, 0.0])
    assert_allclose(duality_gap(beta, residual, lower, upper), 2e-9, rtol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_every_intercept_of_the_interval_is_optimal_and_none_outside(seed):
    K, beta, linear, lower, upper, total = drawn(seed)
    values = K @ beta

    def primal(b):
        return primal_objective(beta, values, b, linear, lower, upper, total)

    left, right = intercept_interval(values, linear, lower, upper, total)
    assert left <= right
    best = minimize_scalar(primal, bounds=(-100, 100), method="bounded").fun
    inside = [primal(b) for b in np.linspace(left, right, 5)]
    assert_allclose(inside, inside[0], rtol=1e-12)
    assert inside[0] <= best + 1e-9
    step = 1e-3
    assert primal(left - step) > inside[0] + 1e-9
    assert primal(right + step) > inside[0] + 1e-9


def test_interval_of_unit_widths_is_between_two_order_statistics():
    # mathematics 0.2: [t_(k), t_(k+1)] with k = W / C
    breakpoints = np.array([3.0, 1.0, 2.0, 4.0])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    lower, upper = np.minimum(0, y), np.maximum(0, y)
    zero = np.zeros(4)
    assert intercept_interval(zero, breakpoints, lower, upper, 0.0) == (2.0, 3.0)
    assert optimal_intercept(zero, breakpoints, lower, upper, 0.0) == 2.5


def test_interval_when_only_one_point_is_feasible():
    linear = np.array([1.0, 1.0, 1.5])
    values = np.zeros(3)
    lower, upper = np.zeros(3), np.ones(3)
    assert intercept_interval(values, linear, lower, upper, 3.0) == (1.0, 1.0)
    assert intercept_interval(values, linear, lower, upper, 0.0) == (1.5, 1.5)
    empty = np.zeros(0)
    assert intercept_interval(empty, empty, empty, empty, 0.0) == (0.0, 0.0)


def test_members_of_no_width_do_not_move_the_interval():
    breakpoints = np.array([1.0, 2.0, 1.5])
    lower, upper = np.array([-1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    interval = intercept_interval(np.zeros(3), breakpoints, lower, upper, 0.0)
    assert interval == (1.0, 2.0)


def test_no_intercept_is_zero():
    one = np.ones(2)
    assert optimal_intercept(one, one, -one, one, None) == 0.0


@pytest.mark.parametrize(
    ("beta", "expected_equality", "expected_box"),
    [
        ([0.0, 0.0], 2.0, 1.0),  # gradient -1 may grow, gradient 1 may shrink
        ([1.0, -1.0], 0.0, 0.0),  # both at the bound they are pushed to
        ([0.5, -0.5], 2.0, 1.0),
        # (1, 0): the first can only shrink, gradient -1; the second too, gradient 1;
        # nobody can grow, so with the equality there is no pair at all.
        ([1.0, 0.0], 0.0, 1.0),
    ],
)
def test_violation_by_hand(beta, expected_equality, expected_box):
    gradient = np.array([-1.0, 1.0])
    lower, upper = np.array([0.0, -1.0]), np.array([1.0, 0.0])
    point = np.array(beta)
    with_equality = kkt_violation(point, gradient, lower, upper, True)
    assert_allclose(with_equality, expected_equality)
    assert_allclose(kkt_violation(point, gradient, lower, upper, False), expected_box)


def test_violation_of_a_fixed_point_is_zero():
    fixed = np.array([0.5, -0.5])
    gradient = np.array([-3.0, 3.0])
    assert kkt_violation(fixed, gradient, fixed, fixed, True) == 0.0
    assert kkt_violation(fixed, gradient, fixed, fixed, False) == 0.0


def test_certificate_is_frozen():
    certificate = Certificate("converged", 1.0, 1.0, 0.0, 0.0, 3, 0.1)
    with pytest.raises(AttributeError):
        certificate.gap = 0.0

"""From budget to noise and back: each scale is recomputed from its formula."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from widemargin.estimators.private.calibration import (
    concentrated_budget,
    gaussian_delta,
    gaussian_scale,
    gradient_scale,
    laplace_scale,
    objective_budget,
    spherical_scale,
)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("ratio", [0.3, 1.0, 4.0])
def test_gaussian_delta_is_the_hockey_stick_integral(epsilon, ratio):
    # delta = integral of max(p - e^epsilon q, 0) for two normals one sensitivity apart.
    def excess(x):
        p = stats.norm.pdf(x, 0.0, ratio)
        q = stats.norm.pdf(x, 1.0, ratio)
        return max(p - math.exp(epsilon) * q, 0.0)

    edge = 0.5 - epsilon * ratio**2  # where the two densities cross
    reach = 12 * ratio + abs(edge)
    integral = integrate.quad(excess, edge - reach, edge, limit=200)[0]
    assert_allclose(gaussian_delta(epsilon, ratio), integral, rtol=1e-6, atol=1e-14)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 20.0, 1e6])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
def test_gaussian_scale_is_the_smallest_that_suffices(epsilon, delta):
    sigma = gaussian_scale(epsilon, delta, 2.0)
    assert gaussian_delta(epsilon, sigma / 2.0) <= delta
    assert gaussian_delta(epsilon, sigma / 2.0 * (1 - 1e-6)) > delta


def test_gaussian_scale_agrees_with_an_accountant():
    accounting = pytest.importorskip("dp_accounting")
    event = accounting.GaussianDpEvent(gaussian_scale(1.0, 1e-5, 1.0))
    ledger = accounting.pld.PLDAccountant()
    assert_allclose(ledger.compose(event).get_epsilon(1e-5), 1.0, rtol=1e-3)


def test_classical_formula_is_not_beaten_by_less_than_it_must():
    # The textbook sigma = sqrt(2 ln(1.25/delta))/epsilon is valid and larger.
    assert gaussian_scale(1.0, 1e-5, 1.0) < math.sqrt(2 * math.log(1.25e5))


def test_pure_scales_by_hand():
    assert laplace_scale(0.5, 3.0) == 6.0
    assert spherical_scale(0.5, 3.0) == 6.0


def test_objective_budget_by_hand():
    # R = 1, h = 1/2: c = 1; C = 0.1 costs 2 ln 1.1 = 0.19062 of epsilon = 1.
    budget = objective_budget(1.0, 0.1, 1.0, 0.5)
    assert budget.cost == 0.1
    assert_allclose(budget.epsilon, 1 - 2 * math.log(1.1))
    assert_allclose(budget.scale, 2.0 / (1 - 2 * math.log(1.1)))


def test_objective_budget_lowers_a_cost_that_would_take_over_half():
    budget = objective_budget(1.0, 10.0, 2.0, 0.5)  # c = 4
    assert_allclose(budget.cost, math.expm1(0.25) / 4)
    assert_allclose(budget.epsilon, 0.5)
    assert_allclose(budget.scale, 2 * 2.0 / 0.5)


def test_concentrated_budget_inverts_its_conversion():
    for epsilon in (0.1, 1.0, 10.0):
        rho = concentrated_budget(epsilon, 1e-6)
        assert_allclose(rho + 2 * math.sqrt(rho * math.log(1e6)), epsilon)
        textbook = (math.sqrt(math.log(1e6) + epsilon) - math.sqrt(math.log(1e6))) ** 2
        assert_allclose(rho, textbook, rtol=1e-9)


def test_gradient_scale_spends_rho_exactly():
    sigma = gradient_scale(0.02, 100, 0.3)
    assert_allclose(100 * 0.3**2 / (2 * sigma**2), 0.02)


def test_analytic_calibration_survives_extremes():
    assert np.isfinite(gaussian_scale(1e-6, 1e-15, 1e-9))
    assert_allclose(gaussian_scale(1e9, 1e-5, 1.0), 1 / math.sqrt(2e9), rtol=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-5), (1.0, 0.0), (np.nan, 0.1)])
def test_a_budget_that_no_scale_meets_is_refused(epsilon, delta):
    with pytest.raises(ValueError, match="need epsilon > 0"):
        gaussian_scale(epsilon, delta, 1.0)

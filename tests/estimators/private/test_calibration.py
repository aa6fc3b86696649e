"""From budget to noise and back: each scale is recomputed from its formula."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from widemargin.estimators.private.calibration import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_scale,
    laplace_scale,
    mu_of_pure,
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


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("steps", [1, 30])
def test_gaussian_scale_agrees_with_an_accountant(epsilon, steps):
    # T releases of sensitivity 1 are one of sensitivity sqrt(T), to the digits of an
    # accountant that composes numerically and pessimistically.
    accounting = pytest.importorskip("dp_accounting")
    noise = gaussian_scale(epsilon, 1e-5, math.sqrt(steps))
    event = accounting.GaussianDpEvent(noise)
    ledger = accounting.pld.PLDAccountant().compose(event, steps)
    assert_allclose(ledger.get_epsilon(1e-5), epsilon, rtol=2e-3)


def test_a_joint_release_agrees_with_an_accountant():
    accounting = pytest.importorskip("dp_accounting")
    noises = (3.0, 5.0, 11.0)
    ledger = accounting.pld.PLDAccountant()
    for noise in noises:
        ledger.compose(accounting.GaussianDpEvent(noise))
    mu = math.sqrt(sum(noise**-2 for noise in noises))
    assert_allclose(gaussian_epsilon(mu, 1e-6), ledger.get_epsilon(1e-6), rtol=2e-3)


def test_pure_releases_beside_gaussian_ones_are_covered_by_their_mu():
    # Five randomised responses: their loss is a sum of +-epsilon, the exact delta a
    # binomial mixture of Gaussian ones.
    mu, pure, n = 0.4, 0.3, 5
    truth = 1 / (1 + math.exp(-pure))
    chances = stats.binom.pmf(range(n + 1), n, truth)
    both = math.sqrt(mu**2 + n * mu_of_pure(pure) ** 2)
    for epsilon in (0.5, 1.0, 2.0, 3.0):
        losses = [pure * (2 * right - n) for right in range(n + 1)]
        exact = sum(
            chance * gaussian_delta(epsilon - loss, 1 / mu)
            for chance, loss in zip(chances, losses, strict=True)
        )
        assert exact <= gaussian_delta(epsilon, 1 / both)


@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 0.31), (0.1, 0.56)])
def test_concentrated_accounting_would_add_noise(epsilon, share):
    # rho + 2 sqrt(rho L) = epsilon and sigma = 1 / sqrt(2 rho): valid, and wasteful.
    log_term = math.log(1e5)
    rho = (math.sqrt(log_term + epsilon) - math.sqrt(log_term)) ** 2
    wasted = 1 / math.sqrt(2 * rho) / gaussian_scale(epsilon, 1e-5, 1.0) - 1
    assert_allclose(wasted, share, atol=0.005)


@pytest.mark.parametrize("mu", [1e-3, 0.3, 1.0, 6.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
def test_mu_and_epsilon_invert_each_other(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_delta(epsilon, 1 / mu) <= delta
    if epsilon > 0:
        assert_allclose(gaussian_mu(epsilon, delta), mu, rtol=1e-8)
        assert gaussian_delta(epsilon * (1 - 1e-6), 1 / mu) > delta


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0])
def test_mu_of_pure_covers_randomised_response_and_no_less_would(epsilon):
    # Trade-off curves: least missed share at each false-alarm rate.
    alarms = np.linspace(1e-6, 1 - 1e-6, 2001)
    pure = np.maximum(1 - np.exp(epsilon) * alarms, np.exp(-epsilon) * (1 - alarms))

    def gaussian(mu):
        return stats.norm.cdf(stats.norm.isf(alarms) - mu)

    corner = 1 / (1 + math.exp(epsilon))
    mu = mu_of_pure(epsilon)
    assert (gaussian(mu) <= pure + 1e-12).all()
    assert_allclose(stats.norm.cdf(stats.norm.isf(corner) - mu), corner, rtol=1e-9)


def test_classical_formula_is_not_beaten_by_less_than_it_must():
    # The textbook sigma = sqrt(2 ln(1.25/delta))/epsilon is valid and larger.
    assert gaussian_scale(1.0, 1e-5, 1.0) < math.sqrt(2 * math.log(1.25e5))


def test_pure_scales_by_hand():
    assert laplace_scale(0.5, 3.0) == 6.0
    assert spherical_scale(0.5, 3.0) == 6.0


def test_objective_budget_by_hand():
    # R = 1, h = 1/2: c = 1; C = 0.1 costs ln 1.1 = 0.09531 of epsilon = 1.
    budget = objective_budget(1.0, 0.1, 1.0, 0.5)
    assert budget.cost == 0.1
    assert_allclose(budget.epsilon, 1 - math.log(1.1))
    assert_allclose(budget.scale, 2.0 / (1 - math.log(1.1)))
    group = objective_budget(1.0, 0.1, 1.0, 0.5, group_size=3)
    assert_allclose(group.epsilon, 1 - 3 * math.log(1.1))
    assert_allclose(group.scale, 6.0 / (1 - 3 * math.log(1.1)))


def test_objective_budget_lowers_a_cost_that_would_take_over_half():
    budget = objective_budget(1.0, 10.0, 2.0, 0.5)  # c = 4
    assert_allclose(budget.cost, math.expm1(0.5) / 4)
    assert_allclose(budget.epsilon, 0.5)
    assert_allclose(budget.scale, 2 * 2.0 / 0.5)
    group = objective_budget(1.0, 10.0, 2.0, 0.5, group_size=2)
    assert_allclose(group.epsilon, 0.5)


def test_one_record_changes_the_determinant_by_one_factor(global_random_seed):
    # det(M + A) / det(M + B) for rank-one A, B of at most C c and M >= I: both ways
    # below 1 + C c, and near it for some; two factors would be a square.
    rng = np.random.default_rng(global_random_seed)
    ratios = []
    for _ in range(2000):
        d, most = int(rng.integers(1, 6)), 10 ** rng.uniform(-2, 2)
        roots = rng.normal(size=(int(rng.integers(0, 4)), d))
        shared = np.eye(d) + roots.T @ roots
        determinants = []
        for _ in range(2):
            x = rng.normal(size=d)
            x *= math.sqrt(most * rng.choice([0.0, rng.random(), 1.0])) / math.sqrt(
                x @ x
            )
            determinants.append(np.linalg.det(shared + np.outer(x, x)))
        ratio = max(determinants) / min(determinants)
        ratios.append((ratio - 1) / most)
    assert max(ratios) <= 1 + 1e-9
    assert max(ratios) > 0.99


def test_analytic_calibration_survives_extremes():
    assert np.isfinite(gaussian_scale(1e-6, 1e-15, 1e-9))
    assert_allclose(gaussian_scale(1e9, 1e-5, 1.0), 1 / math.sqrt(2e9), rtol=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 1e-5), (1.0, 0.0), (np.nan, 0.1)])
def test_a_budget_that_no_scale_meets_is_refused(epsilon, delta):
    with pytest.raises(ValueError, match="need epsilon > 0"):
        gaussian_scale(epsilon, delta, 1.0)

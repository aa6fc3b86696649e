"""The three mechanisms: densities, scales recomputed from the formulas, limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from widemargin.private import huber
from widemargin.private.calibration import gaussian_scale
from widemargin.private.hinge import minimise_hinge
from widemargin.private.huber import minimise_huber, slope
from widemargin.private.mechanisms import (
    GradientMechanism,
    ObjectiveMechanism,
    OutputMechanism,
    Public,
)
from widemargin.private.noise import SeededNoise

from tests.private.silent import Silent

PUBLIC = Public(
    epsilon=0.8,
    delta=1e-6,
    cost=0.2,
    weight=1.5,
    radius=2.0,
    dimension=9,
    adjacency="replace",
)
LARGEST = 0.2 * 1.5
TAU = 1e-6 * (2 * LARGEST * 2.0) ** 2
DELTA = 2 * LARGEST * 2.0 + 2 * math.sqrt(2 * TAU)


def data(rng, n=40, d=3):
    X = rng.normal(size=(n, d))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    return X, rng.choice([-1.0, 1.0], size=n)


def test_output_noise_scales_from_the_formulas():
    gaussian = OutputMechanism.plan(PUBLIC, "gaussian", 1e-6)
    assert_allclose(gaussian.gap, TAU)
    assert_allclose(gaussian.sensitivity, DELTA)
    assert_allclose(gaussian.scale, gaussian_scale(0.8, 1e-6, DELTA))
    laplace = OutputMechanism.plan(PUBLIC, "laplace", 1e-6)
    assert_allclose(laplace.scale, math.sqrt(9) * DELTA / 0.8)
    spherical = OutputMechanism.plan(PUBLIC, "spherical", 1e-6)
    assert_allclose(spherical.scale, DELTA / 0.8)
    assert (laplace.delta, spherical.delta, gaussian.delta) == (0.0, 0.0, 1e-6)


def test_add_remove_halves_the_sensitivity():
    halved = OutputMechanism.plan(
        PUBLIC._replace(adjacency="add-remove"), "laplace", 0.0
    )
    assert_allclose(halved.sensitivity, LARGEST * 2.0)


def test_gradient_noise_scale_from_the_formula():
    plan = GradientMechanism.plan(PUBLIC, 0.5, n_steps=25, n_samples=400)
    log_term = math.log(1e6)
    rho = (math.sqrt(log_term + 0.8) - math.sqrt(log_term)) ** 2
    sensitivity = 2 * 1.5 * 2.0 / 400
    assert_allclose(plan.sensitivity, sensitivity)
    assert_allclose(plan.scale, math.sqrt(25 * sensitivity**2 / (2 * rho)))


def test_objective_plan_uses_the_largest_cost():
    plan = ObjectiveMechanism.plan(PUBLIC, 0.5, n_samples=400)
    curvature = 2.0**2 / (2 * 0.5)
    capped = math.expm1(0.8 / 4) / curvature
    assert plan.largest == pytest.approx(min(LARGEST, capped))
    assert plan.cost == pytest.approx(plan.largest / 1.5)
    assert plan.scale == pytest.approx(2 * 2.0 / 0.4)
    accuracy = plan.largest * (1e-10 * plan.scale + 1e-13 * 400 * 2.0)
    assert plan.accuracy == pytest.approx(accuracy)


def log_density(plan, points, X, y, weights):
    """Density of the objective mechanism's release in one dimension, by hand.

    The release w belongs to the noise b(w) = -(w - sum c s y x) / C, strictly monotone:
    density = Laplace(b(w)) |b'(w)|.
    """
    costs = plan.cost * weights
    room = 1 - points[:, None] * (y * X)
    noise = -(points - (costs * slope(room, plan.width) * y * X).sum(axis=1))
    bent = np.abs(room) < plan.width
    stiffness = 1 + (costs * X**2 / (2 * plan.width) * bent).sum(axis=1)
    law = -np.abs(noise / plan.largest) / plan.scale  # up to a constant
    return law + np.log(stiffness / plan.largest)


def test_objective_density_ratio_stays_below_epsilon(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    ratios = []
    for _ in range(3000):
        n = int(rng.integers(1, 9))
        epsilon, radius = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-0.5, 0.5)
        public = Public(
            epsilon, 0.0, 10 ** rng.uniform(-2, 1), 1.0, radius, 1, "replace"
        )
        plan = ObjectiveMechanism.plan(public, float(rng.uniform(0.05, 0.95)), n)
        X, y = radius * rng.uniform(-1, 1, size=n), rng.choice([-1.0, 1.0], size=n)
        other_X, other_y = X.copy(), y.copy()
        other_X[0], other_y[0] = radius * rng.choice([-1.0, 1.0]), -y[0]
        reach = 10 * plan.cost * radius * n + 20 * plan.largest * plan.scale
        points = np.concatenate(
            [rng.uniform(-reach, reach, 200), rng.uniform(-2, 2, 200) / radius]
        )
        ones = np.ones(n)
        ratio = log_density(plan, points, X, y, ones) - log_density(
            plan, points, other_X, other_y, ones
        )
        ratios.append(np.abs(ratio).max() / epsilon)
    assert max(ratios) <= 1 + 1e-9
    assert max(ratios) > 0.9


def test_objective_release_follows_that_density():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=12), rng.choice([-1.0, 1.0], size=12)
    public = Public(1.0, 0.0, 0.1, 1.0, 1.0, 1, "replace")
    plan = ObjectiveMechanism.plan(public, 0.5, 12)
    source, ones = SeededNoise(1), np.ones(12)
    draws = [plan.release(X[:, None], y, ones, source)[0] for _ in range(1500)]

    def distribution(points):
        points = np.atleast_1d(points)
        pulls = plan.cost * slope(1 - points[:, None] * (y * X), 0.5) * y * X
        noise = -(points - pulls.sum(axis=1)) / plan.largest
        return stats.laplace(scale=plan.scale).sf(noise)

    # False-alarm rate 1e-4 if the seed were fresh.
    assert stats.kstest(draws, distribution).pvalue > 1e-4


def test_objective_release_is_minimised_to_1e_10(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, y = data(rng)
    linear, costs = rng.normal(size=3), np.full(40, 0.3)
    w = minimise_huber(X, y, costs, 0.5, linear, 1e-10)
    gradient = w - X.T @ (costs * y * slope(1 - y * (X @ w), 0.5)) + linear
    assert np.linalg.norm(gradient) <= 1e-10


def test_a_huber_solve_that_rounding_stops_goes_on(monkeypatch):
    # A narrow corner magnifies the rounding of the margins: plain floats end above the
    # tolerance, and the solve goes on from there with exact rooms.
    X, y = data(np.random.default_rng(0), 400)
    linear, costs, tolerance = np.array([-1.0, 2.0, 3.0]), np.ones(400), 4e-12
    exact, real = [], huber.sums_of_products

    def counted(*arguments):
        exact.append(real(*arguments))
        return exact[-1]

    monkeypatch.setattr(huber, "sums_of_products", counted)
    w = minimise_huber(X, y, costs, 1e-6, linear, tolerance)
    assert exact
    coarse = minimise_huber(X, y, costs, 1e-6, linear, 1e6 * tolerance)
    assert np.linalg.norm(w - coarse) <= 1.1e6 * tolerance


@pytest.mark.parametrize("law", ["gaussian", "laplace", "spherical"])
def test_output_without_noise_is_the_hinge_minimiser(law, global_random_seed):
    X, y = data(np.random.default_rng(global_random_seed))
    plan = OutputMechanism.plan(PUBLIC, law, 1e-10)
    released = plan.release(X, y, np.ones(40), Silent())
    best = minimise_hinge(X, y, np.full(40, 0.2), 1e-14)
    assert np.linalg.norm(released - best) <= math.sqrt(2 * plan.gap)


def test_gradient_without_noise_descends_to_the_huber_minimiser(global_random_seed):
    X, y = data(np.random.default_rng(global_random_seed))
    plan = GradientMechanism.plan(PUBLIC._replace(weight=1.0), 0.5, 4000, 40)
    released = plan.release(X, y, np.ones(40), Silent())
    best = minimise_huber(X, y, np.full(40, 0.2), 0.5, np.zeros(3), 1e-10)
    assert_allclose(released, best, atol=1e-6)


def test_gradient_asks_for_noise_once_a_step(global_random_seed):
    X, y = data(np.random.default_rng(global_random_seed))
    asked = []

    class Counting(Silent):
        def gaussian(self, values, scale):
            asked.append(scale)
            return values

    plan = GradientMechanism.plan(PUBLIC, 0.5, 17, 40)
    plan.release(X, y, np.ones(40), Counting())
    assert asked == [plan.scale] * 17

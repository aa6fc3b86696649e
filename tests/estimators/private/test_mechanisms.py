"""The three mechanisms: densities, scales recomputed from the formulas, limits."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from widemargin.estimators.private import huber_minimum, mechanisms
from widemargin.estimators.private.calibration import gaussian_mu, gaussian_scale
from widemargin.estimators.private.hinge import minimise_hinge
from widemargin.estimators.private.huber import room_rounding, slope
from widemargin.estimators.private.huber_minimum import distance_bound, minimise_huber
from widemargin.estimators.private.mechanisms import (
    COVER_SHARE,
    GradientMechanism,
    ObjectiveMechanism,
    OutputMechanism,
    Public,
)
from widemargin.estimators.private.noise import SeededNoise

from tests.estimators.private.silent import Silent

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
    gaussian = OutputMechanism.plan(PUBLIC, "gaussian", 1e-6, 400)
    assert_allclose(gaussian.gap, TAU)
    assert_allclose(gaussian.sensitivity, DELTA)
    assert_allclose(gaussian.scale, gaussian_scale(0.8, 1e-6, DELTA))
    laplace = OutputMechanism.plan(PUBLIC, "laplace", 1e-6, 400)
    assert_allclose(laplace.scale, math.sqrt(9) * DELTA / 0.8)
    spherical = OutputMechanism.plan(PUBLIC, "spherical", 1e-6, 400)
    assert_allclose(spherical.scale, DELTA / 0.8)
    assert (laplace.delta, spherical.delta, gaussian.delta) == (0.0, 0.0, 1e-6)


def test_add_remove_halves_the_sensitivity():
    halved = OutputMechanism.plan(
        PUBLIC._replace(adjacency="add-remove"), "laplace", 0.0, None
    )
    assert_allclose(halved.sensitivity, LARGEST * 2.0)


def test_gradient_noise_scale_from_the_formula():
    plan = GradientMechanism.plan(PUBLIC, 0.5, n_steps=25, n_samples=400)
    sensitivity = 2 * 1.5 * 2.0 / 400
    assert_allclose(plan.sensitivity, sensitivity)
    assert_allclose(plan.scale, gaussian_scale(0.8, 1e-6, 5 * sensitivity))
    assert_allclose(plan.price.mu, gaussian_mu(0.8, 1e-6))


def plans(public, n_samples=400):
    return {
        "gaussian": OutputMechanism.plan(public, "gaussian", 1e-6, n_samples),
        "laplace": OutputMechanism.plan(public, "laplace", 1e-6, n_samples),
        "spherical": OutputMechanism.plan(public, "spherical", 1e-6, n_samples),
        "objective": ObjectiveMechanism.plan(public, 0.5, n_samples),
        "gradient": GradientMechanism.plan(public, 0.5, 30, n_samples),
    }


def test_steps_follow_from_the_noise_and_cost_nothing_more():
    # Ten over the noise-to-signal ratio, within 5 and 100, at the same price.
    fixed = GradientMechanism.plan(PUBLIC, 0.5, 30, 400)
    steps = {}
    for n_samples in (4, 400, 10**6):
        plan = GradientMechanism.plan(PUBLIC, 0.5, None, n_samples)
        assert_allclose(plan.price, fixed.price)
        ratio = GradientMechanism.plan(PUBLIC, 0.5, 7, n_samples).noise_to_signal
        assert_allclose(plan.noise_to_signal, ratio)
        steps[n_samples] = plan.n_steps
        assert plan.n_steps == round(min(max(10 / ratio, 5), 100))
    assert steps[4] == 5 < steps[400] < 100 == steps[10**6]


def test_several_classes_are_one_gaussian_release():
    # sqrt(k) times the noise, k times for the laws without delta, at the same price.
    one, nine = plans(PUBLIC), plans(PUBLIC._replace(n_problems=9))
    for name in ("gaussian", "gradient"):
        assert_allclose(nine[name].scale, 3 * one[name].scale)
    for name in ("laplace", "spherical"):
        assert_allclose(nine[name].scale, 9 * one[name].scale)
    assert_allclose(nine["objective"].noise_epsilon, 0.999 * 0.8 / 9 / 2)
    for name, plan in nine.items():
        assert_allclose(plan.price, one[name].price)
        assert plan.price.mu * plan.price.epsilon == 0.0
        assert plan.price.epsilon in (0.0, 0.8)


def test_a_group_multiplies_what_a_record_can_do():
    tiny = PUBLIC._replace(cost=1e-4)  # below the cap of "objective"
    one, five = plans(tiny), plans(tiny._replace(group_size=5))
    for name in ("gaussian", "laplace", "spherical", "gradient"):
        assert_allclose(five[name].scale, 5 * one[name].scale)
        assert_allclose(five[name].sensitivity, 5 * one[name].sensitivity)
    bent = math.log1p(five["objective"].largest * 4.0)
    assert_allclose(five["objective"].noise_epsilon, 0.999 * 0.8 - 5 * bent)
    scale = 5 * 2 * 2.0 / five["objective"].noise_epsilon
    assert_allclose(five["objective"].scale, scale)


def test_noise_to_signal_by_hand():
    found = plans(PUBLIC)
    output = found["gaussian"].scale * 2.0  # a row as long as R; the margin is 1
    assert_allclose(found["gaussian"].noise_to_signal, output)
    assert_allclose(
        found["laplace"].noise_to_signal, math.sqrt(2) * found["laplace"].scale * 2
    )
    assert_allclose(
        found["spherical"].noise_to_signal, math.sqrt(10) * found["spherical"].scale * 2
    )
    few = plans(PUBLIC._replace(cost=1e-4), n_samples=10)["gaussian"]
    assert_allclose(few.noise_to_signal, few.scale * 2 / (10 * 1.5e-4 * 4))
    hidden = OutputMechanism.plan(PUBLIC, "gaussian", 1e-6, None)
    assert hidden.noise_to_signal == found["gaussian"].noise_to_signal
    linear = 9 * found["objective"].scale  # mean length, against 400 pulls of R each
    assert_allclose(found["objective"].noise_to_signal, linear / (400 * 2.0 / 2))
    left = found["gradient"].scale * 3 / math.sqrt(30)  # 9 coordinates, 30 steps
    assert_allclose(found["gradient"].noise_to_signal, left / (1.5 * 2.0 / 2))


def test_objective_plan_uses_the_largest_cost():
    plan = ObjectiveMechanism.plan(PUBLIC, 0.5, n_samples=400)
    curvature = 2.0**2 / (2 * 0.5)
    of_noise = 0.999 * 0.8  # the rest covers the distance from the minimum
    capped = math.expm1(of_noise / 2) / curvature
    assert plan.largest == pytest.approx(min(LARGEST, capped))
    assert plan.cost == pytest.approx(plan.largest / 1.5)
    assert plan.scale == pytest.approx(2 * 2.0 / (of_noise / 2))
    distance = plan.largest * (1e-12 * 9 * plan.scale + 1e-13 * 400 * 2.0)
    assert plan.distance == pytest.approx(distance)
    assert plan.cover == pytest.approx(2 * distance / (0.001 * 0.8))


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
    draws = [plan.release(X[:, None], y, ones, source).weights[0] for _ in range(1500)]

    def distribution(points):
        points = np.atleast_1d(points)
        pulls = plan.cost * slope(1 - points[:, None] * (y * X), 0.5) * y * X
        noise = -(points - pulls.sum(axis=1)) / plan.largest
        return stats.laplace(scale=plan.scale).sf(noise)

    # False-alarm rate 1e-4 if the seed were fresh.
    assert stats.kstest(draws, distribution).pvalue > 1e-4


def fractions(values):
    return [Fraction(value) for value in values.tolist()]


def solved(matrix, right):
    """Solve a positive definite system in rational arithmetic."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k, pivot in enumerate(rows):
        rows[k] = pivot = [value / pivot[k] for value in pivot]
        for i, row in enumerate(rows):
            if i != k:
                rows[i] = [a - row[k] * b for a, b in zip(row, pivot, strict=True)]
    return [row[-1] for row in rows]


def exact_distance(X, y, costs, width, linear, w):
    """Distance of w from the exact minimiser, by Newton's method without rounding.

    The gradient is piecewise linear: once the pieces are right, which they nearly are
    at a good start, it is exactly zero.
    """
    rows, half = [fractions(row) for row in X], Fraction(width)
    labels, prices = fractions(y), fractions(costs)
    total = np.linalg.norm(linear) + costs @ np.linalg.norm(X, axis=1)
    near, _ = minimise_huber(X, y, costs, width, linear, 1e-13 * total)
    point, term, size = fractions(near), fractions(linear), range(len(near))
    for _ in range(20):
        gradient = [a + b for a, b in zip(point, term, strict=True)]
        hessian = [[Fraction(i == j) for j in size] for i in size]
        for row, sign, cost in zip(rows, labels, prices, strict=True):
            room = 1 - sign * sum(a * b for a, b in zip(row, point, strict=True))
            share = Fraction(1, 2) + room / (2 * half)
            if 0 < share < 1:
                for i in size:
                    for j in size:
                        hessian[i][j] += cost / (2 * half) * row[i] * row[j]
            pull = cost * sign * min(max(share, Fraction(0)), Fraction(1))
            gradient = [g - pull * x for g, x in zip(gradient, row, strict=True)]
        if not any(gradient):
            apart = (a - b for a, b in zip(point, fractions(w), strict=True))
            return math.sqrt(sum(gap * gap for gap in apart))
        step = solved(hessian, gradient)
        point = [a - b for a, b in zip(point, step, strict=True)]
    raise AssertionError("Newton's method goes round in circles")


def awkward(rng, kind):
    """A Huber problem with records that are hard on rounding."""
    n, d = int(rng.integers(2, 80)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    if kind == "copies":
        X = X[rng.integers(min(n, 4), size=n)]
    elif kind == "lengths":
        X *= 10 ** rng.uniform(-8, 0, size=(n, 1))
    X /= max(1.0, np.linalg.norm(X, axis=1).max())
    width = 0.5 if kind == "wide" else 10 ** rng.uniform(-6, -0.1)
    costs = 10 ** rng.uniform(-3, 3) * rng.choice([0.1, 1.0], size=n)
    linear = costs.max() * rng.normal(size=d) * 10 ** rng.uniform(-3, 3)
    return X, rng.choice([-1.0, 1.0], size=n), costs, width, linear


@pytest.mark.parametrize("kind", ["wide", "narrow", "copies", "lengths"])
def test_the_distance_stated_is_at_least_the_true_one(kind, global_random_seed):
    # Also where the solve is cut short, and where plain floats do not get near.
    rng = np.random.default_rng(global_random_seed)
    ratios = []
    for tolerance in (1e-4, 1e-8, 1e-12, 1e-12, 1e-13, 1e-14):
        problem = awkward(rng, kind)
        X, _, costs, _, linear = problem
        size = np.linalg.norm(linear) + costs @ np.linalg.norm(X, axis=1)
        w, stated = minimise_huber(*problem, tolerance * size)
        true = exact_distance(*problem, w)
        assert true <= stated
        if tolerance >= 1e-12:
            assert stated <= tolerance * size
        ratios.append(stated / (true + 1e-16 * size))
    assert np.median(ratios) < 1e3  # not a bound for show


def test_the_bound_holds_far_from_the_minimum(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, y, costs, width, linear = problem = awkward(rng, "wide")
    w, lengths = rng.normal(size=X.shape[1]), np.linalg.norm(X, axis=1)
    room = 1 - y * (X @ w)
    error = room_rounding(X, w, lengths)
    stated = distance_bound(X, y, costs, width, (w, linear), room, error, lengths)
    gradient = w + linear - X.T @ (costs * y * slope(room, width))
    assert exact_distance(*problem, w) <= stated
    assert stated <= 1.02 * np.linalg.norm(gradient)


def test_a_huber_solve_that_rounding_stops_goes_on(monkeypatch):
    # A narrow corner magnifies the rounding of the margins: plain floats end above the
    # tolerance, and the solve goes on from there with exact rooms.
    X, y = data(np.random.default_rng(0), 400)
    linear, costs, tolerance = np.array([-1.0, 2.0, 3.0]), np.ones(400), 1e-11
    exact, real = [], huber_minimum.sums_of_products

    def counted(*arguments):
        exact.append(real(*arguments))
        return exact[-1]

    monkeypatch.setattr(huber_minimum, "sums_of_products", counted)
    w, stated = minimise_huber(X, y, costs, 1e-6, linear, tolerance)
    assert exact and stated <= tolerance
    assert exact_distance(X, y, costs, 1e-6, linear, w) <= stated


def test_what_floating_point_cannot_reach_is_said(monkeypatch):
    # No point of the floats is that near: the solve ends, and its bound says so.
    X, y = data(np.random.default_rng(0), 400)
    linear, costs = np.array([-1.0, 2.0, 3.0]), np.ones(400)
    w, stated = minimise_huber(X, y, costs, 0.5, linear, 1e-20)
    true = exact_distance(X, y, costs, 0.5, linear, w)
    assert true <= stated < 1e-10 and stated > 1e-20
    plan = ObjectiveMechanism.plan(PUBLIC._replace(dimension=3), 0.5, 400)
    plan = replace(plan, distance=1e-20)
    assert not plan.release(X, y, np.ones(400), SeededNoise(0)).proven


def test_noise_covers_the_distance_from_the_minimum(monkeypatch):
    # Two solvers' ends, each anywhere within the distance, stay within COVER_SHARE of
    # epsilon: the cover's density at points 2 r apart.
    X, y = data(np.random.default_rng(0))
    plan = ObjectiveMechanism.plan(PUBLIC._replace(dimension=3), 0.5, 40)
    assert 2 * plan.distance / plan.cover == pytest.approx(COVER_SHARE * 0.8)
    drawn = []

    class Noting(SeededNoise):
        def spherical(self, dimension, scale):
            drawn.append((super().spherical(dimension, scale), scale))
            return drawn[-1][0]

    ends = []
    real = huber_minimum.minimise_huber

    def noted(*arguments):
        ends.append(real(*arguments))
        return ends[-1]

    monkeypatch.setattr(mechanisms, "minimise_huber", noted)
    release = plan.release(X, y, np.ones(40), Noting(3))
    (_, first), (cover, second) = drawn
    assert (first, second) == (plan.scale, plan.cover)
    assert_array_equal(release.weights, ends[0][0] + cover)
    assert release.proven and ends[0][1] <= plan.distance
    assert np.linalg.norm(cover) < 1e-6 * plan.largest * plan.scale  # costs nothing


@pytest.mark.parametrize("law", ["gaussian", "laplace", "spherical"])
def test_output_without_noise_is_the_hinge_minimiser(law, global_random_seed):
    X, y = data(np.random.default_rng(global_random_seed))
    plan = OutputMechanism.plan(PUBLIC, law, 1e-10, 40)
    released = plan.release(X, y, np.ones(40), Silent()).weights
    best = minimise_hinge(X, y, np.full(40, 0.2), 1e-14)
    assert np.linalg.norm(released - best) <= math.sqrt(2 * plan.gap)


def test_gradient_without_noise_descends_to_the_huber_minimiser(global_random_seed):
    X, y = data(np.random.default_rng(global_random_seed))
    plan = GradientMechanism.plan(PUBLIC._replace(weight=1.0), 0.5, 4000, 40)
    released = plan.release(X, y, np.ones(40), Silent()).weights
    best, _ = minimise_huber(X, y, np.full(40, 0.2), 0.5, np.zeros(3), 1e-10)
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

"""NuSVR: a generic solver, scikit-learn's answers, SVR at its epsilon, corners."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import svm

import widemargin
from widemargin import SVR, NuSVR

from tests.estimators.solved_ways import assert_every_way_is_certified
from tests.estimators.stopped_fits import (
    assert_ctrl_c_leaves_the_point_reached,
    assert_limits_leave_a_certified_model,
)
from tests.layouts import assert_same_in_every_layout
from tests.oracles.expansions import assert_answers_of, outputs
from tests.oracles.nu_problems import long_kernel, nu_optimum, svr_objective
from tests.problems import noisy_curve as data

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.4},
    {"kernel": "poly", "gamma": 0.4, "coef0": 1.0, "degree": 2},
]


def own_objective(model, X, y, weights):
    """Return the objective of the stored model, in long double."""
    beta, b = next(outputs(model, len(y)))
    K, costs = long_kernel(model, X), model.C * weights
    return svr_objective(K, y, costs, model.nu, beta, b, model.epsilon_)


@pytest.mark.parametrize("seed", range(20))
def test_objective_is_that_of_a_generic_solver_and_the_certificate_is_true(seed):
    X, y, weights = data(seed, 25 + seed)
    nu, intercept = (0.2, 0.5, 0.8, 1.0)[seed % 4], seed % 5 != 0
    settings = {"nu": nu, "C": 2.0, "fit_intercept": intercept, **KERNELS[seed % 3]}
    model = NuSVR(**settings).fit(X, y, weights)
    K, costs = np.asarray(long_kernel(model, X), dtype=float), 2.0 * weights
    best = nu_optimum(
        K, y, -costs, costs, nu * costs.sum(), at_least=False, fit_intercept=intercept
    )
    certificate, reached = model.certificate_, own_objective(model, X, y, weights)
    assert certificate.status == "polished"
    assert_allclose(float(reached), best, rtol=1e-8, atol=1e-8)
    assert_allclose(certificate.objective, best, rtol=1e-8, atol=1e-8)
    assert certificate.bound <= reached <= certificate.objective
    assert certificate.gap <= 1e-8 * max(1.0, abs(best))


@pytest.mark.parametrize("seed", range(20))
def test_answers_are_those_of_scikit_learn(seed):
    X, y, weights = data(seed, 150)
    settings = {"C": (0.5, 3.0)[seed % 2], "nu": (0.2, 0.5, 0.9)[seed // 3 % 3]}
    settings |= KERNELS[seed % 3]
    weights = weights if seed % 2 else None
    model = NuSVR(**settings).fit(X, y, weights)
    peer = svm.NuSVR(tol=1e-10, **settings).fit(X, y, weights)
    full = np.zeros(150)
    full[peer.support_] = peer.dual_coef_[0]
    K = np.asarray(long_kernel(model, X), dtype=float)
    theirs = y @ full - 0.5 * full @ K @ full
    assert_allclose(model.certificate_.bound, theirs, rtol=1e-7)
    assert_answers_of(peer, model, X, atol=5e-4)


@pytest.mark.parametrize("settings", KERNELS)
def test_it_is_svr_at_the_epsilon_found(settings):
    X, y, weights = data(3, 120)
    model = NuSVR(nu=0.3, C=2.0, **settings).fit(X, y, weights)
    same = SVR(epsilon=model.epsilon_, C=2.0, **settings).fit(X, y, weights)
    assert_allclose(model.predict(X), same.predict(X), atol=1e-7)
    errors = np.abs(y - model.predict(X))
    outside = weights[errors > model.epsilon_ + 1e-9].sum() / weights.sum()
    support = weights[model.support_].sum() / weights.sum()
    assert outside <= 0.3 <= support


def test_slack_in_the_sum_leaves_no_tube():
    # without noise and with a large C the curve meets every target: nothing is outside
    X = np.linspace(0, 6, 40)[:, None]
    y = np.sin(X[:, 0])
    model = NuSVR(nu=0.9, C=100.0, gamma=1.0).fit(X, y)
    spent = np.abs(model.dual_coef_).sum()
    assert model.epsilon_ == 0.0 and spent < 0.9 * 0.9 * 100.0 * 40
    K = np.asarray(long_kernel(model, X), dtype=float)
    costs = np.full(40, 100.0)
    best = nu_optimum(K, y, -costs, costs, 0.9 * costs.sum(), at_least=False)
    assert_allclose(model.certificate_.objective, best, rtol=1e-7, atol=1e-7)
    assert model.certificate_.bound <= own_objective(model, X, y, np.ones(40))


def test_every_kind_of_samples_gives_the_same_model(tmp_path):
    X, y, _ = data(4, 80)
    X[X < 0.3] = 0.0
    first, expected = assert_same_in_every_layout(NuSVR(), X, y, single=1e-4)
    widemargin.save(first, tmp_path / "model")
    again = widemargin.load(tmp_path / "model")
    assert_array_equal(again.predict(X), expected)
    assert again.epsilon_ == first.epsilon_


def test_a_large_fit_is_certified_however_it_is_solved():
    X, y, _ = data(6, 3000)
    models = assert_every_way_is_certified(NuSVR(), X, y)
    objective = own_objective(models[0], X, y, np.ones(3000))
    for model in models:
        assert model.certificate_.bound <= objective
        assert_allclose(model.certificate_.objective, float(objective), rtol=1e-3)


def test_a_limit_leaves_a_certified_model():
    X, y, _ = data(8, 2200)
    judged = partial(own_objective, X=X, y=y, weights=np.ones(2200))
    assert_limits_leave_a_certified_model(NuSVR(C=10.0), X, y, judged)


def test_ctrl_c_leaves_the_point_reached(press):
    X, y, _ = data(8, 2200)
    judged = partial(own_objective, X=X, y=y, weights=np.ones(2200))
    assert_ctrl_c_leaves_the_point_reached(NuSVR(C=1e3), X, y, judged, press())


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.5])
def test_a_nu_that_cannot_be(nu):
    X, y, _ = data(0, 20)
    with pytest.raises(ValueError, match="'nu' parameter"):
        NuSVR(nu=nu).fit(X, y)


def test_constant_targets_one_row_and_huge_targets():
    X, y, _ = data(0, 40)
    constant = NuSVR().fit(X, np.full(40, 7.0))
    assert constant.epsilon_ == 0.0
    assert_allclose(constant.predict(X), 7.0, atol=1e-12)
    assert_allclose(NuSVR().fit(X[:1], y[:1]).predict(X), y[0], atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it converges
        model = NuSVR(gamma=0.5, tol=1e3, C=1e12).fit(X, 1e12 * y)
    small = NuSVR(gamma=0.5).fit(X, y)
    assert_allclose(model.predict(X), 1e12 * small.predict(X), rtol=1e-6)
    assert_allclose(model.epsilon_, 1e12 * small.epsilon_, rtol=1e-6)


def test_sums_beyond_single_precision_have_a_reason():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((28, 1)), rng.standard_normal(28)
    X[0] = 10.0 ** rng.uniform(8, 9)
    model = NuSVR(kernel="poly", degree=2, gamma=8.0, C=100.0, nu=2 / 3)
    with pytest.raises(ValueError, match="may contain large values"):
        model.fit(X, y, 10.0 ** rng.uniform(-3, 3, 28))


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_unscaled_features_of_a_linear_kernel(nu):
    """Steps that keep both sums creep there; the search follows paths."""
    rng = np.random.default_rng(4)
    X = 300.0 * rng.standard_normal((300, 6))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(300)
    model = NuSVR(kernel="linear", C=100.0, nu=nu).fit(X, y)
    assert model.fit_status_ == 0
    certificate = model.certificate_
    assert certificate.gap <= 1e-3 * certificate.objective
    assert certificate.n_iter < 5000 * y.size


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_pair_steps_that_creep_leave_it_to_a_search_with_every_kernel(kernel):
    """Equal rows, opposite residuals, a large C: 10,000 steps a row, then a stall."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    y = X[:, 0] + rng.normal(size=40)
    model = NuSVR(C=1e6, kernel=kernel, degree=2, coef0=1.0).fit(X, y)
    assert model.fit_status_ == 0
    certificate = model.certificate_
    assert certificate.gap <= 1e-5 * certificate.objective
    assert certificate.n_iter < 8000 * y.size


def test_targets_far_below_the_tolerance_are_left_to_pair_steps():
    """Whatever the multiplier, a solve of the search ends at the origin."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = 1e-5 * (X[:, 0] + 0.3 * rng.normal(size=80))
    model = NuSVR(kernel="rbf", gamma=1.4, C=515.0, nu=0.1).fit(X, y)
    assert model.fit_status_ == 0
    assert np.ptp(model.predict(X)) > 0.5 * np.ptp(y)

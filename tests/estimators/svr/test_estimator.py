"""Support vector regression: oracles, scikit-learn's answers, identities, corners."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import svm
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.preprocessing import scale

from widemargin import SVR, QuantileSVR
from widemargin.engine.split_variables import two_sides
from widemargin.estimators.svr import tube_terms

from tests.certified import kernel_matrix
from tests.estimators.solved_ways import assert_every_way_is_certified
from tests.layouts import assert_same_in_every_layout
from tests.oracles.expansions import assert_answers_of, assert_judged, outputs
from tests.oracles.generic_qp import solve_clarabel
from tests.problems import noisy_curve as data

KERNELS = ["linear", "rbf", "poly"]


def primal(model, X, y, costs):
    """Return the objective of the regression by its definition."""
    beta, intercept = next(outputs(model, len(y)))
    f = kernel_matrix(model._kernel, X) @ beta
    loss = np.maximum(np.abs(y - f - intercept) - model.epsilon, 0.0)
    return 0.5 * beta @ f + costs @ loss


@pytest.mark.parametrize("seed", range(20))
def test_objective_is_that_of_a_generic_solver_and_the_certificate_is_true(seed):
    X, y, weights = data(seed, 25 + seed)
    epsilon, intercept = (0.05, 0.3, 1.0, 1e-3)[seed % 4], seed % 5 != 0
    model = SVR(
        C=2.0, epsilon=epsilon, kernel=KERNELS[seed % 3], gamma=0.4, coef0=1.0,
        degree=2, fit_intercept=intercept,
    ).fit(X, y, weights)  # fmt: skip
    costs = 2.0 * weights
    terms = tube_terms(y, costs, epsilon, 0.0 if intercept else None)
    sides = two_sides(terms.linear, terms.lower, terms.upper, terms.kink)
    K = np.tile(kernel_matrix(model._kernel, X), (2, 2))
    best = solve_clarabel(K, *sides, terms.total)
    optimum = -(0.5 * best @ K @ best - sides[0] @ best)
    certificate = model.certificate_
    assert_allclose(certificate.objective, optimum, rtol=1e-8, atol=1e-8)
    assert_allclose(primal(model, X, y, costs), optimum, rtol=1e-8, atol=1e-8)
    assert_judged(model, X, [terms])


@pytest.mark.parametrize("seed", range(20))
def test_answers_are_those_of_scikit_learn(seed):
    X, y, weights = data(seed, 150)
    settings = {"C": (0.5, 3.0)[seed % 2], "epsilon": (0.0, 0.1, 0.5)[seed % 3]}
    settings |= {"kernel": KERNELS[seed % 3], "gamma": 0.3, "coef0": 1.0, "degree": 2}
    weights = weights if seed % 2 else None
    model = SVR(**settings).fit(X, y, weights)
    peer = svm.SVR(tol=1e-10, **settings).fit(X, y, weights)
    # LIBSVM's rows are float32: its dual value is off by their square, not its primal
    full = np.zeros(150)
    full[peer.support_] = peer.dual_coef_[0]
    f = kernel_matrix(model._kernel, X) @ full
    theirs = y @ full - model.epsilon * np.abs(full).sum() - 0.5 * full @ f
    assert_allclose(model.certificate_.bound, theirs, rtol=1e-8)
    assert_answers_of(peer, model, X, atol=2e-4)


def test_without_a_tube_it_is_the_median():
    X, y, weights = data(1, 120)
    model = SVR(C=1.5, epsilon=0.0).fit(X, y, weights)
    median = QuantileSVR(C=3.0, quantile=0.5, calibrate=False).fit(X, y, weights)
    assert_allclose(model.predict(X), median.predict(X), atol=1e-8)
    assert model.history_[0]["size"] == 120


def test_a_narrow_tube_is_near_to_none():
    X, y, _ = data(2, 80)
    narrow = SVR(epsilon=1e-9).fit(X, y)
    assert_allclose(narrow.predict(X), SVR(epsilon=0.0).fit(X, y).predict(X), atol=1e-6)


def test_every_kind_of_samples_gives_the_same_model():
    X, y, _ = data(4, 80)
    assert_same_in_every_layout(SVR(), np.where(X < 0.3, 0.0, X), y)


def test_a_large_fit_is_certified_however_it_is_solved():
    X, y, _ = data(6, 3000)
    assert_every_way_is_certified(SVR(), X, y)


def test_a_linear_fit_by_newton_in_the_primal():
    X, y, _ = data(7, 4500)
    model = SVR(kernel="linear", C=0.1).fit(X, y)
    assert model.certificate_.kkt_violation <= 1e-3
    reached = primal(model, X, y, np.full(4500, 0.1))
    assert_allclose(model.certificate_.objective, reached, rtol=1e-9)
    assert model.certificate_.gap <= 1e-3 * reached


def test_ctrl_c_leaves_the_point_reached(press):
    X, y, _ = data(8, 2200)
    key = press()
    model = SVR(C=1e3, tol=1e-7, n_jobs=1, verbose=True)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert key.pressed and model.certificate_.status == "interrupted"
    assert model.predict(X).shape == (2200,)
    costs = np.full(2200, 1e3)
    assert primal(model, X, y, costs) <= model.certificate_.objective * (1 + 1e-12)


def test_a_limit_leaves_a_certified_model():
    X, y, _ = data(8, 2200)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SVR(C=100.0, max_iter=50).fit(X, y)
    assert model.fit_status_ == 1
    reached = primal(model, X, y, np.full(2200, 100.0))
    assert reached <= model.certificate_.objective * (1 + 1e-12)
    assert model.certificate_.bound <= SVR(C=100.0).fit(X, y).certificate_.objective


def test_refusals():
    X, y, _ = data(0, 20)
    with pytest.raises(ValueError, match="epsilon"):
        SVR(epsilon=-0.1).fit(X, y)
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        SVR().fit(X, y, np.zeros(20))


def test_constant_targets_one_row_and_huge_targets():
    X, y, _ = data(0, 40)
    constant = SVR().fit(X, np.full(40, 7.0))
    assert constant.n_support_.tolist() == [0]
    assert_allclose(constant.predict(X), 7.0, atol=1e-12)
    assert_allclose(SVR().fit(X[:1], y[:1]).predict(X), y[0], atol=1e-12)
    settings = {"gamma": 0.5, "tol": 1e3, "C": 1e12, "epsilon": 1e11}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it converges
        model = SVR(**settings).fit(X, 1e12 * y)
    small = SVR(gamma=0.5, C=1.0, epsilon=0.1).fit(X, y)
    assert_allclose(model.predict(X), 1e12 * small.predict(X), rtol=1e-6)


def test_a_callable_kernel_is_not_asked_about_no_samples():
    def linear(A, B):
        assert len(A) and len(B), "as functions of scikit-learn refuse empty arrays"
        return A @ B.T

    X, y, _ = data(3, 8)
    flat = SVR(kernel=linear, epsilon=10.0 * np.ptp(y)).fit(X, y)
    assert flat.support_.size == 0
    assert_allclose(flat.predict(X), np.full(8, 0.5 * (y.min() + y.max())))


def test_two_active_sets_do_not_take_turns_for_ever():
    # Targets of hundreds: all rows end at a bound, and levels of active sets lie far
    # apart.
    X, y = load_diabetes(return_X_y=True)
    rows = list(KFold(3, shuffle=True, random_state=0).split(X[:90]))[1][0]
    model = SVR(C=1, epsilon=10, gamma=0.01, max_time=20).fit(scale(X)[rows], y[rows])
    assert model.certificate_.kkt_violation <= 1e-3


def test_free_rows_that_fit_in_a_large_working_set_are_solved_together():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (6000, 6))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(6000)
    model = SVR(C=10.0, gamma=1.5, epsilon=0.02, polish=False).fit(X, y)
    assert 2500 < np.count_nonzero(np.abs(model.dual_coef_) < 10.0) < 3500
    assert model.certificate_.kkt_violation <= 1e-3
    assert model.certificate_.n_iter <= 250_000  # 327,000 with smaller sets

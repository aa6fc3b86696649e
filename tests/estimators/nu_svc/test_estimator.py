"""NuSVC: a generic solver, scikit-learn's answers, SVC at C = 1/rho, corners."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import svm
from sklearn.datasets import load_iris

import widemargin
from widemargin import SVC, NuSVC
from widemargin.engine import problem_batches
from widemargin.estimators.base import nu as nu_tasks

from tests.estimators.solved_ways import assert_every_way_is_certified
from tests.estimators.stopped_fits import (
    assert_ctrl_c_leaves_the_point_reached,
    assert_limits_leave_a_certified_model,
)
from tests.layouts import assert_same_in_every_layout
from tests.oracles.claims import assert_claims_hold
from tests.oracles.expansions import outputs
from tests.oracles.nu_problems import long_kernel, nu_optimum, svc_objective
from tests.oracles.rebuilt import judged

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "rbf", "gamma": 0.4},
    {"kernel": "poly", "gamma": 0.4, "coef0": 1.0, "degree": 2},
]


def data(seed: int, n: int = 50, d: int = 3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(
        X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.4 + 0.4 * rng.standard_normal(n) > 0, 1, -1
    )
    return X, y, rng.uniform(0.2, 3.0, n)


def own_objective(model, X, y, weights):
    """Return the objective of the stored model, in long double."""
    beta, b = next(outputs(model, len(y)))
    K = long_kernel(model, X)
    return svc_objective(K, y, weights, model.nu, beta, b, model.rho_[0])


@pytest.mark.parametrize("seed", range(20))
def test_objective_is_that_of_a_generic_solver_and_the_certificate_is_true(seed):
    X, y, weights = data(seed, 25 + seed)
    nu, intercept = (0.6, 0.4, 0.5, 0.45)[seed % 4], seed % 5 != 0
    settings = {"nu": nu, "fit_intercept": intercept, **KERNELS[seed % 3]}
    model = NuSVC(**settings).fit(X, y, weights)
    K = np.asarray(long_kernel(model, X), dtype=float)
    ends = y * weights
    best = nu_optimum(
        K, np.zeros(len(y)), np.minimum(ends, 0), np.maximum(ends, 0),
        nu * weights.sum(), at_least=True, fit_intercept=intercept,
    )  # fmt: skip
    certificate, reached = model.certificate_, own_objective(model, X, y, weights)
    assert certificate.status == "polished"
    assert_allclose(float(reached), best, rtol=1e-8, atol=1e-8)
    assert_allclose(certificate.objective, best, rtol=1e-8, atol=1e-8)
    assert certificate.objective >= reached * (1 - 1e-17)
    assert certificate.bound <= reached
    assert certificate.gap <= 1e-8 * max(1.0, abs(best))


@pytest.mark.parametrize("seed", range(20))
def test_answers_are_those_of_scikit_learn(seed):
    X, y, weights = data(seed, 150)
    settings = {"nu": (0.6, 0.65, 0.55)[seed // 3 % 3], **KERNELS[seed % 3]}
    # equal weights may leave rho an interval: where every coefficient is at a bound
    weights = weights if seed % 2 or seed % 3 == 0 else np.ones(150)
    model = NuSVC(**settings).fit(X, y, weights)
    peer = svm.NuSVC(tol=1e-10, **settings).fit(X, y, weights)
    full = np.zeros(150)
    full[peer.support_] = peer.dual_coef_[0]
    K = np.asarray(long_kernel(model, X), dtype=float)
    rho = model.nu * weights.sum() / np.abs(full).sum()  # its scale
    assert_allclose(
        model.certificate_.bound, -0.5 * rho**2 * full @ K @ full, rtol=1e-7
    )
    assert_allclose(model.rho_, rho, rtol=1e-3)
    assert_allclose(
        model.decision_function(X), peer.decision_function(X), rtol=1e-3, atol=2e-3
    )
    assert model.dual_coef_.shape == peer.dual_coef_.shape or seed % 3 == 0
    if model.kernel == "linear":
        assert_allclose(model.coef_, peer.coef_, rtol=1e-3)


@pytest.mark.parametrize("settings", KERNELS)
@pytest.mark.parametrize("intercept", [True, False])
def test_it_is_svc_at_one_over_rho(settings, intercept):
    X, y, weights = data(3, 120)
    model = NuSVC(nu=0.5, fit_intercept=intercept, **settings).fit(X, y, weights)
    C = 1.0 / model.rho_[0]
    same = SVC(C=C, fit_intercept=intercept, **settings).fit(X, y, weights)
    assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-7)
    assert_array_equal(model.support_, same.support_)


def test_nu_bounds_margin_errors_and_support_vectors():
    X, y, _ = data(4, 400)
    for nu in (0.2, 0.5):
        model = NuSVC(nu=nu).fit(X, y)
        margins = y * model.decision_function(X)
        assert np.mean(margins < 1 - 1e-9) <= nu <= model.support_.size / 400


def test_several_classes_are_those_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    settings = {"nu": 0.3, "gamma": 0.5, "decision_function_shape": "ovo"}
    model = NuSVC(**settings).fit(X, y, weights)
    peer = svm.NuSVC(tol=1e-10, **settings).fit(X, y, weights)
    ours, theirs = model.decision_function(X), peer.decision_function(X)
    assert_allclose(ours, theirs, atol=1e-4)
    assert_array_equal(model.predict(X), peer.predict(X))
    assert model.rho_.shape == (3,) and len(model.certificate_) == 3
    assert_array_equal(model.n_support_, peer.n_support_)
    assert all(one.gap < 1e-8 for one in model.certificate_)


def test_class_weights_are_weights_of_samples():
    X, y, _ = data(5, 150)
    y[:110] = np.where(np.arange(110) < 100, 1, -1)
    by_class = NuSVC(nu=0.3, class_weight={-1: 3.0}).fit(X, y)
    by_row = NuSVC(nu=0.3).fit(X, y, np.where(y < 0, 3.0, 1.0))
    gamma = {"gamma": by_class.gamma_}
    by_row = NuSVC(nu=0.3, **gamma).fit(X, y, np.where(y < 0, 3.0, 1.0))
    ours, theirs = by_class.decision_function(X), by_row.decision_function(X)
    assert_allclose(ours, theirs, atol=1e-8)
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        NuSVC(nu=0.9).fit(X, y)
    balanced = NuSVC(nu=0.9, class_weight="balanced").fit(X, y)
    assert balanced.certificate_.gap < 1e-6


def test_every_kind_of_samples_gives_the_same_model(tmp_path):
    X, y, _ = data(4, 80)
    X[X < 0.3] = 0.0
    first, expected = assert_same_in_every_layout(
        NuSVC(nu=0.6), X, y, "decision_function", single=1e-4
    )
    widemargin.save(first, tmp_path / "model")
    again = widemargin.load(tmp_path / "model")
    assert_array_equal(again.decision_function(X), expected)
    assert_array_equal(again.rho_, first.rho_)


def test_a_large_fit_is_certified_however_it_is_solved():
    X, y, _ = data(6, 3000)
    for model in assert_every_way_is_certified(NuSVC(nu=0.3), X, y):
        objective = own_objective(model, X, y, np.ones(3000))
        assert model.certificate_.bound <= objective <= model.certificate_.objective


def test_a_limit_leaves_a_certified_model():
    X, y, _ = data(8, 2200)
    judged = partial(own_objective, X=X, y=y, weights=np.ones(2200))
    assert_limits_leave_a_certified_model(NuSVC(nu=0.3), X, y, judged)


def test_ctrl_c_leaves_the_point_reached(press):
    X, y, _ = data(8, 2200)
    judged = partial(own_objective, X=X, y=y, weights=np.ones(2200))
    assert_ctrl_c_leaves_the_point_reached(NuSVC(nu=0.02), X, y, judged, press())


def test_the_largest_nu():
    X, y, _ = data(1, 60)
    most = 2 * min(np.sum(y > 0), np.sum(y < 0)) / 60
    model = NuSVC(nu=most).fit(X, y)
    smaller = 1 if np.sum(y > 0) < np.sum(y < 0) else -1
    bounded = np.abs(next(outputs(model, 60))[0]) * model.rho_[0]
    assert_allclose(bounded[y == smaller], 1.0)
    assert model.certificate_.gap < 1e-8


@pytest.mark.parametrize(
    ("nu", "message"),
    [(0.0, "'nu' parameter"), (1.5, "'nu' parameter"), (0.99, "nu is infeasible")],
)
def test_a_nu_that_cannot_be(nu, message):
    X, y, _ = data(0, 41)
    with pytest.raises(ValueError, match=message):
        NuSVC(nu=nu).fit(X, y)


def test_a_nu_that_one_pair_cannot_have_is_refused_before_any_is_solved(monkeypatch):
    def solved(*_, **__):
        raise AssertionError("a pair was solved")

    monkeypatch.setattr("widemargin.estimators.base.nu.solve_together", solved)
    monkeypatch.setattr("widemargin.estimators.base.nu.solve_nu", solved)
    X = np.random.default_rng(0).standard_normal((90, 3))
    y = np.repeat([0, 1, 2], [40, 40, 10])  # the first pair could have it
    with pytest.raises(ValueError, match="classes 2 and 0"):
        NuSVC(nu=0.6).fit(X, y)


def test_a_nu_without_a_margin_is_refused():
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"nu=0.5 is too small: the margin .* is zero"):
        NuSVC().fit(X, y)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 2)), rng.integers(0, 2, 200)
    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match="Increase nu"):
            NuSVC(kernel="linear", nu=0.3, n_jobs=n_jobs).fit(X, y)


def test_small_fits_in_one_call_are_those_of_the_engine(monkeypatch):
    calls = []
    original = nu_tasks.solve_together
    monkeypatch.setattr(
        nu_tasks,
        "solve_together",
        lambda *given: (calls.append(1), original(*given))[1],
    )
    X, y = load_iris(return_X_y=True)
    small = NuSVC(nu=0.3, gamma=0.5).fit(X, y)
    assert calls == [1]  # three pairs
    engine = NuSVC(nu=0.3, gamma=0.5, max_iter=10**9).fit(X, y)  # a limit: one by one
    assert calls == [1]
    assert_allclose(small.rho_, engine.rho_, rtol=1e-7)
    assert_allclose(small.decision_function(X), engine.decision_function(X), atol=1e-6)
    for ours, other in zip(small.certificate_, engine.certificate_, strict=True):
        assert ours.status == other.status == "polished"
        assert_allclose(ours.objective, other.objective, rtol=1e-9)
        assert ours.gap <= 1e-9 * abs(ours.objective)
    # beyond: rows as they are needed
    monkeypatch.setattr(
        problem_batches, "SEVERAL", 120
    )  # beyond: rows as they are needed
    shared = NuSVC(nu=0.3, gamma=0.5).fit(X, y)
    assert len(calls) == 2
    assert_allclose(shared.rho_, small.rho_, rtol=1e-9)
    monkeypatch.setattr(
        problem_batches, "LARGEST", 99
    )  # and beyond that: each pair by itself
    apart = NuSVC(nu=0.3, gamma=0.5).fit(X, y)
    assert len(calls) == 5
    assert_allclose(apart.rho_, small.rho_, rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_kernel_without_a_positive_value_is_refused(fit_intercept):
    X, y, _ = data(0, 12)
    model = NuSVC(kernel="sigmoid", coef0=-11.0, fit_intercept=fit_intercept)
    with pytest.raises(ValueError, match=r"no sample with itself is positive.*coef0"):
        model.fit(X, y)


def test_entries_beyond_single_precision_have_a_reason():
    X = np.random.default_rng(9).standard_normal((9, 5))
    X[0] = 1e9
    model = NuSVC(kernel="poly", degree=5, gamma=2.3, coef0=222.0, nu=0.2)
    with pytest.raises(ValueError, match=r"the margin .* is zero"):
        model.fit(X, np.arange(9) % 3)


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_nu_of_weighted_samples_has_a_bound(seed):
    """The sum of a class, rounded up, would leave no point of its box."""
    X, _, weights = data(seed, 21)
    y = np.where(np.arange(21) % 2, 1, -1)
    sides = [weights[y == side].sum() for side in (1, -1)]
    nu = 2 * min(sides) / weights.sum()
    ((certificate, truth),) = judged(NuSVC(nu=nu).fit(X, y, weights), X, y, weights)
    assert_claims_hold(certificate, truth)

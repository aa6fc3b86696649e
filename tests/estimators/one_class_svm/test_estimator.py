"""One-class SVM: oracles, scikit-learn's answers, corners."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import svm

from widemargin import OneClassSVM
from widemargin.engine.feasible import vertex
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import DualProblem

from tests.certified import kernel_matrix
from tests.layouts import assert_same_in_every_layout
from tests.oracles.claims import assert_claims_hold
from tests.oracles.expansions import assert_judged, dual_value, judged_outputs
from tests.oracles.generic_qp import solve_clarabel

KERNELS = ["rbf", "linear", "poly"]


def data(seed: int, n: int = 50, d: int = 3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 2.0
    X[: n // 10] *= 2.0
    return X, rng.uniform(0.2, 3.0, n)


@pytest.mark.parametrize("seed", range(20))
def test_objective_is_that_of_a_generic_solver_and_the_certificate_is_true(seed):
    X, weights = data(seed, 30 + seed)
    nu = (0.02, 0.1, 0.5, 0.95)[seed % 4]
    model = OneClassSVM(
        nu=nu, kernel=KERNELS[seed % 3], gamma=0.4, coef0=1.0, degree=2
    ).fit(X, sample_weight=weights)
    zero = np.zeros(len(X))
    terms = (zero, zero, weights, nu * weights.sum())
    assert_judged(model, X, [terms])
    K = kernel_matrix(model._kernel, X)
    best = solve_clarabel(K, *terms)
    reached = dual_value(model, X, zero)
    assert_allclose(reached, 0.5 * best @ K @ best, rtol=1e-8, atol=1e-8)
    assert_allclose(-reached, model.certificate_.objective, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_answers_are_those_of_scikit_learn(seed):
    X, weights = data(seed, 200)
    settings = {"nu": (0.05, 0.3, 0.8)[seed % 3], "gamma": 0.3}
    weights = weights if seed % 2 else None
    model = OneClassSVM(**settings).fit(X, sample_weight=weights)
    peer = svm.OneClassSVM(tol=1e-10, **settings).fit(X, sample_weight=weights)
    Z = data(99, 100)[0]
    assert_allclose(model.decision_function(Z), peer.decision_function(Z), atol=1e-5)
    assert_allclose(model.score_samples(Z), peer.score_samples(Z), atol=1e-5)
    assert_allclose(model.offset_[0], peer.offset_[0], atol=1e-5)
    assert model.offset_.shape == peer.offset_.shape == (1,)
    assert_array_equal(model.predict(Z), peer.predict(Z))
    assert model.dual_coef_.shape[0] == 1 and model.n_support_.dtype == np.int32
    assert model.intercept_.shape == (1,) and isinstance(model.n_iter_, int)


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.333, 0.7])
def test_nu_bounds_the_share_of_outliers_and_of_support_vectors(nu):
    X, _ = data(1, 500)
    model = OneClassSVM(nu=nu).fit(X)
    assert np.mean(model.predict(X) == -1) <= nu
    assert model.n_support_[0] >= nu * 500 - 1e-9
    assert_array_equal(OneClassSVM(nu=nu).fit_predict(X), model.predict(X))


def test_every_row_twice_gives_the_same_outliers_at_twice_the_values():
    X, _ = data(2, 100)
    once = OneClassSVM(nu=0.1, gamma=0.5).fit(X)
    twice = OneClassSVM(nu=0.1, gamma=0.5).fit(np.concatenate([X, X]))
    Z = data(5, 200)[0]
    values = once.decision_function(Z)
    assert_allclose(twice.decision_function(Z), 2 * values, atol=1e-8)


def test_a_weight_of_k_is_a_row_k_times():
    X, _ = data(3, 60)
    times = np.random.default_rng(0).integers(0, 4, 60)
    weighted = OneClassSVM(nu=0.2).fit(X, sample_weight=times.astype(float))
    repeated = OneClassSVM(nu=0.2).fit(np.repeat(X, times, axis=0))
    assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-7
    )


def test_every_kind_of_samples_gives_the_same_model():
    X, _ = data(4, 80)
    X = np.where(X < 0.7, 0.0, X)
    assert_same_in_every_layout(OneClassSVM(nu=0.2), X, None, "decision_function")


@pytest.mark.parametrize("nu", [0.01, 0.5])
def test_a_large_fit_is_certified_however_it_is_solved(nu):
    X, _ = data(6, 3000)
    direct = OneClassSVM(nu=nu, n_jobs=1).fit(X)
    assert direct.certificate_.kkt_violation <= 1e-3
    other = OneClassSVM(nu=nu, n_jobs=2).fit(X)
    assert_array_equal(direct.dual_coef_, other.dual_coef_)
    divided = OneClassSVM(nu=nu, solver="divide").fit(X)
    assert "level 1" in [stage["stage"] for stage in divided.history_]
    warm = OneClassSVM(nu=nu, warm_start=True).fit(X).fit(X)
    for model in (divided, warm):
        assert model.certificate_.kkt_violation <= 1e-3
        assert_allclose(
            model.certificate_.objective, direct.certificate_.objective, rtol=1e-4
        )


def test_a_problem_without_a_linear_term_does_not_shrink():
    X, _ = data(6, 2600)
    on, off = (OneClassSVM(nu=0.1, shrinking=on).fit(X) for on in (True, False))
    assert_array_equal(on.dual_coef_, off.dual_coef_)
    assert on.n_iter_ == off.n_iter_


def test_the_start_is_a_vertex_near_the_solution():
    X, _ = data(7, 400)
    zero, one = np.zeros(400), np.ones(400)
    problem = DualProblem(Gram(X, Gaussian(0.3)), zero, zero, one, 0.1 * 400 + 0.25)
    start = vertex(problem)
    assert np.count_nonzero((start > 0) & (start < 1)) == 1
    assert_allclose(start.sum(), problem.total, rtol=1e-13)
    model = OneClassSVM(nu=problem.total / 400, gamma=0.3).fit(X)
    chosen = np.flatnonzero(start)
    assert np.isin(chosen, model.support_).mean() > 0.5  # at random it would be 0.2


def test_one_row_and_all_rows_outside():
    X, _ = data(0, 30)
    alone = OneClassSVM(gamma=0.5).fit(X[:1])
    assert_array_equal(alone.predict(X[:2]), [1, -1])
    whole = OneClassSVM(nu=1.0, gamma=0.5).fit(X)
    assert_allclose(whole.dual_coef_, 1.0)
    assert np.isfinite(whole.offset_)
    assert np.count_nonzero(whole.predict(X) == 1) <= 1


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.01])
def test_nu_outside_is_refused(nu):
    with pytest.raises(ValueError, match="nu"):
        OneClassSVM(nu=nu).fit(np.eye(3))


@pytest.mark.parametrize("seed", range(6))
def test_all_weighted_samples_at_their_bounds_have_a_bound(seed):
    """Their sum, rounded up, would leave no feasible point."""
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((20, 2)), rng.uniform(0.1, 3.0, 20)
    model = OneClassSVM(nu=1.0).fit(X, sample_weight=weights)
    assert_allclose(model.dual_coef_[0], weights, rtol=1e-12)
    ((certificate, truth),) = judged_outputs(model, X, None, weights)
    assert_claims_hold(certificate, truth)


@pytest.mark.parametrize(("kernel", "size"), [("linear", 1e-295), ("poly", 1e-110)])
def test_claims_hold_where_every_product_is_below_the_least_number(kernel, size):
    """The violation, about 1e-590 or 1e-650, was claimed to be exactly 0."""
    X = size * data(0)[0]
    model = OneClassSVM(nu=0.3, kernel=kernel, gamma=1.0, coef0=0.0).fit(X)
    [(certificate, truth)] = judged_outputs(model, X, None, None)
    assert_claims_hold(certificate, truth)
    assert 0.0 < certificate.kkt_violation < 1e-290

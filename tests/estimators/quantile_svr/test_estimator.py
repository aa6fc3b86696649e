"""Quantile regression: oracles, identities, corners."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

from widemargin import QuantileSVR, SharedGridSearchCV, load, save
from widemargin.engine.solve import solve
from widemargin.estimators.base import kernel_machine
from widemargin.estimators.quantile_svr import FACTOR, rearranged

from tests.certified import kernel_matrix
from tests.layouts import assert_same_in_every_layout, sparse_rows
from tests.oracles.expansions import assert_judged, dual_value
from tests.oracles.generic_qp import solve_clarabel

KERNELS = ["linear", "rbf", "poly"]


def data(seed: int, n: int = 50, d: int = 3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X[:, 0] + np.sin(2 * X[:, -1]) + 0.5 * rng.standard_normal(n)
    return X, y, rng.uniform(0.2, 3.0, n)


def box(y, costs, q, fit_intercept=True):
    return y, (q - 1) * costs, q * costs, 0.0 if fit_intercept else None


@pytest.mark.parametrize("seed", range(20))
def test_objective_is_that_of_a_generic_solver_and_the_certificate_is_true(seed):
    X, y, weights = data(seed, 30 + seed)
    q, intercept = (0.05, 0.3, 0.5, 0.9)[seed % 4], seed % 5 != 0
    model = QuantileSVR(
        quantile=q, C=2.0, kernel=KERNELS[seed % 3], gamma=0.4, coef0=1.0, degree=2,
        fit_intercept=intercept, calibrate=False,
    ).fit(X, y, weights)  # fmt: skip
    terms = box(y, 2.0 * weights, q, intercept)
    assert model.certificate_.status == "polished"
    assert_judged(model, X, [terms])
    K = kernel_matrix(model._kernel, X)
    best = solve_clarabel(K, *terms)
    reached = dual_value(model, X, y)
    assert_allclose(reached, 0.5 * best @ K @ best - y @ best, rtol=1e-8, atol=1e-8)
    assert_allclose(-reached, model.certificate_.objective, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_the_median_is_the_regression_without_a_tube(seed):
    X, y, _ = data(seed, 200)
    model = QuantileSVR(C=2.0, gamma=0.3, calibrate=False).fit(X, y)
    peer = svm.SVR(C=1.0, gamma=0.3, epsilon=0.0, tol=1e-10).fit(X, y)
    assert_allclose(model.predict(X), peer.predict(X), atol=1e-6)


@pytest.mark.parametrize("q", [0.05, 0.5, 0.83])
def test_a_share_q_of_the_targets_lies_below(q):
    X, y, weights = data(3, 300)
    model = QuantileSVR(quantile=q, C=5.0, calibrate=False).fit(X, y, weights)
    residual = y - model.predict(X)
    below, above = residual < -1e-8, residual > 1e-8
    assert weights[below].sum() <= q * weights.sum() + 1e-9
    assert weights[above].sum() <= (1 - q) * weights.sum() + 1e-9


def test_several_quantiles_are_those_fitted_alone():
    X, y, weights = data(1, 120)
    levels = [0.9, 0.1, 0.5, 0.25, 0.6]
    model = QuantileSVR(quantile=levels, C=3.0).fit(X, y, weights)
    table = model.predict(X)
    assert table.shape == (120, 5) and len(model.certificate_) == 5
    assert model.dual_coef_.shape == (5, model.n_support_[0])
    for q, column in zip(levels, table.T, strict=True):
        alone = QuantileSVR(quantile=q, C=3.0).fit(X, y, weights).predict(X)
        assert alone.shape == (120,)
        assert_allclose(column, alone, atol=1e-8)
    scores = [QuantileSVR(quantile=q, C=3.0).fit(X, y).score(X, y) for q in levels]
    several = QuantileSVR(quantile=levels, C=3.0).fit(X, y)
    assert_allclose(several.score(X, y), np.mean(scores), atol=1e-8)
    assert QuantileSVR(quantile=[0.5]).fit(X, y).predict(X).shape == (120, 1)


def test_rearrangement_sorts_in_the_order_of_the_quantiles():
    table = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    sorted_rows = rearranged(table, np.array([0.5, 0.9, 0.1]))
    assert_array_equal(sorted_rows, [[2.0, 3.0, 1.0], [4.0, 5.0, 0.0]])
    X, y, _ = data(5, 40)
    levels = np.arange(1, 20) / 20
    settings = {"quantile": levels, "C": 100.0, "gamma": 3.0, "calibrate": False}
    crossing = QuantileSVR(**settings).fit(X, y)
    Z = np.random.default_rng(0).uniform(-3, 3, (300, 3))
    assert (np.diff(crossing.predict(Z), axis=1) < 0).any()
    sorted_model = QuantileSVR(non_crossing=True, **settings).fit(X, y)
    assert (np.diff(sorted_model.predict(Z), axis=1) >= 0).all()


def test_a_weight_of_k_is_a_row_k_times():
    X, y, _ = data(2, 60)
    times = np.random.default_rng(0).integers(0, 4, 60)
    weighted = QuantileSVR(quantile=0.3, gamma=0.5).fit(X, y, times.astype(float))
    rows = np.repeat(np.arange(60), times)
    repeated = QuantileSVR(quantile=0.3, gamma=0.5).fit(X[rows], y[rows])
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-7)
    expected = repeated.certificate_.objective
    assert_allclose(weighted.certificate_.objective, expected, rtol=1e-9)


def test_every_kind_of_samples_gives_the_same_model():
    X, y, _ = data(4, 80)
    X = np.where(X < 0.3, 0.0, X)
    plain = QuantileSVR(quantile=[0.2, 0.8], calibrate=False)
    assert_same_in_every_layout(plain, X, y)
    linear = QuantileSVR(quantile=[0.2, 0.8], kernel="linear").fit(sparse_rows(X), y)
    by_hand = X @ linear.coef_.toarray().T + linear.intercept_
    assert_allclose(linear.predict(X), by_hand, atol=1e-9)


def test_a_large_fit_is_certified_and_its_numbers_are_good_to_the_tolerance():
    X, y, _ = data(6, 2500)
    model = QuantileSVR(quantile=0.7, C=20.0, n_jobs=1).fit(X, y)
    assert model.certificate_.status == "converged"
    assert model.certificate_.kkt_violation <= 1e-3
    K = kernel_matrix(model._kernel, X[:50], model.support_vectors_)
    exact = K @ model.dual_coef_[0] + model.intercept_
    assert_allclose(model.predict(X[:50]), exact, atol=1e-4)
    model.tol = 1e-9  # float32 entries would show
    assert_allclose(model.predict(X[:50]), exact, rtol=1e-10, atol=1e-10)
    model.tol = 1e-3
    threads = QuantileSVR(quantile=0.7, C=20.0, n_jobs=2).fit(X, y)
    assert_array_equal(model.dual_coef_, threads.dual_coef_)


def test_large_quantiles_are_solved_side_by_side_with_the_same_bits(monkeypatch):
    X, y, _ = data(8, 4100)
    grams = []

    def seen(problem, *arguments, **settings):
        grams.append(problem.gram)
        return solve(problem, *arguments, **settings)

    monkeypatch.setattr(kernel_machine, "solve", seen)
    settings = {"quantile": [0.2, 0.6, 0.7], "calibrate": False, "cache_size": 300}
    one = QuantileSVR(n_jobs=1, **settings).fit(X, y)
    two = QuantileSVR(n_jobs=2, **settings).fit(X, y)
    # a view each, with a share of the memory that does not depend on the threads
    assert len({id(gram) for gram in grams}) == 6
    assert [(gram.cache_mb, gram.threads) for gram in grams] == [(100.0, 1)] * 6
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    for certificate in two.certificate_:
        assert certificate.kkt_violation <= 1e-3


def test_divided_and_warm_fits_reach_the_same_objective():
    X, y, _ = data(7, 3000)
    settings = {"quantile": [0.25, 0.6], "C": 3.0, "tol": 1e-5}
    direct = QuantileSVR(**settings).fit(X, y)
    divided = QuantileSVR(solver="divide", **settings).fit(X, y)
    assert "level 1" in [stage["stage"] for stage in divided.history_]
    warm = QuantileSVR(warm_start=True, **settings).fit(X, y)
    steps = warm.n_iter_.sum()
    warm.fit(X, y)
    assert warm.n_iter_.sum() < steps / 10
    for other in (divided, warm):
        for mine, theirs in zip(other.certificate_, direct.certificate_, strict=True):
            assert_allclose(mine.objective, theirs.objective, rtol=1e-5)
    with pytest.warns(UserWarning, match="starts cold"):
        warm.fit(X[:-1], y[:-1])


def test_a_limit_leaves_a_certified_model():
    X, y, _ = data(8, 2200)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = QuantileSVR(C=100.0, max_iter=50).fit(X, y)
    certificate = model.certificate_
    assert model.fit_status_ == 1 and certificate.status == "max_iter"
    exact = QuantileSVR(C=100.0, tol=1e-4).fit(X, y).certificate_
    assert certificate.bound <= exact.objective
    assert certificate.objective >= exact.bound


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.1, [0.5, 1.0], [], [[0.1]], "half"])
def test_quantiles_outside_are_refused(quantile):
    X, y, _ = data(0, 20)
    with pytest.raises((ValueError, TypeError), match="quantile"):
        QuantileSVR(quantile=quantile).fit(X, y)


def test_targets_that_are_no_numbers_are_refused():
    X, _, _ = data(0, 4)
    with pytest.raises(ValueError, match="could not convert"):
        QuantileSVR().fit(X, ["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="NaN"):
        QuantileSVR().fit(X, [1.0, np.nan, 2.0, 3.0])


def test_constant_targets_one_row_and_huge_targets():
    X, y, _ = data(0, 40)
    assert_allclose(QuantileSVR().fit(X, np.full(40, 7.0)).predict(X), 7.0, atol=1e-9)
    assert_allclose(QuantileSVR(quantile=0.9).fit(X[:1], y[:1]).predict(X), y[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it converges
        model = QuantileSVR(gamma=0.5, C=1e12, quantile=0.8, tol=1e3).fit(X, 1e12 * y)
    with pytest.warns(ConvergenceWarning, match="stalled"):  # it has not so many digits
        QuantileSVR(gamma=0.5, C=1e12, quantile=0.8).fit(X, 1e12 * y)
    small = QuantileSVR(gamma=0.5, C=1.0, quantile=0.8).fit(X, y)
    assert_allclose(model.predict(X), 1e12 * small.predict(X), rtol=1e-6)


def test_the_default_price_has_the_unit_of_the_targets(tmp_path):
    X, y, weights = data(9, 90)
    model = QuantileSVR(quantile=[0.2, 0.7]).fit(X, y)
    assert_allclose(model.C_, FACTOR * np.mean(np.abs(y - np.median(y))), rtol=1e-12)
    for a, b in ((1e3, -7e3), (1e-3, 5.0)):
        moved = QuantileSVR(quantile=[0.2, 0.7]).fit(X, a * y + b)
        assert_allclose(moved.C_, a * model.C_, rtol=1e-9)
        assert_allclose(moved.predict(X), a * model.predict(X) + b, rtol=1e-6)
    weighted = QuantileSVR().fit(X, y, weights)
    centre = y[np.argsort(y)][np.cumsum(weights[np.argsort(y)]) >= weights.sum() / 2][0]
    expected = FACTOR * np.average(np.abs(y - centre), weights=weights)
    assert_allclose(weighted.C_, expected, rtol=1e-12)
    assert QuantileSVR(C=3).fit(X, y).C_ == 3.0
    assert QuantileSVR().fit(X, np.full(90, 7.0)).C_ == FACTOR  # any C fits
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").C_ == model.C_


@pytest.mark.parametrize("C", ["auto", 0.0, -1.0, None])
def test_prices_that_are_none_are_refused(C):
    X, y, _ = data(0, 20)
    with pytest.raises(ValueError, match=r"The 'C' parameter .* must be .*'scale'"):
        QuantileSVR(C=C).fit(X, y)


def test_updates_estimate_the_default_price_from_the_rows_that_are_there():
    X, y, _ = data(10, 60)
    y[:10] *= 30.0
    model = QuantileSVR(gamma=0.5, keep_rows=True).fit(X[:50], y[:50])
    model.partial_fit(X[50:], y[50:]).forget(np.arange(10))
    refit = QuantileSVR(gamma=0.5, calibrate=False).fit(X[10:], y[10:])
    assert_allclose(model.C_, refit.C_, rtol=1e-12)
    assert_allclose(model.predict(X), refit.predict(X), atol=1e-8)


def test_a_search_takes_the_default_price_for_a_value():
    X, y, _ = data(11, 90)
    grid = {"C": ["scale", 1.0], "gamma": [0.2, 1.0]}
    found = SharedGridSearchCV(QuantileSVR(kernel=KERNELS[1]), grid, cv=3).fit(X, y)
    alone = QuantileSVR(**found.best_params_).fit(X, y)
    assert_allclose(found.predict(X), alone.predict(X), atol=1e-8)

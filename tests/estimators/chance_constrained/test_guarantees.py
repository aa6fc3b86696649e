"""error_probability_bound: formulas, worst cases, several classes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.datasets import load_iris

from widemargin import ChanceConstrainedSVC


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 40)
    X = rng.normal(size=(80, 2)) + y[:, None]
    return ChanceConstrainedSVC(covariance=0.05 * np.eye(2)).fit(X, y), X, y


def test_bounds_are_their_formulas(model):
    estimator, X, y = model
    variances = np.random.default_rng(1).random((80, 2))
    w, b = estimator.coef_[0], estimator.intercept_[0]
    spread = np.sqrt(variances @ np.square(w))
    margin = y * (X @ w + b)
    cantelli = np.where(margin > 0, spread**2 / (spread**2 + margin**2), 1.0)
    assert_allclose(estimator.error_probability_bound(X, variances, y), cantelli)
    assert_allclose(
        estimator.error_probability_bound(X, variances, y, bound="gaussian"),
        norm.cdf(-margin / spread),
    )
    size = np.abs(X @ w + b)
    assert_allclose(
        estimator.error_probability_bound(X, variances),
        spread**2 / (spread**2 + size**2),
    )


def test_samples_without_slack_keep_the_risk(model):
    estimator, X, y = model
    bounds = estimator.error_probability_bound(X, y=y)
    assert np.all(bounds[estimator.slack_ == 0.0] <= 0.1)
    assert np.all(bounds[estimator.slack_ < 1.0] < 1.0)
    assert bounds.max() > 0.1  # with slack there is no such promise


@pytest.mark.parametrize("bound", ["moments", "gaussian"])
@pytest.mark.parametrize("covariance", ["one for all", "own"])
def test_slack_below_one_keeps_the_risk_and_slack_above_one_does_not(bound, covariance):
    """xi < 1 if and only if y (w'mu + b) > kappa ||L'w||, where the bound is risk."""
    rng, y = np.random.default_rng(5), np.repeat([-1, 1], 200)
    X = rng.normal(size=(400, 2)) + y[:, None]
    variances = 0.1 * rng.random((400, 2))
    own = {"covariance": variances} if covariance == "own" else {}
    estimator = ChanceConstrainedSVC(covariance=0.05 * np.eye(2), bound=bound)
    estimator.fit(X, y, **own)
    assert estimator.certificate_.gap <= 1e-9 * estimator.certificate_.objective
    bounds = estimator.error_probability_bound(X, y=y, **own)
    below, above = estimator.slack_ < 1.0 - 1e-9, estimator.slack_ > 1.0 + 1e-9
    assert np.any(below & (estimator.slack_ > 0.5))  # not only samples without slack
    assert np.all(bounds[below] <= 0.1)
    assert np.any(above & (estimator.slack_ < 1.5))
    assert np.all(bounds[above] > 0.1)


def test_bound_holds_for_normal_noise(model):
    estimator, X, y = model
    rng = np.random.default_rng(2)
    noise = np.sqrt(0.05) * rng.normal(size=(4000, 2))
    chosen = np.argsort(estimator.error_probability_bound(X, y=y))[[5, 30, 60]]
    for i in chosen:
        wrong = np.mean(estimator.predict(X[i] + noise) != y[i])
        normal = estimator.error_probability_bound(
            X[[i]], y=y[[i]], bound="gaussian", covariance=np.full((1, 2), 0.05)
        )
        assert abs(wrong - normal[0]) <= 0.03
        assert wrong <= estimator.error_probability_bound(X[[i]], y=y[[i]])[0] + 1e-9


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_factors_give_the_bounds_of_their_squares(model, kernel):
    _, X, y = model
    estimator = ChanceConstrainedSVC(kernel=kernel, n_components=5, random_state=0)
    estimator.fit(X, y, covariance=np.full((80, 2), 0.05))
    factors = 0.3 * np.random.default_rng(3).normal(size=(80, 2, 3))
    matrices = factors @ factors.transpose(0, 2, 1)
    bounds = estimator.error_probability_bound(X, y=y, covariance_factor=factors)
    assert_allclose(bounds, estimator.error_probability_bound(X, matrices, y))
    with pytest.raises(ValueError, match="both given"):
        estimator.error_probability_bound(X, matrices, y, covariance_factor=factors)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sensitivity_is_the_bound_of_scaled_covariances(model, kernel):
    _, X, y = model
    estimator = ChanceConstrainedSVC(kernel=kernel, n_components=5, random_state=0)
    variances = 0.2 * np.random.default_rng(4).random((80, 2))
    estimator.fit(X, y, covariance=variances)
    found = estimator.covariance_sensitivity(X, variances, y, scales=(0.25, 4.0))
    assert_array_equal(found.scales, [1.0, 0.25, 4.0])
    for scale, bounds, certain in zip(
        found.scales, found.bounds, found.certain, strict=True
    ):
        expected = estimator.error_probability_bound(X, scale * variances, y)
        assert_allclose(bounds, expected)
        assert_array_equal(certain, bounds <= 0.1)
    assert_allclose(found.certain_share, found.certain.mean(axis=1))
    assert found.changed_share[0] == 0.0
    assert found.changed_share[2] == np.mean(found.certain[2] != found.certain[0]) > 0


@pytest.mark.parametrize("scales", [(0.5, 0.0), (-1.0,), 2.0, (np.nan,)])
def test_sensitivity_refuses_scales_that_are_none(model, scales):
    estimator, X, y = model
    with pytest.raises(ValueError, match="scales must be a list of positive numbers"):
        estimator.covariance_sensitivity(X, y=y, scales=scales)


def test_certain_samples_have_no_doubt(model):
    estimator, X, y = model
    bounds = estimator.error_probability_bound(X, np.zeros((80, 2)), y)
    assert_array_equal(bounds, (estimator.predict(X) != y).astype(float))


def test_several_classes_add_up():
    X, y = load_iris(return_X_y=True)
    estimator = ChanceConstrainedSVC(standardize=True).fit(X, y)
    bounds = estimator.error_probability_bound(X, y=y)
    assert np.all((bounds >= 0.0) & (bounds <= 1.0))
    assert np.all(bounds[estimator.predict(X) != y] == 1.0)
    unlabelled = estimator.error_probability_bound(X)
    assert np.all(unlabelled <= 1.0)


def test_what_is_missing_or_wrong_is_said(model):
    estimator, X, y = model
    own = ChanceConstrainedSVC().fit(X, y, covariance=np.full((80, 2), 0.01))
    with pytest.raises(ValueError, match="new samples must bring theirs"):
        own.error_probability_bound(X)
    with pytest.raises(ValueError, match="y must hold one of the labels"):
        estimator.error_probability_bound(X, y=y + 7)
    with pytest.raises(ValueError, match="bound must be"):
        estimator.error_probability_bound(X, y=y, bound="hope")

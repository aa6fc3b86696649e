"""ConditionalGaussian: missing values by the normal model of largest likelihood."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from widemargin import ChanceConstrainedSVC, ConditionalGaussian


@pytest.fixture
def incomplete():
    """Return rows of a correlated normal distribution, a third of them missing."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))
    X = rng.normal(size=(300, 4)) @ A.T + [1.0, -2.0, 0.0, 5.0]
    holes = rng.random(X.shape) < 0.3
    return np.where(holes, np.nan, X), X


def log_likelihood(model, X):
    """Return the likelihood of the measured values, row by row."""
    total = 0.0
    for row in X:
        known = ~np.isnan(row)
        if known.any():
            S = model.covariance[np.ix_(known, known)]
            total += multivariate_normal(model.mean[known], S).logpdf(row[known])
    return total


def test_moments_are_those_of_the_precision_matrix(incomplete):
    """For P = S^-1 the missing part has covariance P_hh^-1."""
    X, _ = incomplete
    model = ConditionalGaussian.of(X)
    means, factors = model.moments(X)
    P = np.linalg.inv(model.covariance)
    for row, mean, factor in zip(X, means, factors, strict=True):
        hole = np.isnan(row)
        expected, covariance = row.copy(), np.zeros((4, 4))
        if hole.any():
            rest = np.linalg.inv(P[np.ix_(hole, hole)])
            shift = P[np.ix_(hole, ~hole)] @ (row - model.mean)[~hole]
            expected[hole] = model.mean[hole] - rest @ shift
            covariance[np.ix_(hole, hole)] = rest
        assert_allclose(mean, expected)
        assert_allclose(factor @ factor.T, covariance, atol=1e-10)


def test_the_likelihood_rises_to_its_maximum(incomplete):
    X, _ = incomplete
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        steps = [ConditionalGaussian.of(X, max_iter=k) for k in (1, 2, 4, 8)]
    best = ConditionalGaussian.of(X, tol=1e-10)
    values = [log_likelihood(model, X) for model in (*steps, best)]
    assert np.all(np.diff(values) > -1e-9)
    rng = np.random.default_rng(1)
    for _ in range(10):
        turn = np.eye(4) + 0.02 * rng.normal(size=(4, 4))
        other = ConditionalGaussian(
            best.mean + 0.02 * rng.normal(size=4), turn @ best.covariance @ turn.T
        )
        assert log_likelihood(other, X) < values[-1]


def test_complete_rows_are_certain(incomplete):
    _, X = incomplete
    model = ConditionalGaussian.of(X)
    assert_allclose(model.mean, X.mean(axis=0))
    assert_allclose(model.covariance, np.cov(X.T, ddof=0))
    means, factors = model.moments(X)
    assert_array_equal(means, X)
    assert_array_equal(factors, 0.0)


def test_features_that_depend_on_each_other_are_told_exactly():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(100, 1))
    X = np.hstack([x, 2 * x + 1])
    incomplete = X.copy()
    incomplete[:10, 1] = np.nan
    means, factors = ConditionalGaussian.of(incomplete, tol=1e-10).moments(incomplete)
    assert_allclose(means, X, atol=1e-4)
    assert_allclose(factors, 0.0, atol=1e-3)


def test_a_model_of_incomplete_rows_in_one_call(incomplete):
    X, full = incomplete
    y = (full[:, 0] - full[:, 1] > 3.0).astype(int)
    moments = ConditionalGaussian.of(X[:200])
    means, factors = moments.moments(X[:200])
    model = ChanceConstrainedSVC(risk=0.3, standardize=True)
    model.fit(means, y[:200], covariance_factor=factors)
    assert 0.0 <= model.certificate_.gap <= 1e-6 * model.certificate_.objective
    new, new_factors = moments.moments(X[200:])
    bounds = model.error_probability_bound(new, covariance_factor=new_factors)
    whole = ~np.isnan(X[200:]).any(axis=1)
    assert_array_equal(bounds[whole], 0.0)
    # what is called nearly certain without all values is what all values say
    sure = bounds <= 0.1
    assert np.any(sure & ~whole)
    agreed = model.predict(new[sure]) == model.predict(full[200:][sure])
    assert np.mean(agreed) >= 0.9


def test_what_cannot_be_known_is_said(incomplete):
    X, _ = incomplete
    empty = X.copy()
    empty[:, 2] = np.nan
    with pytest.raises(ValueError, match=r"column 2 of X .* has no value at all"):
        ConditionalGaussian.of(empty)
    with pytest.raises(ValueError, match="X has 3 features, and the model has 4"):
        ConditionalGaussian.of(X).moments(X[:, :3])
    with pytest.raises(ValueError, match="infinity"):
        ConditionalGaussian.of([[np.inf, 1.0], [0.0, 2.0]])
    with pytest.warns(ConvergenceWarning, match="stopped after 1 rounds"):
        ConditionalGaussian.of(X, max_iter=1)

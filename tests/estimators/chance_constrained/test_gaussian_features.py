"""kernel="rbf": exact moments of random features, bounds that hold, moons."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import ChanceConstrainedSVC
from widemargin.uncertainty.covariance_tables import (
    DiagonalTable,
    FactorTable,
    FullTable,
    Uncertainty,
)
from widemargin.uncertainty.gaussian_features import (
    feature_moments,
    feature_spreads,
    fourier_features,
)

from tests.estimators.chance_constrained.uncertain import KINDS, uncertainty_of


@parametrize_with_checks([ChanceConstrainedSVC(kernel="rbf", n_components=4)])
def test_scikit_learn_checks_pass_in_features(estimator, check):
    assert check(estimator) is None


@pytest.mark.parametrize("size", [1e-3, 0.3, 30.0])
def test_moments_of_features_are_those_of_many_draws(size):
    rng = np.random.default_rng(0)
    frequencies, mean = rng.normal(size=(4, 3)), rng.normal(size=(1, 3))
    factor = np.sqrt(size) * rng.normal(size=(1, 3, 3))
    found, covariance = feature_moments(
        mean, frequencies, Uncertainty(FactorTable(factor))
    )
    n = 100_000
    draws = mean + rng.normal(size=(n, 3)) @ factor[0].T
    features = fourier_features(draws, frequencies)
    spread = features.std(axis=0)
    assert np.all(np.abs(features.mean(axis=0) - found[0]) <= 5 * spread / np.sqrt(n))
    # the error of an entry: its own deviation in one draw, over root n
    centred = features - features.mean(axis=0)
    products = centred[:, :, None] * centred[:, None, :]
    error = 5 * products.std(axis=0) / np.sqrt(n)
    assert np.all(np.abs(products.mean(axis=0) - covariance[0]) <= error)


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_to_give_covariances_has_the_same_features(kind):
    rng = np.random.default_rng(1)
    X, signs = rng.normal(size=(600, 3)), np.where(rng.random(600) < 0.5, 1.0, -1.0)
    uncertainty = uncertainty_of(kind, 600, 3, signs, rng)
    matrices = uncertainty.table.dense()
    if uncertainty.groups is not None:
        matrices = matrices[uncertainty.groups]
    frequencies, w = rng.normal(size=(5, 3)), rng.normal(size=10)
    means, covariances = feature_moments(X, frequencies, uncertainty)
    same = feature_moments(X, frequencies, Uncertainty(FullTable(matrices)))
    assert_allclose(means, same[0], atol=1e-14)
    assert_allclose(covariances, same[1], atol=1e-14)
    mean, spread = feature_spreads(X, frequencies, uncertainty, w)  # block by block
    assert_allclose(mean, means @ w)
    variances = np.einsum("i,kij,j->k", w, covariances, w)
    assert_allclose(np.square(spread), variances, atol=1e-14)


def test_known_samples_have_certain_features_and_wild_ones_no_mean():
    rng = np.random.default_rng(2)
    X, frequencies = rng.normal(size=(2, 2)), rng.normal(size=(3, 2))
    variances = np.array([[0.0, 0.0], [1e9, 1e9]])
    means, covariances = feature_moments(
        X, frequencies, Uncertainty(DiagonalTable(variances))
    )
    assert_allclose(means[0], fourier_features(X[:1], frequencies)[0])
    assert_array_equal(covariances[0], 0.0)
    assert_allclose(means[1], 0.0, atol=1e-300)
    assert_allclose(np.diag(covariances[1]), 0.5 / 3)  # a uniform angle


def moons(n, seed, deviation=0.2):
    """Return two moons, and stated error bars that differ from sample to sample."""
    rng = np.random.default_rng(seed)
    X, y = make_moons(n, noise=0.1, random_state=seed)
    return X, y, np.square(deviation * rng.uniform(0.2, 1.8, size=X.shape))


def fitted(kernel, X, y, variances, **parameters):
    """Return a certified model."""
    model = ChanceConstrainedSVC(
        kernel=kernel, C=10.0, risk=0.3, n_components=25, random_state=0, **parameters
    ).fit(X, y, covariance=variances)
    assert 0.0 <= model.certificate_.gap <= 1e-9 * model.certificate_.objective
    return model


def test_moons_under_noise_are_three_points_above_linear():
    rng = np.random.default_rng(3)
    X, y, variances = moons(300, 0)
    X_new, y_new, variances_new = moons(1000, 1)
    again = [rng.normal(X_new, np.sqrt(variances_new)) for _ in range(5)]
    models = [fitted(kernel, X, y, variances) for kernel in ("linear", "rbf")]
    linear, rbf = (np.mean([m.score(Z, y_new) for Z in again]) for m in models)
    assert rbf >= linear + 0.03


def test_violations_are_at_most_the_bound_for_normal_errors():
    """200 samples, 500 draws each: none may exceed by more than chance explains."""
    X, y, variances = moons(200, 4)
    model = fitted("rbf", X, y, variances)
    X_new, y_new, variances_new = moons(200, 5)
    rng, draws = np.random.default_rng(6), 500
    for labels in (y_new, None):
        bounds = model.error_probability_bound(X_new, variances_new, labels)
        truth = model.predict(X_new) if labels is None else labels
        wrong = np.zeros(200)
        for _ in range(draws):
            Z = rng.normal(X_new, np.sqrt(variances_new))
            wrong += model.predict(Z) != truth
        rate = wrong / draws
        error = 4 * np.sqrt(rate * (1 - rate) / draws)
        assert np.all(rate <= bounds + error)
        assert np.mean(bounds < 0.5) > 0.5  # and the bounds say something


def test_slack_below_one_keeps_the_risk():
    X, y, variances = moons(200, 7)
    model = fitted("rbf", X, y, variances)
    bounds = model.error_probability_bound(X, variances, y)
    below = model.slack_ < 1.0 - 1e-9
    assert np.any(below) and np.any(~below)
    assert np.all(bounds[below] <= 0.3) and np.all(bounds[~below] >= 0.3 - 1e-6)


def test_units_of_features_do_not_matter_with_standardize():
    X, y, variances = moons(120, 8)
    units = np.array([1000.0, 0.01])
    one = fitted("rbf", X, y, variances, standardize=True)
    other = fitted("rbf", X * units, y, variances * units**2, standardize=True)
    assert_allclose(
        one.decision_function(X), other.decision_function(X * units), rtol=1e-6
    )
    assert_allclose(one.frequencies_, other.frequencies_ * units)
    assert_array_equal(one.scale_, np.ones(50))  # features are not scaled once more
    assert one.n_features_in_ == 2 and one.coef_.shape == (1, 50)


def test_class_covariances_are_those_of_the_samples():
    X, y, _ = moons(120, 9)
    model = ChanceConstrainedSVC(kernel="rbf", n_components=10, random_state=0)
    model.fit(X, y)
    expected = [0.01 * np.cov(X[y == k].T) for k in (0, 1)]
    assert_allclose(model.covariances_, expected)
    own = np.array(expected)[y]
    same = ChanceConstrainedSVC(kernel="rbf", n_components=10, random_state=0)
    same.fit(X, y, covariance=own)
    assert_allclose(same.decision_function(X), model.decision_function(X), rtol=1e-6)
    assert_allclose(
        model.error_probability_bound(X, y=y),
        same.error_probability_bound(X, own, y),
        rtol=1e-6,
    )


def test_blocks_are_read_in_features_too():
    X, y, variances = moons(200, 10)
    parts = [
        (X[rows], y[rows], {"covariance": variances[rows]})
        for rows in (slice(0, 80), slice(80, 200))
    ]
    model = ChanceConstrainedSVC(
        kernel="rbf",
        n_components=25,
        solver="ssgd",
        epochs=10,
        C=10.0,
        risk=0.3,
        random_state=0,
    ).fit_blocks(parts)
    exact = fitted("rbf", X, y, variances)
    assert_allclose(model.frequencies_, exact.frequencies_)
    assert exact.certificate_.bound <= model.certificate_.objective
    assert model.certificate_.objective <= 1.1 * exact.certificate_.objective


def test_what_is_not_proved_or_too_large_is_refused():
    X, y, variances = moons(60, 11)
    with pytest.raises(ValueError, match="only bound='moments' is proved"):
        ChanceConstrainedSVC(kernel="rbf", bound="gaussian").fit(X, y)
    with pytest.raises(ValueError, match=r"60 rows, 5 MB, and memory_mb is 1: lower"):
        ChanceConstrainedSVC(kernel="rbf", memory_mb=1).fit(X, y)
    model = fitted("rbf", X, y, variances)
    with pytest.raises(ValueError, match="only bound='moments' is proved"):
        model.error_probability_bound(X, variances, bound="gaussian")
    stochastic = ChanceConstrainedSVC(kernel="rbf", solver="ssgd")
    with pytest.raises(AttributeError) as refused:
        stochastic.partial_fit(X, y, classes=[0, 1])
    assert "fit_blocks reads rows in parts" in str(refused.value.__cause__)

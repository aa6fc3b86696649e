"""Finite or not, moments and ranges of samples, against numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin.numerics.sample_statistics import (
    all_finite,
    entry_moments,
    feature_ranges,
)


def samples(dtype, width=13, offset=0.0):
    rng = np.random.default_rng(4)
    return (offset + rng.standard_normal((40, width))).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_entry_that_is_not_finite_is_seen_anywhere(dtype, bad):
    X = samples(dtype, width=5)
    assert all_finite(X) and all_finite(np.full((3, 3), np.finfo(dtype).max))
    for place in (0, 7, 63, 100, X.size - 1):
        spoilt = X.copy()
        spoilt.flat[place] = bad
        assert not all_finite(spoilt)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_moments_are_those_of_a_longer_float(dtype, offset):
    X, weights = samples(dtype, offset=offset), np.linspace(0.5, 2.0, 40)
    mass = float(weights.sum()) * X.shape[1]
    mean, rest, squares = entry_moments(X, weights, mass)
    long, share = X.astype(np.longdouble), weights.astype(np.longdouble)[:, None]
    exact = (share * long).sum() / (share.sum() * X.shape[1])
    assert_allclose(float(mean + rest - exact), 0.0, atol=1e-13 * (1.0 + offset) ** 0.5)
    deviations = (share * (long - np.longdouble(mean)) ** 2).sum()
    assert_allclose(squares, float(deviations), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranges_of_features(dtype):
    X = samples(dtype) * np.geomspace(1e-3, 1e3, 13).astype(dtype)
    X[:, 4] = 2.0  # does not vary
    ranges = np.delete(np.ptp(X.astype(np.float64), axis=0), 4)
    assert feature_ranges(X) == (ranges.max(), ranges.min())
    assert feature_ranges(X[:1]) == (0.0, np.inf)
    extremes = np.array([[-np.finfo(dtype).max], [np.finfo(dtype).max]])
    assert feature_ranges(extremes)[0] >= float(np.finfo(dtype).max)

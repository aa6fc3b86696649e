"""SVR(C=inf): every target in the tube, certified, or a clear error."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import svm

from widemargin import SVR


def curve(n: int = 60, noise: float = 0.05):
    rng = np.random.default_rng(1)
    X = np.sort(rng.uniform(-2, 2, (n, 1)), axis=0)
    return X, np.sin(2 * X[:, 0]) + noise * rng.uniform(-1, 1, n)


@pytest.mark.parametrize("intercept", [True, False])
def test_every_target_is_in_the_tube_and_the_gap_is_proved(intercept):
    X, y = curve()
    model = SVR(C=np.inf, gamma=1.0, epsilon=0.1, fit_intercept=intercept).fit(X, y)
    assert np.abs(y - model.predict(X)).max() <= 0.1 + 1e-12
    found = model.certificate_
    assert 0.0 <= found.gap <= 1e-5 * found.objective
    coefficients = model.dual_coef_[0]
    K = np.exp(-((X[model.support_] - X[model.support_].T) ** 2))
    norm = 0.5 * coefficients @ K @ coefficients
    assert_allclose(found.objective, norm, rtol=1e-9)
    largest = 10 * np.abs(coefficients).max()
    if intercept:  # any C that no coefficient reaches has the same solution
        peer = svm.SVR(C=largest, gamma=1.0, epsilon=0.1, tol=1e-8).fit(X, y)
        assert_allclose(model.predict(X), peer.predict(X), atol=1e-4)


def test_a_loose_tolerance_still_keeps_the_tube():
    X, y = curve()
    model = SVR(C=np.inf, gamma=1.0, epsilon=0.1, tol=1e-2, polish=False).fit(X, y)
    assert np.abs(y - model.predict(X)).max() <= 0.1 + 1e-12
    assert model.certificate_.gap < model.certificate_.objective


def test_what_cannot_be_is_refused():
    X, y = curve()
    with pytest.raises(ValueError, match=r"C=inf: no function .* epsilon=0.1"):
        SVR(C=np.inf, kernel="linear", epsilon=0.1).fit(X, y)
    twice, other = np.vstack([X, X[:1]]), np.append(y, y[0] + 1.0)
    with pytest.raises(ValueError, match="C=inf: no function"):
        SVR(C=np.inf, gamma=1.0).fit(twice, other)
    with pytest.raises(ValueError, match="epsilon=0 leaves no room"):
        SVR(C=np.inf, epsilon=0.0).fit(X, y)
    with pytest.raises(ValueError, match="finite C"):
        SVR(C=np.inf, keep_rows=True).fit(X, y)
    with pytest.raises(ValueError, match="finite C"):
        SVR(C=np.inf).partial_fit(X, y)

"""A search beside GridSearchCV's, figure by figure, and data for both."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from widemargin import SharedGridSearchCV

TIGHT = 1e-8
GRID = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}


def two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:200]
    return scale(X)[chosen], y[chosen]


def three_classes():
    X, y = load_wine(return_X_y=True)
    return scale(X), np.array(["a", "b", "c"])[y]


def numbers():
    X, y = load_diabetes(return_X_y=True)
    return scale(X)[:150], scale(y)[:150]


def assert_same_search(estimator, grid, X, y, fit_params=None, **options):
    """Both searches, compared figure by figure; returns the shared one."""
    given = fit_params or {}
    options = {"cv": 3, **options}
    shared = SharedGridSearchCV(estimator, grid, **options).fit(X, y, **given)
    reference = GridSearchCV(estimator, grid, **options).fit(X, y, **given)
    assert set(shared.cv_results_) == set(reference.cv_results_)
    for name, expected in reference.cv_results_.items():
        found = shared.cv_results_[name]
        if name == "params":
            assert found == expected
        elif name.startswith("param_"):
            assert_array_equal(found, expected)
        elif "time" not in name:
            assert_allclose(
                np.asarray(found, dtype=float), expected, rtol=1e-6, err_msg=name
            )
    assert shared.best_index_ == reference.best_index_
    assert shared.best_params_ == reference.best_params_
    assert shared.n_splits_ == reference.n_splits_
    assert_array_equal(shared.predict(X), reference.predict(X))
    return shared

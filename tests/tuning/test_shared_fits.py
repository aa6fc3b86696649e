"""Fits that share a matrix are those of the estimator itself, or are left to it."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV

from widemargin import SVR, SharedGridSearchCV


def test_what_pair_steps_do_not_solve_is_fitted_by_itself():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(25, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=25)
    model = SVR(kernel="poly", degree=2, coef0=1.0, gamma=6.0, epsilon=0.01)
    searches = [
        search(model, {"C": [1.0, 200.0]}, cv=3).fit(X, y)
        for search in (SharedGridSearchCV, GridSearchCV)
    ]
    found, expected = (search.cv_results_["mean_test_score"] for search in searches)
    assert_allclose(found, expected, atol=1e-4)

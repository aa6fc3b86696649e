"""Searches over many rows: candidates for support vectors, or fits by themselves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from widemargin import SVC, SVR, SharedGridSearchCV
from widemargin.engine import candidate_chains
from widemargin.tuning import chain_precision, shared_fits

GRID = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}


@pytest.fixture
def solved(monkeypatch):
    """Take 200 rows for many, and note which searches their candidates solved."""
    monkeypatch.setattr(shared_fits, "MANY_ROWS", 100)
    monkeypatch.setattr(candidate_chains, "FIRST_ROWS", 50)
    monkeypatch.setattr(candidate_chains, "MOST_CANDIDATES", 1.0)
    noted = []
    by_candidates = chain_precision.solve_by_candidates

    def noting(*given):
        found = by_candidates(*given)
        noted.append(found is not None)
        return found

    monkeypatch.setattr(chain_precision, "solve_by_candidates", noting)
    return noted


@pytest.mark.parametrize("estimator", [SVC(tol=1e-8), SVR(tol=1e-8)])
@pytest.mark.parametrize("cache_size", ["auto", 0.05])
def test_the_scores_are_those_of_gridsearchcv(estimator, cache_size, solved):
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:200]
    given = estimator.set_params(cache_size=cache_size), GRID
    X, y = scale(X)[chosen], y[chosen]
    ours = SharedGridSearchCV(*given, refit=False).fit(X, y)
    theirs = GridSearchCV(*given, refit=False).fit(X, y)
    assert_allclose(
        ours.cv_results_["mean_test_score"],
        theirs.cv_results_["mean_test_score"],
        atol=1e-6,
    )
    assert_array_equal(
        ours.cv_results_["rank_test_score"], theirs.cv_results_["rank_test_score"]
    )
    assert solved == 2 * [cache_size == "auto"]  # a gamma each


def test_few_fits_are_plain_ones(solved):
    """A survey of all rows costs more than it spares them."""
    X, y = load_breast_cancer(return_X_y=True)
    given = SVC(gamma=0.01), {"C": [1.0]}
    search = SharedGridSearchCV(*given, cv=5, refit=False).fit(scale(X), y)
    assert solved == []
    plain = GridSearchCV(*given, cv=5, refit=False).fit(scale(X), y)
    assert search.best_score_ == plain.best_score_

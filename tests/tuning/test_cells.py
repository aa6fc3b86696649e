"""Scores of cells that need no model: as GridSearchCV says them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

from widemargin import SVC, SVR, SharedGridSearchCV

TIGHT = 1e-8
GRID = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}


@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_accuracy_needs_no_model(scoring, monkeypatch):
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    plain = GridSearchCV(SVC(tol=TIGHT), GRID, scoring=scoring, refit=False).fit(X, y)

    def stored(*_):
        raise AssertionError("votes tell the accuracy")

    monkeypatch.setattr("widemargin.estimators.base.shared_fit.BegunFit.stored", stored)
    search = SharedGridSearchCV(SVC(tol=TIGHT), GRID, scoring=scoring, refit=False)
    scores = search.fit(X, y).cv_results_["mean_test_score"]
    assert_allclose(scores, plain.cv_results_["mean_test_score"], atol=1e-12)


@pytest.mark.parametrize("scoring", [None, "r2"])
def test_r_squared_needs_no_model(scoring, monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[:150], scale(y)[:150]
    plain = GridSearchCV(SVR(tol=TIGHT), GRID, scoring=scoring, refit=False).fit(X, y)

    def stored(*_):
        raise AssertionError("predictions tell R squared")

    monkeypatch.setattr("widemargin.estimators.base.shared_fit.BegunFit.stored", stored)
    search = SharedGridSearchCV(SVR(tol=TIGHT), GRID, scoring=scoring, refit=False)
    scores = search.fit(X, y).cv_results_["mean_test_score"]
    assert_allclose(scores, plain.cv_results_["mean_test_score"], atol=1e-7)


@pytest.mark.filterwarnings("ignore")  # one row, and scores that fail
@pytest.mark.parametrize("case", ["one row", "constant", "not a number", "whole"])
def test_r_squared_of_odd_folds_is_that_of_a_plain_search(case):
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X)[:60], scale(y)[:60]
    held_out = np.arange(40, 41 if case == "one row" else 60)
    if case == "constant":
        y[held_out] = 2.0
    if case == "not a number":
        y[50] = np.nan
    if case == "whole":
        y = np.round(10 * y).astype(int)
    options = {"cv": [(np.arange(40), held_out)], "refit": False}
    plain, shared = (
        search(SVR(tol=TIGHT), GRID, **options).fit(X, y).cv_results_["mean_test_score"]
        for search in (GridSearchCV, SharedGridSearchCV)
    )
    assert_allclose(shared, plain, atol=1e-6)

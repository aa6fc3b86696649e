"""Scores of cells that need no model: as GridSearchCV says them."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from widemargin import SVC, SVR, SharedGridSearchCV

TIGHT = 1e-8
GRID = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}


@pytest.mark.parametrize(
    ("model", "data", "scoring", "atol"),
    [
        (SVC(tol=TIGHT), load_wine, None, 1e-12),
        (SVC(tol=TIGHT), load_wine, "accuracy", 1e-12),
        (SVR(tol=TIGHT), load_diabetes, None, 1e-7),
        (SVR(tol=TIGHT), load_diabetes, "r2", 1e-7),
    ],
)
def test_accuracy_and_r_squared_need_no_model(model, data, scoring, atol, monkeypatch):
    X, y = data(return_X_y=True)
    X = scale(X)
    if data is load_diabetes:
        X, y = X[:150], scale(y)[:150]
    plain = GridSearchCV(model, GRID, scoring=scoring, refit=False).fit(X, y)

    def stored(*_):
        raise AssertionError("held-out values tell the score")

    monkeypatch.setattr("widemargin.estimators.base.shared_fit.BegunFit.stored", stored)
    search = SharedGridSearchCV(model, GRID, scoring=scoring, refit=False)
    scores = search.fit(X, y).cv_results_["mean_test_score"]
    assert_allclose(scores, plain.cv_results_["mean_test_score"], atol=atol)


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


class OneAtATime(StandardScaler):
    """Waits for company while it works, as what exchanges warning filters must not."""

    inside = threading.Semaphore(1)
    company = threading.Event()

    def _alone(self, work, *given):
        first = self.inside.acquire(blocking=False)
        if not first:
            self.company.set()
        self.company.wait(0.02)
        found = work(*given)
        if first:
            self.inside.release()
        return found

    def fit(self, X, y=None):
        return self._alone(super().fit, X)

    def transform(self, X):
        return self._alone(super().transform, X)


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_steps_before_the_estimator_work_one_at_a_time(scoring):
    X, y = load_wine(return_X_y=True)
    OneAtATime.company.clear()
    model = make_pipeline(OneAtATime(), SVC())
    search = SharedGridSearchCV(model, {"svc__C": [1, 10]}, scoring=scoring, n_jobs=2)
    assert search.fit(X, y).best_score_ > 0.9
    assert not OneAtATime.company.is_set()

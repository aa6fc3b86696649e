"""Cells that fail, alone or all, are reported as GridSearchCV reports them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, DPWSSClassifier, NuSVC, SharedGridSearchCV

from tests.tuning.same_search import GRID, TIGHT, assert_same_search, two_classes


@pytest.mark.parametrize("error_score", [np.nan, 0.0])
def test_a_fold_without_a_class_fails_as_in_gridsearchcv(error_score):
    X, y = two_classes()
    folds = PredefinedSplit(np.where(y == 1, 0, np.arange(200) % 3))
    tables, words = [], []
    for search in (SharedGridSearchCV, GridSearchCV):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fitted = search(SVC(), GRID, cv=folds, error_score=error_score).fit(X, y)
        tables.append(fitted.cv_results_)
        words.append([str(warning.message)[:60] for warning in said])
    assert words[0] == words[1] != []
    for name in ("mean_test_score", "rank_test_score", "split0_test_score"):
        assert_allclose(tables[0][name], tables[1][name])


def test_all_fits_fail_as_in_gridsearchcv():
    X, y = two_classes()
    for search in (GridSearchCV, SharedGridSearchCV):
        with pytest.raises(ValueError, match="All the 6 fits failed"):
            search(SVC(), {"C": [-1.0, -2.0]}, cv=3).fit(X, y)
        with pytest.raises(ValueError, match="'C' parameter"):
            search(SVC(), {"C": [-1.0]}, cv=3, error_score="raise").fit(X, y)


def test_weights_that_a_fit_does_not_take_fail_as_in_gridsearchcv():
    X, y = two_classes()
    for search in (GridSearchCV, SharedGridSearchCV):
        with pytest.raises(ValueError, match="All the 4 fits failed"):
            search(DPWSSClassifier(), {"C": [0.1, 1.0]}, cv=2).fit(
                X, y, sample_weight=np.ones(len(y))
            )


def test_scores_that_are_not_numbers():
    X, y = two_classes()

    def sometimes(model, X, y):
        return np.nan if model.C == 1 else 0.5

    with pytest.warns(UserWarning, match="non-finite"):
        assert_same_search(SVC(tol=TIGHT), GRID, X, y, scoring=sometimes)


def test_a_scorer_that_fails_is_reported():
    X, y = two_classes()

    def broken(model, X, y):
        raise RuntimeError("no score")

    search = SharedGridSearchCV(SVC(), {"C": [1.0]}, scoring=broken, refit=False, cv=2)
    with pytest.warns(UserWarning) as said:
        search.fit(X, y)
    assert any("Scoring failed" in str(warning.message) for warning in said)


def test_rows_that_are_no_numbers_are_reported_as_in_gridsearchcv():
    X, y = two_classes()
    for search in (GridSearchCV, SharedGridSearchCV):
        with pytest.raises(ValueError, match="All the 2 fits failed"):
            search(SVC(), {"C": [1.0]}, cv=2).fit(np.full_like(X, np.nan), y)


def test_foreign_estimators_are_refused():
    X, y = two_classes()
    for foreign in (LogisticRegression(), make_pipeline(StandardScaler())):
        with pytest.raises(TypeError, match=r"GridSearchCV\.$"):
            SharedGridSearchCV(foreign, {}).fit(X, y)


@pytest.mark.filterwarnings("ignore:Scoring failed", "ignore:\n", "ignore:One or more")
@pytest.mark.parametrize("wrong", [-1.0, "a"])
def test_a_setting_that_is_none_fails_alone(wrong, plain_fits):
    X, y = two_classes()
    grid = {"C": [0.1, 1.0, wrong], "gamma": [0.05]}
    assert_same_search(SVC(tol=TIGHT), grid, X, y)
    assert len(plain_fits) == 3  # the folds of that setting


@pytest.mark.filterwarnings("ignore:\\n", "ignore:One or more")
def test_a_setting_without_a_solution_fails_alone():
    X, y = two_classes()
    X = np.repeat(X[:, :1].round(), 2, axis=1)  # the classes overlap
    machine = NuSVC(kernel="linear", tol=TIGHT)
    found = assert_same_search(machine, {"nu": [1e-3, 0.3]}, X, y)
    assert np.isnan(found.cv_results_["mean_test_score"]).tolist() == [True, False]


def test_a_foreign_estimator_in_the_grid_is_fitted_plainly(plain_fits):
    X, y = two_classes()
    pipeline = make_pipeline(StandardScaler(), SVC(tol=TIGHT))
    grid = {"svc": [LogisticRegression(), SVC(tol=TIGHT)], "svc__C": [0.1, 1.0]}
    assert_same_search(pipeline, grid, X, y)
    assert len(plain_fits) == 6

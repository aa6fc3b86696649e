"""Weights, costs and ids that scikit-learn routes to a step or to a search's fits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import (
    SVC,
    SVR,
    ChanceConstrainedSVC,
    CostSensitiveSVC,
    DivideConquerSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
    RampSVC,
    SharedGridSearchCV,
)

X, y = make_classification(120, 5, random_state=0)
X = StandardScaler().fit_transform(X)
RNG = np.random.default_rng(0)
WEIGHTS = RNG.uniform(0.1, 3.0, 120)
IDS = np.arange(120) + 1000
WITH_IDS = (SVC, CostSensitiveSVC, SVR, QuantileSVR, OneClassSVM)
ESTIMATORS = (*WITH_IDS, RampSVC, DivideConquerSVC, NuSVC, NuSVR, ChanceConstrainedSVC)


@pytest.fixture(autouse=True)
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights_reach_the_step_of_a_pipeline(estimator):
    model = estimator().set_fit_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    steps = make_pipeline(scaler, model).fit(X, y, sample_weight=WEIGHTS)
    expected = estimator().fit(scaler.transform(X), y, sample_weight=WEIGHTS)
    assert_array_equal(steps.predict(X), expected.predict(scaler.transform(X)))


@pytest.mark.parametrize("search", [GridSearchCV, SharedGridSearchCV])
def test_weights_reach_the_fits_and_scores_of_a_search(search):
    weighted = SVC().set_fit_request(sample_weight=True)
    weighted.set_score_request(sample_weight=True)
    found = search(weighted, {"C": [0.01, 1.0]}, cv=3)
    found.fit(X, y, sample_weight=WEIGHTS)
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        model = SVC(C=0.01).fit(X[train], y[train], sample_weight=WEIGHTS[train])
        score = model.score(X[test], y[test], sample_weight=WEIGHTS[test])
        assert found.cv_results_[f"split{fold}_test_score"][0] == score


@pytest.mark.parametrize("estimator", WITH_IDS)
def test_ids_of_a_search_are_those_to_forget(estimator):
    model = estimator(gamma=0.5).set_fit_request(ids=True)
    search = GridSearchCV(model, {"tol": [1e-3]}, cv=3, scoring=lambda *_: 0.0)
    found = search.fit(X, y, ids=IDS).best_estimator_.forget([1003, 1050])
    kept = np.delete(np.arange(120), [3, 50])
    expected = estimator(gamma=0.5).fit(X[kept], y[kept]).certificate_
    assert_allclose(found.certificate_.objective, expected.objective, rtol=1e-3)
    with pytest.raises(ValueError, match="1003"):
        found.forget([1003])


def test_costs_and_weights_together_through_a_pipeline():
    costs = RNG.uniform(0.0, 2.0, (120, 2))
    costs[np.arange(120), y] = 0.0
    model = CostSensitiveSVC(gamma=0.5).set_fit_request(
        sample_costs=True, sample_weight=True
    )
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    steps = make_pipeline(scaler, model)
    steps.fit(X, y, sample_costs=costs, sample_weight=WEIGHTS)
    expected = CostSensitiveSVC(gamma=0.5).fit(
        scaler.transform(X), y, sample_costs=costs, sample_weight=WEIGHTS
    )
    assert_array_equal(
        steps.decision_function(X), expected.decision_function(scaler.transform(X))
    )

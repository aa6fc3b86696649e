"""CostReport: the model beside simpler answers, on the same held-out rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, CostReport, CostSensitiveSVC

X, codes = make_blobs(
    90, 2, centers=[[0, 0], [1.5, 0], [0.5, 1.5]], cluster_std=0.9, random_state=0
)
names = np.array(["fast", "middling", "slow"])
y = names[codes]
COSTS = np.array([[0, 1, 9], [1, 0, 1], [9, 1, 0]], dtype=float)
folds = StratifiedKFold(3, shuffle=True, random_state=0)


def test_the_costs_are_those_of_the_held_out_answers():
    model = CostSensitiveSVC(cost_matrix=COSTS, gamma=0.5)
    report = CostReport.from_estimator(model, X, y, cv=folds)
    own = np.searchsorted(names, cross_val_predict(model, X, y, cv=folds))
    plain = np.searchsorted(names, cross_val_predict(SVC(gamma=0.5), X, y, cv=folds))
    calibrated = CalibratedClassifierCV(SVC(gamma=0.5), ensemble=False, cv=3)
    sure = cross_val_predict(calibrated, X, y, cv=folds, method="predict_proba")
    always = [COSTS[codes, answer].mean() for answer in range(3)]
    assert_allclose(
        list(report.costs.values()),
        [
            COSTS[codes, own].mean(),
            COSTS[codes, plain].mean(),
            COSTS[codes, (sure @ COSTS).argmin(axis=1)].mean(),
            min(always),
        ],
    )
    assert list(report.costs) == [
        "CostSensitiveSVC",
        "SVC without costs",
        "calibrated probabilities",
        "always middling",
    ]
    assert_allclose(report.by_class.sum(), report.costs["CostSensitiveSVC"])
    assert_array_equal(report.counts.sum(axis=1), np.bincount(codes))
    assert report.by_class[0, 2] == 9 * np.sum((codes == 0) & (own == 2)) / 90


def test_a_pipeline_and_costs_of_its_own():
    model = CostSensitiveSVC(cost_positive=5.0, gamma=0.5)
    two = codes < 2
    pipeline = make_pipeline(StandardScaler(), model)
    report = CostReport.from_estimator(
        pipeline, X[two], y[two], cost_matrix=[[0, 1], [5, 0]]
    )
    plain = make_pipeline(StandardScaler(), SVC(gamma=0.5))
    answers = cross_val_predict(plain, X[two], y[two])
    misses, alarms = (
        np.mean((y[two] == truth) & (answers != truth)) for truth in names[[1, 0]]
    )
    assert_allclose(report.costs["SVC without costs"], 5 * misses + alarms)
    assert model.cost_positive == 5.0  # the model given is not changed


def test_the_text_has_both_tables():
    report = CostReport(
        np.array(["a", "b"]),
        {"CostSensitiveSVC": 0.25, "always b": 0.5},
        np.array([[0.0, 0.125], [0.125, 0.0]]),
        np.array([[5, 1], [1, 1]]),
    )
    assert str(report).splitlines() == [
        "Mean cost of a row, 8 held-out rows",
        "CostSensitiveSVC  0.25",
        "always b          0.5",
        "",
        "CostSensitiveSVC: by true class, by predicted class",
        "                   a          b",
        "        a          0      0.125",
        "        b      0.125          0",
    ]


def test_refusals():
    with pytest.raises(TypeError, match="not a SVC"):
        CostReport.from_estimator(SVC(), X, y, cost_matrix=COSTS)
    with pytest.raises(ValueError, match="give cost_matrix"):
        CostReport.from_estimator(CostSensitiveSVC(), X, y)
    with pytest.raises(ValueError, match="shape"):
        CostReport.from_estimator(
            CostSensitiveSVC(), X, y, cost_matrix=[[0, 1], [1, 0]]
        )

"""Clusters without a class borrow its nearest members, so that none is constant."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.metrics import brier_score_loss, roc_auc_score

from widemargin import SVC, DivideConquerSVC
from widemargin.estimators.divide_conquer.single_class_clusters import LENT

from tests.oracles.claims import judge
from tests.oracles.rebuilt import judged


@pytest.fixture(scope="module")
def model_and_data():
    X, blob = make_blobs(
        1600, 2, centers=[[0, 0], [6, 0], [0, 6], [6, 6]], random_state=0
    )
    y = (blob == 3).astype(int)  # one cluster of four has the class
    model = DivideConquerSVC(prediction="early", early_level=1, gamma=0.1, tol=1e-8)
    return model.fit(X, y), X, y


def test_values_of_all_clusters_are_calibrated_together(model_and_data):
    model, X, y = model_and_data
    fitted = CalibratedClassifierCV(clone(model).set_params(tol=1e-3), cv=3).fit(X, y)
    found = fitted.predict_proba(X)[:, 1]
    assert roc_auc_score(y, found) > 0.99
    assert brier_score_loss(y, found) < 0.02
    for threshold in (0.2, 0.5, 0.8):
        assert np.mean((found > threshold) == y) > 0.97


def test_no_cluster_answers_with_a_constant(model_and_data):
    model, X, y = model_and_data
    home = model.early_.assign(X)
    for cluster in range(model.early_.n_clusters):
        own = home == cluster
        assert np.ptp(model.decision_function(X[own])) > 0.1
    borrowers = [len(np.unique(y[home == c])) == 1 for c in range(4)]
    assert sum(borrowers) >= 2
    [stage] = [s for s in model.history_ if s["stage"] == "borrowing"]
    lent = LENT * sum(borrowers)
    assert stage["size"] == lent + sum(
        np.count_nonzero(home == c) for c in range(4) if borrowers[c]
    )


def test_a_borrower_is_the_svm_of_its_rows_and_the_nearest_of_the_other_class(
    model_and_data,
):
    model, X, y = model_and_data
    home = model.early_.assign(X)
    cluster = next(c for c in range(4) if set(y[home == c]) == {0})
    own = np.flatnonzero(home == cluster)
    others = np.flatnonzero(y == 1)
    similarity = np.exp(
        -0.1 * ((X[others][:, None] - X[own]) ** 2).sum(axis=2)
    ).mean(axis=1)  # fmt: skip
    nearest = others[np.argsort(-similarity)[:LENT]]
    rows = np.concatenate([own, nearest])
    local = SVC(gamma=0.1, tol=1e-8).fit(X[rows], y[rows])
    # A sample of the members stands for all: some of the lenders may differ.
    assert_allclose(
        model.decision_function(X[own]), local.decision_function(X[own]), atol=0.05
    )


def test_the_certificate_covers_what_was_borrowed(model_and_data):
    model, _, _ = model_and_data
    level, borrowing = (s for s in model.history_ if "objective" in s)
    total = level["objective"] + borrowing["objective"]
    assert_allclose(model.certificate_.objective, total, rtol=1e-9)
    assert 0 <= model.certificate_.gap <= 1e-4 * total


def test_without_an_intercept_nothing_is_borrowed(model_and_data):
    # A cluster of one class has a model of its own then, and would count twice.
    model, X, y = model_and_data
    model = clone(model).set_params(fit_intercept=False).fit(X, y)
    assert [s["stage"] for s in model.history_] == ["level 1"]
    [(certificate, truth)] = judged(model, X, y)
    assert not judge(certificate, truth).false

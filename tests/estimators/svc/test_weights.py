"""Sample and class weights: weight k is the row k times, weight 0 is no row."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, make_classification

from widemargin import SVC


@pytest.fixture
def problem():
    return make_classification(120, 5, flip_y=0.2, random_state=0)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("class_weight", [None, {0: 2.0}])
def test_weight_k_is_the_row_k_times(problem, gamma, form, class_weight):
    X, y = problem
    as_given = sparse.csr_matrix if form == "csr" else np.asarray
    times = np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    model = SVC(gamma=gamma, class_weight=class_weight)
    heavy = model.fit(as_given(X), y, sample_weight=times).decision_function(X)
    assert model.certificate_.kkt_violation <= 1e-3
    many = SVC(gamma=gamma, class_weight=class_weight).fit(as_given(X[rows]), y[rows])
    assert many.certificate_.kkt_violation <= 1e-3
    assert_allclose(heavy, many.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("absent", [0.0, -1.0])
def test_a_weight_that_is_not_positive_is_as_if_absent(problem, absent):
    X, y = problem
    kept = np.random.default_rng(2).random(len(y)) < 0.7
    weight = np.where(kept, 1.5, absent)
    model = SVC(C=2.0).fit(X, y, sample_weight=weight)
    small = SVC(C=2.0).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert model.certificate_.kkt_violation <= 1e-3
    assert_allclose(model.decision_function(X), small.decision_function(X), atol=1e-8)
    assert_array_equal(model.support_, np.flatnonzero(kept)[small.support_])


def test_a_class_with_no_positive_weight_is_not_learnt():
    X, y = load_iris(return_X_y=True)
    weight = np.where(y == 2, 0.0, 1.0)
    theirs = sklearn.svm.SVC(gamma=0.3, tol=1e-9).fit(X, y, sample_weight=weight)
    ours = SVC(gamma=0.3).fit(X, y, sample_weight=weight)
    assert_array_equal(ours.predict(X[y < 2]), theirs.predict(X[y < 2]))


def test_messages_are_scikit_learns(problem):
    X, y = problem
    with pytest.raises(ValueError, match="all samples have zero or neg"):
        SVC().fit(X, y, sample_weight=np.zeros(len(y)))
    one = np.where(y == 0, 1.0, 0.0)
    with pytest.raises(
        ValueError,
        match="Invalid input - all samples with positive weights belong to the same",
    ):
        SVC().fit(X, y, sample_weight=one)
    with pytest.raises(ValueError, match=r"sample_weight\.shape"):
        SVC().fit(X, y, sample_weight=np.ones(3))


@pytest.mark.parametrize("class_weight", ["balanced", {0: 5.0, 1: 0.2}])
def test_class_weights_are_scikit_learns(problem, class_weight):
    X, y = problem
    y = np.where(np.arange(len(y)) % 3 == 0, y, 0)
    theirs = sklearn.svm.SVC(class_weight=class_weight, tol=1e-9).fit(X, y)
    ours = SVC(class_weight=class_weight).fit(X, y)
    assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


def test_scaling_all_weights_is_scaling_C(problem):
    X, y = problem
    one = SVC(C=6.0).fit(X, y)
    other = SVC(C=2.0).fit(X, y, sample_weight=np.full(len(y), 3.0))
    assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-8)

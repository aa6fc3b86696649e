"""A model holds its support vectors only, unless the user means to update it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import (
    load_digits,
    load_iris,
    make_classification,
    make_moons,
)
from sklearn.exceptions import NotFittedError

from widemargin import SVC, CostSensitiveSVC, load, save
from widemargin.persistence import training_rows

from tests.estimators.incremental.the_fit import assert_is_the_fit

X, y = make_moons(120, noise=0.2, random_state=0)
UPDATES = {
    "partial_fit": lambda model: model.partial_fit(X[:5], y[:5]),
    "forget": lambda model: model.forget([3]),
    "update": lambda model: model.update(C=2.0),
}
LARGER = 1.2  # times what scikit-learn's SVC takes, at most


def held(model):
    """Return which training rows can be read in a model's pickle."""
    blob = pickle.dumps(model)
    return np.flatnonzero([row.tobytes() in blob for row in X])


@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_fit_keeps_support_vectors_only(estimator):
    model = estimator(gamma=1.0).fit(X, y)
    assert_array_equal(held(model), np.sort(model.support_))
    assert training_rows(model) == len(model.support_) < len(X)
    assert not hasattr(model, "ids_")


@pytest.mark.parametrize("what", UPDATES)
@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_without_rows_updates_are_refused_with_the_remedy(estimator, what):
    model = estimator(gamma=1.0).fit(X, y)
    before = pickle.dumps(model)
    assert not hasattr(model, what) and hasattr(clone(model), what)
    match = r"keep_rows=True or with ids=.*partial_fit"
    with pytest.raises(AttributeError, match=match):
        UPDATES[what](model)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
@pytest.mark.parametrize("how", ["keep_rows", "ids", "partial_fit"])
def test_rows_are_kept_for_those_who_mean_to_update(estimator, how):
    if how == "keep_rows":
        model = estimator(gamma=1.0, keep_rows=True).fit(X[:100], y[:100])
    elif how == "ids":
        model = estimator(gamma=1.0).fit(X[:100], y[:100], ids=np.arange(100))
    else:
        model = estimator(gamma=1.0).partial_fit(X[:100], y[:100], classes=[0, 1])
    assert_array_equal(held(model), np.arange(100))
    ids = np.arange(100, 120) if how == "ids" else None
    model.partial_fit(X[100:], y[100:], ids=ids).forget(np.arange(10)).update(C=3.0)
    assert_is_the_fit(model, X[10:], y[10:])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_compact_drops_the_rows_later(estimator, kernel, tmp_path):
    model = estimator(kernel=kernel, gamma=1.0, keep_rows=True).fit(X, y)
    model.forget(np.arange(10))
    before = model.decision_function(X)
    assert model.compact() is model
    assert_array_equal(model.decision_function(X), before)
    assert held(model).size == len(model.support_)
    for action in UPDATES.values():
        with pytest.raises(AttributeError, match="keep_rows=True"):
            action(model)
    save(model, tmp_path / "lean")
    back = load(tmp_path / "lean")
    assert_array_equal(back.decision_function(X), before)
    assert back.get_params() == model.get_params()
    with pytest.raises(AttributeError, match="keep_rows=True"):
        back.forget([20])
    assert model.compact().fit(X, y).forget([3]).ids_.size == len(X) - 1


def test_there_must_be_a_model_to_compact():
    with pytest.raises(NotFittedError):
        SVC().compact()
    model = SVC(gamma=1.0, keep_rows=True).fit(X, y).forget(np.arange(len(X)))
    with pytest.raises(NotFittedError, match="forgotten"):
        model.compact()


def test_a_new_fit_without_rows_lets_the_old_ones_go():
    model = SVC(gamma=1.0).fit(X, y, ids=np.arange(120))
    model.fit(X[:60], y[:60])
    assert held(model).max() < 60 and not hasattr(model, "ids_")
    with pytest.raises(AttributeError, match="keep_rows=True"):
        model.forget([3])


@pytest.mark.parametrize("keep_rows", [False, True])
def test_a_warm_start_needs_no_rows(keep_rows):
    model = SVC(gamma=1.0, warm_start=True, keep_rows=keep_rows).fit(X, y)
    cold = clone(model).set_params(C=1.01).fit(X, y)
    warm = model.set_params(C=1.01).fit(X, y)
    assert warm.n_iter_[0] < cold.n_iter_[0]
    np.testing.assert_allclose(
        warm.decision_function(X), cold.decision_function(X), atol=1e-8
    )


def samples(name):
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "iris":
        return load_iris(return_X_y=True)
    if name == "sparse digits":
        data, labels = load_digits(return_X_y=True)
        return sparse.csr_matrix(data), labels
    if name == "four classes":
        return make_classification(
            1500, 20, n_informative=8, n_classes=4, random_state=0
        )
    return make_moons(4000, noise=0.2, random_state=0)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize(
    "name", ["iris", "moons", "four classes", "digits", "sparse digits"]
)
def test_pickle_and_file_are_no_larger_than_those_of_scikit_learn(
    name, kernel, tmp_path
):
    data, labels = samples(name)
    theirs = len(pickle.dumps(sklearn.svm.SVC(kernel=kernel).fit(data, labels)))
    ours = SVC(kernel=kernel).fit(data, labels)
    save(ours, tmp_path / "model")
    assert len(pickle.dumps(ours)) <= LARGER * theirs
    assert (tmp_path / "model").stat().st_size <= LARGER * theirs

"""``to_sklearn``: the same predictions by scikit-learn's own code."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC, SVR, OneClassSVM

import widemargin

from tests.exchange.models import (
    IRIS,
    KERNELS,
    KINDS,
    MORE,
    NUMBERS_OUT,
    SPECIES,
    TWO,
    X,
    fitted,
    values,
)

EVERY = [(kind, kernel) for kind in KINDS for kernel in KERNELS]


@pytest.mark.parametrize(("kind", "kernel"), EVERY)
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "sparse"])
def test_the_same_predictions(kind, kernel, as_sparse):
    ours = fitted(kind, kernel, as_sparse=as_sparse)
    theirs = ours.to_sklearn()
    assert type(theirs).__module__.startswith("sklearn.svm")
    for samples in (X, MORE):
        given = sparse.csr_matrix(samples) if as_sparse else samples
        assert_allclose(
            values(theirs, given), values(ours, given), rtol=1e-5, atol=1e-6
        )
        if kind not in NUMBERS_OUT:
            assert_array_equal(theirs.predict(given), ours.predict(given))


def test_the_attributes_are_those_of_a_fit():
    ours = fitted("three classes", "rbf")
    theirs = ours.to_sklearn()
    peer = SVC(gamma=0.4, tol=1e-9).fit(X, SPECIES)
    assert vars(theirs).keys() == vars(peer).keys()
    assert_array_equal(theirs.support_, peer.support_)
    assert_array_equal(theirs.n_support_, peer.n_support_)
    assert_allclose(theirs.dual_coef_, peer.dual_coef_, atol=1e-5)
    assert_allclose(theirs.intercept_, peer.intercept_, atol=1e-5)
    assert theirs.get_params()["C"] == ours.C
    assert_allclose(
        clone(theirs).fit(X, SPECIES).intercept_, peer.intercept_, atol=0.01
    )


@pytest.mark.parametrize(
    ("kind", "peer"),
    [("two classes", SVC), ("regression", SVR), ("one class", OneClassSVM)],
)
def test_types_and_linear_weights(kind, peer):
    ours = fitted(kind, "linear")
    theirs = ours.to_sklearn()
    assert type(theirs) is peer
    assert_allclose(theirs.coef_, ours.coef_, rtol=1e-10)
    if kind == "one class":
        assert_allclose(theirs.offset_, ours.offset_, rtol=1e-8)


def test_a_precomputed_kernel():
    gram, rows = X @ X.T, MORE @ X.T
    ours = widemargin.SVC(kernel="precomputed").fit(gram, SPECIES)
    theirs = ours.to_sklearn()
    assert_allclose(values(theirs, rows), values(ours, rows), rtol=1e-9)
    assert_array_equal(theirs.predict(rows), ours.predict(rows))


def test_draws_and_names_and_pickles():
    frame = pd.DataFrame(X, columns=list("abcd"))
    for ours in (
        widemargin.SVC().fit(frame, SPECIES),
        widemargin.DPWSSClassifier(once=False, random_state=0).fit(frame, TWO),
    ):
        theirs = pickle.loads(pickle.dumps(ours.to_sklearn()))
        assert_array_equal(theirs.feature_names_in_, ours.feature_names_in_)
        assert_array_equal(theirs.predict(frame), ours.predict(frame))


def test_a_model_without_support_vectors_is_a_constant():
    ours = widemargin.SVR(epsilon=100.0).fit(X, IRIS[:, 0])
    assert ours.support_.size == 0
    assert_allclose(ours.to_sklearn().predict(MORE), ours.predict(MORE))


def test_string_labels_go_to_scikit_learn():
    names = np.array(["setosa", "versicolor", "virginica"])[SPECIES]
    ours = widemargin.SVC().fit(X, names)
    assert_array_equal(ours.to_sklearn().predict(MORE), ours.predict(MORE))


def _early():
    model = widemargin.DivideConquerSVC(prediction="early", n_levels=1, gamma=1.0)
    return model.fit(np.tile(X, (3, 1)), np.tile(SPECIES, 3))


REFUSED = {
    "early": (_early, "each cluster.*prediction='exact'"),
    "cost matrix": (
        lambda: widemargin.CostSensitiveSVC(
            cost_matrix=[[0, 1, 2], [3, 0, 1], [1, 1, 0]]
        ).fit(X, SPECIES),
        "Costs of several classes",
    ),
    "laplacian": (
        lambda: widemargin.SVC(kernel="laplacian").fit(X, SPECIES),
        "kernel=laplacian has no place",
    ),
    "callable": (
        lambda: widemargin.SVC(kernel=lambda a, b: a @ b.T).fit(X, SPECIES),
        "kernel=a callable has no place",
    ),
    "quantiles": (
        lambda: widemargin.QuantileSVR(quantile=[0.1, 0.9]).fit(X, IRIS[:, 0]),
        "2 quantiles",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_others_refuse_with_the_reason(case, tmp_path):
    make, reason = REFUSED[case]
    model = make()
    with pytest.raises(ValueError, match=reason):
        model.to_sklearn()
    with pytest.raises(ValueError, match=reason):
        model.to_libsvm(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_an_unfitted_estimator_says_so(tmp_path):
    with pytest.raises(NotFittedError):
        widemargin.SVC().to_sklearn()
    with pytest.raises(NotFittedError):
        widemargin.SVR().to_libsvm(tmp_path / "model")

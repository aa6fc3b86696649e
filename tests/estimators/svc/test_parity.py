"""SVC in the place of scikit-learn's: same answers, same attributes, same shapes."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.preprocessing import StandardScaler

from widemargin import SVC

LOADERS = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
}
KERNELS = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": 0.1, "C": 50.0},
    {"kernel": "linear", "C": 0.3},
    {"kernel": "poly", "degree": 2, "coef0": 1.0},
    {"kernel": "poly", "gamma": "auto"},
    {"kernel": "rbf", "class_weight": "balanced"},
    {"kernel": "rbf", "class_weight": {0: 3.0, 1: 0.5}},
    {"kernel": "rbf", "decision_function_shape": "ovo"},
    {"kernel": "rbf", "break_ties": True},
    {"kernel": "rbf", "shrinking": False},
]
# Attributes that scikit-learn documents; those of probability=True are not kept.
ATTRIBUTES = (
    "class_weight_",
    "classes_",
    "dual_coef_",
    "fit_status_",
    "intercept_",
    "n_features_in_",
    "n_iter_",
    "n_support_",
    "shape_fit_",
    "support_",
    "support_vectors_",
)


def data(name, form="dense"):
    X, y = LOADERS[name](return_X_y=True)
    X = StandardScaler().fit_transform(X)
    return (sparse.csr_matrix(X) if form == "csr" else X), y


def assert_certificates(model, tol=1e-3):
    """Assert every pair's certificate."""
    certificates = model.certificate_
    if not isinstance(certificates, list):
        certificates = [certificates]
    pairs = len(model.classes_) * (len(model.classes_) - 1) // 2
    assert len(certificates) == pairs
    for certificate in certificates:
        assert certificate.status in ("converged", "polished")
        assert certificate.kkt_violation <= tol
        assert certificate.gap >= 0.0
        assert certificate.objective >= certificate.bound - 1e-12


def both(X, y, **parameters):
    """Fit scikit-learn's SVC tightly and ours as it comes."""
    theirs = sklearn.svm.SVC(**(parameters | {"tol": 1e-9})).fit(X, y)
    ours = SVC(polish=True, **parameters).fit(X, y)
    assert_certificates(ours)
    return ours, theirs


def test_every_parameter_of_scikit_learns_is_there_with_its_default():
    theirs = inspect.signature(sklearn.svm.SVC.__init__).parameters
    ours = inspect.signature(SVC.__init__).parameters
    for name, parameter in theirs.items():
        if name == "cache_size":  # ours has "auto" beside megabytes
            assert ours[name].default == "auto"
        elif name == "probability":  # scikit-learn's default announces its removal
            assert ours[name].default in (False, parameter.default)
        else:
            assert ours[name].default == parameter.default, name
    added = {"fit_intercept", "n_jobs", "max_time", "warm_start"}
    assert added <= set(ours)
    assert ours["fit_intercept"].default is True


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("parameters", KERNELS, ids=str)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_same_decision_values_and_predictions(name, parameters, form):
    X, y = data(name, form)
    ours, theirs = both(X, y, **parameters)
    decision = theirs.decision_function(X)
    assert ours.decision_function(X).shape == decision.shape
    if parameters.get("decision_function_shape") == "ovo" or decision.ndim == 1:
        assert_allclose(ours.decision_function(X), decision, atol=2e-6)
    else:
        assert_allclose(ours.decision_function(X), decision, atol=1e-5)
    far = np.abs(decision) > 1e-5 if decision.ndim == 1 else np.full(len(y), True)
    assert_array_equal(ours.predict(X)[far], theirs.predict(X)[far])
    assert_allclose(ours.score(X, y), theirs.score(X, y), atol=1 / len(y))


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_same_attributes(name, form):
    X, y = data(name, form)
    ours, theirs = both(X, y, kernel="rbf", C=2.0)
    for attribute in ATTRIBUTES:
        mine, other = getattr(ours, attribute), getattr(theirs, attribute)
        assert np.shape(mine) == np.shape(other), attribute
        if hasattr(other, "dtype"):
            assert mine.dtype.kind == other.dtype.kind, attribute
    assert_array_equal(ours.support_, theirs.support_)
    assert_array_equal(ours.n_support_, theirs.n_support_)
    assert_allclose(ours.class_weight_, theirs.class_weight_)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert ours.fit_status_ == 0 and ours.shape_fit_ == X.shape
    dense = (lambda A: A.toarray()) if form == "csr" else np.asarray
    assert_allclose(dense(ours.support_vectors_), dense(theirs.support_vectors_))
    # The Gaussian kernel of distinct points is definite: the dual answer is unique.
    assert_allclose(dense(ours.dual_coef_), dense(theirs.dual_coef_), atol=2e-4)


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_linear_coefficients(name, form):
    X, y = data(name, form)
    ours, theirs = both(X, y, kernel="linear", C=0.5)
    dense = (lambda A: A.toarray()) if sparse.issparse(theirs.coef_) else np.asarray
    mine = ours.coef_.toarray() if sparse.issparse(ours.coef_) else ours.coef_
    assert_allclose(mine, dense(theirs.coef_), atol=2e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5)


def test_coef_is_there_for_the_linear_kernel_only():
    X, y = data("iris")
    model = SVC(kernel="rbf").fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="coef_"):
        _ = model.coef_


def test_digits_with_ten_classes():
    X, y = load_digits(return_X_y=True)
    train, test = slice(None, None, 2), slice(1, None, 2)
    ours, theirs = both(X[train], y[train], C=5.0, gamma=0.001)
    assert len(ours.certificate_) == 45
    assert_array_equal(ours.predict(X[test]), theirs.predict(X[test]))
    assert_allclose(
        ours.decision_function(X[test]), theirs.decision_function(X[test]), atol=1e-4
    )
    assert_array_equal(ours.support_, theirs.support_)


def test_break_ties_needs_ovr_in_scikit_learns_words():
    X, y = data("iris")
    model = SVC(break_ties=True, decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="break_ties must be False when"):
        model.predict(X)


def test_string_labels_and_data_frames():
    pandas = pytest.importorskip("pandas")
    X, y = data("iris")
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    model = SVC().fit(frame, names)
    assert_certificates(model)
    assert_array_equal(model.feature_names_in_, ["a", "b", "c", "d"])
    assert set(model.predict(frame)) == set(names)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c", "d"]])


def test_precomputed_and_callable_kernels_are_the_same_model():
    X, y = data("wine")
    train, test = slice(0, None, 2), slice(1, None, 2)

    def kernel(A, B):
        return (A @ B.T + 1.0) ** 2

    direct = SVC(kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X[train], y[train])
    called = SVC(kernel=kernel).fit(X[train], y[train])
    given = SVC(kernel="precomputed").fit(kernel(X[train], X[train]), y[train])
    for model in (direct, called, given):
        assert_certificates(model)
    expected = direct.decision_function(X[test])
    assert_allclose(called.decision_function(X[test]), expected, atol=1e-6)
    K = kernel(X[test], X[train])
    assert_allclose(given.decision_function(K), expected, atol=1e-6)
    theirs = sklearn.svm.SVC(kernel="precomputed", tol=1e-9)
    theirs.fit(kernel(X[train], X[train]), y[train])
    assert given.support_vectors_.shape == theirs.support_vectors_.shape
    assert_allclose(theirs.decision_function(K), expected, atol=1e-5)


@pytest.mark.parametrize("form", ["float64", "float32", "csr"])
@pytest.mark.parametrize("name", LOADERS)
def test_the_laplacian_kernel_is_scikit_learns_function(name, form):
    X, y = data(name)
    if form == "csr":  # wide enough to stay sparse
        X = np.hstack([np.where(np.abs(X) > 1, X, 0.0), np.zeros((len(X), 90))])
    X = X.astype(np.float32 if form == "float32" else np.float64)
    kernel = functools.partial(laplacian_kernel, gamma=0.2)
    theirs = sklearn.svm.SVC(kernel=kernel, C=2.0, tol=1e-9).fit(X, y)
    given = sparse.csr_matrix(X) if form == "csr" else X
    ours = SVC(kernel="laplacian", gamma=0.2, C=2.0, polish=True).fit(given, y)
    assert_certificates(ours)
    # LIBSVM keeps kernel rows in float32
    assert_allclose(
        ours.decision_function(given), theirs.decision_function(X), atol=2e-5
    )


def test_memory_mapped_precomputed_kernel(tmp_path):
    X, y = data("breast cancer")
    np.save(tmp_path / "K.npy", np.exp(-0.03 * ((X[:, None] - X[None]) ** 2).sum(-1)))
    K = np.load(tmp_path / "K.npy", mmap_mode="r")
    model = SVC(kernel="precomputed").fit(K, y)
    assert_certificates(model)
    direct = SVC(gamma=0.03).fit(X, y)
    assert_allclose(model.decision_function(K), direct.decision_function(X), atol=1e-6)


def test_polished_fits_have_exact_decision_values():
    # n <= 2000: decision values exact to about 1e-9, whatever the order of the rows.
    X, y = data("breast cancer")
    order = np.random.default_rng(0).permutation(len(y))
    straight = SVC(C=3.0).fit(X, y)
    shuffled = SVC(C=3.0).fit(X[order], y[order])
    assert straight.certificate_.status == "polished"
    assert_allclose(
        straight.decision_function(X), shuffled.decision_function(X), atol=1e-8
    )


def test_support_vectors_are_as_the_samples_were_given():
    """What docs/from_sklearn.rst says differs, and still does."""
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    for given in (X.astype(np.float32), sparse.csr_array(X), sparse.csr_matrix(X)):
        kept = SVC(gamma=0.1).fit(given, y).support_vectors_
        assert type(kept) is type(given) and kept.dtype == given.dtype
    assert sklearn.svm.SVC().fit(X.astype(np.float32), y).support_vectors_.dtype == "d"
    model = SVC(kernel=lambda A, B: A @ B.T).fit(X, y)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


def test_balanced_classes_are_counted_by_weight():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    weights = 1.0 + (np.arange(100) < 60)
    rows = np.repeat(np.arange(100), weights.astype(int))
    ours = SVC(class_weight="balanced").fit(X, y, sample_weight=weights)
    again = SVC(class_weight="balanced").fit(X[rows], y[rows])
    assert_allclose(ours.class_weight_, again.class_weight_)

"""SVC as an estimator: records, warm start, intercept, limits, composition, files."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    make_classification,
    make_moons,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC

X, y = make_moons(200, noise=0.25, random_state=0)


def test_certificate_and_history():
    model = SVC().fit(X, y)
    certificate = model.certificate_
    assert certificate.status == "polished"
    assert certificate.gap >= 0 and certificate.kkt_violation <= 1e-8
    assert_allclose(
        certificate.objective - certificate.bound, certificate.gap, atol=1e-9
    )
    assert isinstance(model.history_, list)
    for stage in model.history_:
        assert {"stage", "size", "seconds", "objective", "gap"} <= set(stage)


def test_certificates_of_three_classes_are_in_pair_order():
    iris, species = load_iris(return_X_y=True)
    model = SVC(C=1.0, gamma=0.25).fit(iris, species)
    assert len(model.certificate_) == 3
    pairs = [(0, 1), (0, 2), (1, 2)]
    for certificate, (first, second) in zip(model.certificate_, pairs, strict=True):
        chosen = (species == first) | (species == second)
        alone = SVC(C=1.0, gamma=0.25).fit(iris[chosen], species[chosen])
        assert_allclose(certificate.objective, alone.certificate_.objective, rtol=1e-8)


def test_a_large_fit_keeps_its_tolerance():
    big, labels = make_moons(5000, noise=0.3, random_state=1)
    model = SVC(tol=1e-3).fit(big, labels)
    assert model.certificate_.kkt_violation <= 1e-3
    tight = SVC(tol=1e-6).fit(big, labels)
    assert tight.certificate_.kkt_violation <= 1e-6
    assert tight.certificate_.objective <= model.certificate_.objective + 1e-9
    assert_allclose(
        model.decision_function(big), tight.decision_function(big), atol=1e-2
    )


def test_no_intercept():
    model = SVC(fit_intercept=False).fit(X, y)
    assert_array_equal(model.intercept_, [0.0])
    assert model.certificate_.kkt_violation <= 1e-3
    assert abs(model.dual_coef_.sum()) > 1e-6  # no equality constraint


def test_warm_start_is_the_cold_answer_sooner():
    big, labels = make_classification(1500, 10, flip_y=0.1, random_state=0)
    model = SVC(C=1.0, warm_start=True, polish=True).fit(big, labels)
    model.set_params(C=1.05)
    model.fit(big, labels)
    cold = SVC(C=1.05, polish=True).fit(big, labels)
    assert model.certificate_.kkt_violation <= 1e-3
    assert_allclose(
        model.decision_function(big), cold.decision_function(big), atol=1e-6
    )
    assert model.n_iter_.sum() < cold.n_iter_.sum()


@pytest.mark.parametrize("change", ["rows", "classes", "kernel"])
def test_warm_start_that_does_not_fit_starts_cold_with_a_warning(change):
    model = SVC(warm_start=True).fit(X, y)
    samples, labels = X, y
    if change == "rows":
        samples, labels = X[:150], y[:150]
    elif change == "classes":
        labels = np.where(y == 1, "yes", "no")
    else:
        model.set_params(kernel="linear")
    with pytest.warns(UserWarning, match="warm_start"):
        model.fit(samples, labels)
    cold = clone(model).fit(samples, labels)
    assert_allclose(model.decision_function(X), cold.decision_function(X), atol=1e-7)


def test_warm_start_with_three_classes():
    iris, species = load_iris(return_X_y=True)
    model = SVC(warm_start=True).fit(iris, species)
    model.set_params(C=2.0).fit(iris, species)
    cold = SVC(C=2.0).fit(iris, species)
    assert_allclose(
        model.decision_function(iris), cold.decision_function(iris), atol=1e-6
    )


def test_warm_start_warns_once_for_all_pairs_of_classes():
    iris, species = load_iris(return_X_y=True)
    model = SVC(warm_start=True).fit(iris, species).set_params(kernel="linear")
    with pytest.warns(UserWarning, match="warm_start") as caught:
        model.fit(iris, species)
    assert len(caught) == 1


def test_warm_start_finds_its_rows_among_those_without_weight():
    weights = np.ones(y.size)
    weights[::3] = 0.0
    model = SVC(warm_start=True).fit(X, y, weights)
    cold = model.n_iter_[0]
    model.fit(X, y, weights)
    assert model.n_iter_[0] < 0.1 * cold


def test_fit_does_not_change_its_parameters_or_its_data():
    model = SVC(gamma="scale", class_weight="balanced", cache_size="auto")
    before = model.get_params()
    samples, labels = X.copy(), y.copy()
    model.fit(samples, labels)
    assert model.get_params() == before
    assert_array_equal(samples, X)
    assert_array_equal(labels, y)


def test_same_random_state_same_bits():
    models = [SVC(random_state=0).fit(X, y) for _ in range(2)]
    assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_dtypes_and_orders(dtype, order):
    given = np.array(X, dtype=dtype, order=order)
    model = SVC(gamma=1.0).fit(given, y)
    assert model.support_vectors_.dtype == dtype
    expected = SVC(gamma=1.0).fit(X, y).decision_function(X)
    tolerance = 1e-8 if dtype == np.float64 else 1e-4
    assert_allclose(model.decision_function(given), expected, atol=tolerance)


@pytest.mark.parametrize("n", [3, 4, 6])
def test_fewer_samples_than_usual(n):
    rng = np.random.default_rng(0)
    model = SVC().fit(rng.standard_normal((n, 2)), np.arange(n))  # n classes
    assert len(model.certificate_) == n * (n - 1) // 2
    assert_array_equal(model.n_support_, np.ones(n))


def test_constant_features():
    constant = np.hstack([X, np.full((200, 1), 7.0)])
    model = SVC(gamma=0.5).fit(constant, y)
    expected = SVC(gamma=0.5).fit(X, y).decision_function(X)
    assert_allclose(model.decision_function(constant), expected, atol=1e-7)
    only = SVC().fit(np.ones((10, 3)), [0, 1] * 5)
    assert only.certificate_.kkt_violation <= 1e-3


def test_max_time_warns_and_the_model_predicts():
    rng = np.random.default_rng(0)
    big = rng.standard_normal((20_000, 30))
    labels = rng.integers(0, 2, 20_000)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SVC(C=100.0, gamma=0.1, max_time=0.2).fit(big, labels)
    assert model.certificate_.status == "max_time"
    assert len(model.predict(big[:10])) == 10


def test_inside_pipeline_search_and_calibration():
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = GridSearchCV(pipeline, {"svc__C": [0.1, 1.0, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    calibrated = CalibratedClassifierCV(SVC(), ensemble=False, cv=3).fit(X, y)
    assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_pickle_keeps_every_bit(form, kernel):
    given = sparse.csr_matrix(X) if form == "csr" else X
    model = SVC(kernel=kernel).fit(given, y)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(given), model.decision_function(given))
    assert again.certificate_ == model.certificate_


@pytest.mark.parametrize("classes", [2, 3])
def test_skops_keeps_every_bit(classes):
    skops = pytest.importorskip("skops.io")
    samples, labels = load_iris(return_X_y=True)
    samples, labels = samples[labels < classes], labels[labels < classes]
    model = SVC().fit(samples, labels)
    stored = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=stored)
    assert all(name.startswith("widemargin.") for name in unknown)
    again = skops.loads(stored, trusted=unknown)
    assert_array_equal(
        again.decision_function(samples), model.decision_function(samples)
    )


def test_linear_kernel_with_many_rows():
    cancer, labels = load_breast_cancer(return_X_y=True)
    cancer = StandardScaler().fit_transform(cancer)
    rows = np.random.default_rng(0).integers(0, len(labels), 6000)
    noisy = cancer[rows] + 0.5 * np.random.default_rng(1).standard_normal((6000, 30))
    for fit_intercept in (True, False):
        model = SVC(kernel="linear", C=0.1, fit_intercept=fit_intercept)
        model.fit(noisy, labels[rows])
        assert model.certificate_.kkt_violation <= 1e-3
        assert_allclose(
            model.decision_function(noisy),
            noisy @ model.coef_.ravel() + model.intercept_,
            atol=1e-8,
        )


def test_objective_falls_as_C_grows():
    values = [SVC(C=C).fit(X, y).certificate_.objective / C for C in (0.1, 1, 10, 100)]
    assert all(later < earlier for earlier, later in pairwise(values))


@pytest.mark.parametrize("targets", [[0.5, 1.0], [0.0, 1.5], [-0.25, 0.25]])
def test_two_numbers_that_are_no_labels_are_refused_in_scikit_learns_words(targets):
    y_numbers = np.where(y == y[0], *targets)
    with pytest.raises(ValueError, match="Unknown label type"):
        SVC().fit(X, y_numbers)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_narrow_kernels_decide_by_what_single_precision_loses(n_classes):
    """Without an intercept the nearest sample decides, however small its kernel."""
    rng = np.random.default_rng(0)
    X = rng.random((1200 * n_classes, 3))  # more than 2,000 a pair: no polish
    y = (n_classes * X[:, 0]).astype(int)
    model = SVC(C=1.0, gamma=3e4, fit_intercept=False).fit(X, y)
    assert model.certificate_ is not None and not model._exact
    far = rng.random((500, 3))
    decisions = model.decision_function(far)
    kernel = rbf_kernel(far, X[model.support_], gamma=3e4)
    assert (kernel.max(axis=1) < 1e-38).any()  # nothing is left of it in float32
    if n_classes == 2:
        exact = kernel @ model.dual_coef_[0]
        assert_array_equal(model.predict(far), (exact >= 0).astype(int))
        assert (decisions[kernel.max(axis=1) > 0] != 0).all()
    right = (n_classes * far[:, 0]).astype(int)
    assert np.mean(model.predict(far) == right) > 0.9


def test_a_callable_kernel_may_return_a_sparse_matrix():
    given = sparse.csr_array(X)
    model = SVC(kernel=lambda A, B: A @ B.T).fit(given, y)
    assert model.certificate_.kkt_violation <= 1e-3
    expected = SVC(kernel="linear").fit(X, y).decision_function(X)
    assert_allclose(model.decision_function(given), expected, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("fitted", [np.float32, np.float64])
@pytest.mark.parametrize("asked", [np.float32, np.float64])
def test_sparse_samples_of_either_precision_are_predicted(kernel, fitted, asked):
    iris, species = load_iris(return_X_y=True)
    iris = iris.astype(np.float32).astype(float)  # the same numbers in both
    for samples, labels in ((X.astype(np.float32), y), (iris, species)):
        given = sparse.csr_matrix(samples)
        model = SVC(kernel=kernel, gamma=0.5).fit(given.astype(fitted), labels)
        expected = SVC(kernel=kernel, gamma=0.5).fit(given.toarray(), labels)
        assert_allclose(
            model.decision_function(given.astype(asked)),
            expected.decision_function(given.toarray()),
            atol=1e-5,
        )


@pytest.mark.parametrize("kernel", ["precomputed", "linear"])
def test_rows_without_weight_count_in_the_shape_of_the_fit(kernel):
    given = X @ X.T if kernel == "precomputed" else X
    weights = np.where(np.arange(len(X)) % 3, 1.0, 0.0)
    model = SVC(kernel=kernel).fit(given, y, sample_weight=weights)
    assert model.shape_fit_ == given.shape

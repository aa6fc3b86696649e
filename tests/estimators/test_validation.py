"""Threads and memory an estimator may use; what needs no long look."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.datasets import make_moons

from widemargin import SVC, SVR, NuSVC, NuSVR, OneClassSVM, QuantileSVR
from widemargin.estimators.base import validation
from widemargin.estimators.base.validation import (
    cache_megabytes,
    class_numbers,
    effective_threads,
    plain_labels,
    plain_samples,
)


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(validation, "_cores", lambda: 8)


@pytest.mark.parametrize(
    ("n_jobs", "threads"), [(None, 8), (1, 1), (3, 3), (-1, 8), (-2, 7), (-100, 1)]
)
def test_threads_are_counted_as_joblib_counts(n_jobs, threads):
    assert effective_threads(n_jobs) == threads


def test_zero_threads_are_refused():
    with pytest.raises(ValueError, match="n_jobs"):
        effective_threads(0)


def test_little_work_is_for_one_thread_unless_more_are_asked_for():
    few = validation.ONE_THREAD
    assert effective_threads(None, work=few) == 1
    assert effective_threads(None, work=few + 1) == 8
    assert effective_threads(3, work=few) == 3
    with pytest.raises(ValueError, match="n_jobs"):
        effective_threads(0, work=few)


def test_the_environment_limits_the_default_only(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert effective_threads(None) == 2
    assert effective_threads(4) == 4


def test_inside_a_joblib_worker_a_fit_has_one_thread():
    with parallel_config(backend="threading", n_jobs=2):
        counts = Parallel()(delayed(effective_threads)(None) for _ in range(4))
    assert counts == [1, 1, 1, 1]
    X, y = make_moons(50, random_state=0)
    models = Parallel(n_jobs=2)(delayed(SVC().fit)(X, y) for _ in range(2))
    assert [model.certificate_.threads for model in models] == [1, 1]


def test_automatic_cache_is_a_quarter_of_what_is_free_and_never_more_than_all(
    monkeypatch,
):
    monkeypatch.setattr(validation, "free_megabytes", lambda: 4000.0)
    assert cache_megabytes("auto", 1_000_000) == 1000.0
    assert cache_megabytes("auto", 10_000) <= 4e-6 * 10_000 * 10_100
    assert cache_megabytes("auto", 10) <= 16.0
    assert cache_megabytes(200, 10) == 200.0


def test_a_small_cache_is_kept_to():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 5)), rng.integers(0, 2, 3000)
    small = SVC(gamma=0.3, cache_size=1.0, random_state=0).fit(X, y)
    assert small.certificate_.kkt_violation <= 1e-3
    large = SVC(gamma=0.3, cache_size=500.0, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        small.decision_function(X), large.decision_function(X), atol=5e-3
    )


@pytest.mark.parametrize(
    "X",
    [
        [[1.0, 2.0]],
        np.ones((2, 2), dtype=int),
        np.ones(3),
        np.ones((0, 2)),
        np.ones((2, 0)),
        np.asfortranarray(np.ones((3, 2))),
        np.array([[1.0, np.nan]]),
        np.array([[np.inf, 1.0]]),
        np.ma.masked_array(np.ones((2, 2))),
    ],
)
def test_what_is_not_plain_is_left_to_scikit_learn(X):
    assert not plain_samples(X)


def test_plain_samples_and_labels():
    for dtype in (np.float32, np.float64):
        assert plain_samples(np.ones((3, 2), dtype=dtype))
    assert plain_samples(np.array([[1e308, 1e308]]))  # though not their sum
    assert not plain_samples(np.ones((3, 2)).astype(">f8"))
    for labels in ([0, 1, 1], [-1.0, 1.0], [False, True]):
        assert plain_labels(np.array(labels))
    for labels in ([0, 1, 2], [0.5, 1.0], ["a", "b"], [[0], [1]], [], [0.0, np.nan]):
        assert not plain_labels(np.array(labels))
    assert not plain_labels(np.array([1.0, np.inf]))
    assert not plain_labels([0, 1])


@pytest.mark.parametrize(
    "y",
    [
        np.array([3, 1, 1, 7, 3]),
        np.resize(np.array([-128, -1, 127], dtype=np.int8), 200),
        np.array([10**12, 0, 10**12]),
        np.array([2.0, 0.0, 2.0]),
        np.array(["b", "a", "b"]),
        np.array([200, 100, 250], dtype=np.uint8),
        np.array([True, False]),
    ],
    ids=lambda y: str(y.dtype),
)
def test_labels_are_numbered_as_numpy_would(y):
    classes, numbers = class_numbers(y)
    expected, inverse = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(numbers, inverse)
    assert classes.dtype == expected.dtype and numbers.dtype == inverse.dtype


@pytest.mark.parametrize("kind", [SVC, NuSVC, OneClassSVM])
def test_weights_that_no_sum_can_hold_are_named(kind):
    X, y = make_moons(50, random_state=0)
    with pytest.raises(ValueError, match=r"sample_weight reaches 1e\+300.*Divide all"):
        kind().fit(X, y, sample_weight=np.full(50, 1e300))
    assert kind().fit(X, y, sample_weight=np.full(50, 1e3)).support_.size


@pytest.mark.parametrize("labels", [
    [-1.0, 1.0, 1.0, -1.0], [3.0, 0.0, 3.0], [0.5, 1.5, 0.5], [1e300, -1e300],
    [2.0], [-7.0, 1e9], [0.0, 1e17, 1.0],
], ids=str)  # fmt: skip
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_labels_that_are_floats_are_numbered_as_by_sorting(labels, kind):
    with np.errstate(over="ignore"):
        y = np.tile(np.array(labels, dtype=np.float64), 9).astype(kind)
    if not np.isfinite(y).all():
        return
    classes, numbers = class_numbers(y)
    expected, places = np.unique(y, return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(numbers, places)
    assert classes.dtype == kind and numbers.dtype == np.intp


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (SVC(kernel="linear"), "tol", np.float64(1e-3)),
        (SVC(kernel="linear"), "tol", np.float32(2.0**-10)),
        (SVC(kernel="linear"), "C", np.float32(0.5)),
        (SVC(), "gamma", np.float32(0.5)),
        (SVC(polish=False), "max_iter", np.int64(7)),
        (SVC(), "polish", np.True_),
        (SVC(), "polish", np.False_),
        (NuSVC(), "nu", np.float16(0.75)),
        (NuSVR(), "nu", np.float32(0.2)),
        (SVR(), "epsilon", np.float32(0.25)),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_numbers_and_truths_of_numpy_are_those_of_python(model, name, value):
    """As a grid from np.logspace gives them; the constant is beyond float32 rows."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(2100, 1e5), rng.standard_normal((2100, 2))])
    y = (X[:, 1] + 0.5 * rng.standard_normal(2100) > 0).astype(int)
    for rows in (slice(150), slice(None)):
        model.set_params(**{name: value}).fit(X[rows], y[rows])
        one = model.predict(X), model.certificate_.status, model.dual_coef_
        model.set_params(**{name: value.item()}).fit(X[rows], y[rows])
        two = model.predict(X), model.certificate_.status, model.dual_coef_
        np.testing.assert_equal(one, two)


def test_a_truth_of_numpy_demands_as_python_s_does():
    X, y = make_moons(60, random_state=0)
    with pytest.raises(ValueError, match="probability=True is not offered"):
        SVC(probability=np.True_).fit(X, y)
    with pytest.raises(ValueError, match="calibrate"):
        QuantileSVR(calibrate=np.True_, keep_rows=True).fit(X, X[:, 0])


@pytest.mark.parametrize("choice", [np.True_, np.False_])
def test_a_truth_of_numpy_decides_over_updates(choice):
    X, y = make_moons(300, noise=0.3, random_state=0)
    found = []
    for exact in (choice, bool(choice)):
        model = SVC(polish=False, keep_rows=True, exact_updates=exact)
        found.append(model.fit(X[:299], y[:299]).partial_fit(X[299:], y[299:]))
    one, two = found
    assert one.certificate_.status == two.certificate_.status
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)

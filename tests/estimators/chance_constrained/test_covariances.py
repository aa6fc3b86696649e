"""What users say of covariances: estimated, given, refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from widemargin import ChanceConstrainedSVC
from widemargin.estimators.chance_constrained.block_sources import Block, in_memory
from widemargin.estimators.chance_constrained.first_pass import first_pass
from widemargin.uncertainty.covariances import (
    class_matrices,
    given_covariances,
    moments_of,
    sample_covariances,
)

CLASSES = np.array(["a", "b"])


def class_covariances(X, labels, classes, weights, scale):
    """Return the table that a fit estimates from rows in memory."""
    rows = Block(X, classes[labels], sample_weight=weights)
    model = ChanceConstrainedSVC(covariance_scale=scale)
    return first_pass(in_memory([rows]), model).table


@pytest.fixture
def two_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) + 5.0
    return X, np.repeat([0, 1], 15)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, np.float32])
def test_class_covariance_is_numpys_with_ddof_one(two_classes, convert):
    X, labels = two_classes
    table = class_covariances(convert(X), labels, CLASSES, np.ones(30), 0.01)
    tolerance = 1e-4 if convert is np.float32 else 1e-9
    for k in range(2):
        expected = 0.01 * np.cov(X[labels == k].T)
        assert_allclose(table.dense()[k], expected, rtol=tolerance)


def test_weights_are_repetitions(two_classes):
    X, labels = two_classes
    weights = np.random.default_rng(1).integers(1, 4, size=30)
    rows = np.repeat(np.arange(30), weights)
    weighted = class_covariances(X, labels, CLASSES, weights.astype(float), 1.0)
    repeated = class_covariances(
        X[rows], labels[rows], CLASSES, np.ones(len(rows)), 1.0
    )
    assert_allclose(weighted.dense(), repeated.dense(), rtol=1e-12)


def test_few_samples_are_kept_as_factors(two_classes):
    X, _ = two_classes
    labels = np.array([0, 0, 1, 1, 1])
    table = class_covariances(X[:5], labels, CLASSES, np.ones(5), 1.0)
    for k in range(2):
        assert_allclose(table.dense()[k], np.cov(X[:5][labels == k].T), rtol=1e-9)
    null = np.linalg.svd(X[:2] - X[:2].mean(axis=0))[2][-1]
    assert np.abs(table.images(null)[0]).max() <= 1e-15


def test_many_samples_beside_few_are_a_triangle():
    X = np.random.default_rng(2).normal(size=(20_000, 3)) + 5.0  # several blocks
    X[:, 2] = 0.1  # constant, up to rounding
    labels = np.array([0] * 19_998 + [1] * 2)
    weights = np.random.default_rng(3).integers(1, 3, size=len(X)).astype(float)
    table = class_covariances(X, labels, CLASSES, weights, 0.5)
    assert table.entries.shape == (2, 3, 3)
    for k in range(2):
        own = labels == k
        expected = 0.5 * np.cov(X[own].T, fweights=weights[own].astype(int))
        assert_allclose(table.dense()[k], expected, rtol=1e-9, atol=1e-15)
    assert np.abs(table.images(np.array([0.0, 0.0, 1.0]))).max() <= 1e-15


def test_a_class_with_one_sample_is_certain(two_classes):
    X, _ = two_classes
    labels = np.array([0] * 10 + [1])
    table = class_covariances(X[:11], labels, CLASSES, np.ones(11), 0.01)
    assert_allclose(table.dense()[1], 0.0, atol=0.0)


def test_total_weight_of_at_most_one_is_explained(two_classes):
    X, labels = two_classes
    with pytest.raises(ValueError, match="numbers of repetitions, but class a"):
        class_covariances(X, labels, CLASSES, np.full(30, 1 / 30), 0.01)


def test_moments_of_parts_merge(two_classes):
    X, _ = two_classes
    weights = np.random.default_rng(2).random(30)
    whole = moments_of(X, weights)
    parts = moments_of(X[:11], weights[:11])
    parts = parts.merged(moments_of(X[11:], weights[11:]))
    assert_allclose(parts.mass, whole.mass)
    assert_allclose(parts.mean, whole.mean)
    assert_allclose(parts.scatter, whole.scatter, rtol=1e-10)
    table = class_matrices([whole], 2.0, CLASSES[:1])
    assert_allclose(table.entries[0], whole.scatter * 2.0 / (whole.mass - 1.0))


def test_one_matrix_or_one_for_each_label():
    one = np.diag([1.0, 2.0])
    assert_allclose(given_covariances(one, CLASSES, 2).dense(), [one, one])
    both = given_covariances({"b": 2 * one, "a": one}, CLASSES, 2)
    assert_allclose(both.dense(), [one, 2 * one])


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (np.eye(3), r"covariance has shape \(3, 3\), expected \(2, 2\)"),
        ({"a": np.eye(2)}, r"no matrix for the classes \['b'\]"),
        (
            {"a": np.eye(2), "b": [[1.0, 1.0], [0.0, 1.0]]},
            r"covariance\['b'\] is not s",
        ),
        (np.diag([1.0, -2.0]), "smallest eigenvalue is -2"),
        (np.diag([1.0, np.nan]), "NaN or infinity"),
    ],
)
def test_bad_matrices_are_refused(covariance, message):
    with pytest.raises(ValueError, match=message):
        given_covariances(covariance, CLASSES, 2)


def bad_matrix(entry):
    matrices = np.stack([np.eye(2)] * 4)
    matrices[2] = entry
    return matrices


@pytest.mark.parametrize(
    ("covariance", "factor", "message"),
    [
        (np.ones((3, 2)), None, r"shape \(3, 2\), expected \(4, 2\) for variances"),
        (np.ones((4, 2, 3)), None, r"\(4, 2, 2\) for matrices"),
        (-np.eye(4)[:, :2], None, "sample 0 has a negative variance"),
        (bad_matrix([[1, 2], [0, 1]]), None, "of sample 2 is not symmetric"),
        (bad_matrix([[1, 2], [2, 1]]), None, r"sample 2 is not positive.*is -1"),
        (bad_matrix(np.inf), None, "NaN or infinity, first in entry 2"),
        (None, np.ones((4, 3, 1)), r"expected \(4, 2, r\)"),
        (None, np.full((4, 2, 1), np.nan), "covariance_factor contains NaN"),
        (np.ones((4, 2)), np.ones((4, 2, 1)), "were both given"),
    ],
)
def test_bad_sample_covariances_are_refused(covariance, factor, message):
    with pytest.raises(ValueError, match=message):
        sample_covariances(covariance, factor, 4, 2)


def test_rounding_is_forgiven():
    matrix = np.array([[1.0, 1.0], [1.0 + 1e-12, 1.0]])
    found = sample_covariances(np.stack([matrix] * 4), None, 4, 2).table.dense()
    assert_allclose(found[0], found[0].T, atol=0.0)


def test_matrices_of_all_samples_are_not_copied():
    """(n, d, d) is the largest thing a user can hand in: nothing of its size is made.

    Rows of weight zero, or matrices that are symmetric only up to rounding, cost one
    copy.
    """
    rng = np.random.default_rng(0)
    n, d = 3000, 20
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + 0.7 * y[:, None]
    roots = 0.05 * rng.normal(size=(n, d, d))
    matrices = roots @ roots.transpose(0, 2, 1)
    matrices = 0.5 * (matrices + matrices.transpose(0, 2, 1))
    tracemalloc.start()
    try:
        model = ChanceConstrainedSVC().fit(X, y, covariance=matrices)
        exact = tracemalloc.get_traced_memory()[1]
        matrices[:, 0, 1] *= 1.0 + 1e-12
        tracemalloc.reset_peak()
        rounded = ChanceConstrainedSVC().fit(X, y, covariance=matrices)
        inexact = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.certificate_.gap <= 1e-9 * model.certificate_.objective
    assert_allclose(rounded.coef_, model.coef_, rtol=1e-8)
    assert exact <= 0.75 * matrices.nbytes
    assert inexact <= 1.75 * matrices.nbytes

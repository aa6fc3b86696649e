"""The same samples in every layout: dense, CSR, kernel matrix, function, float32."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

GAMMA = 0.5


def sparse_rows(X):
    """Return samples as CSR with 64-bit indices, as large files give them."""
    rows = sparse.csr_matrix(X)
    rows.indices, rows.indptr = rows.indices.astype("i8"), rows.indptr.astype("i8")
    return rows


def assert_same_in_every_layout(estimator, X, y, method="predict", *, single=1e-5):
    """Fit every layout of the samples; return the dense model and its answers.

    `single` is the largest difference that float32 samples may make.
    """

    def fitted(samples, **settings):
        return clone(estimator).set_params(**settings).fit(samples, y)

    def answers(model, samples):
        return getattr(model, method)(samples)

    dense, rows = fitted(X, gamma=GAMMA), sparse_rows(X)
    expected = answers(dense, X)
    of_rows = fitted(rows, gamma=GAMMA)
    for model, samples in ((of_rows, rows), (of_rows, X), (dense, rows)):
        assert_allclose(answers(model, samples), expected, atol=1e-8)
    K = rbf_kernel(X, gamma=GAMMA)
    given = fitted(K, kernel="precomputed")
    assert_allclose(answers(given, K), expected, atol=1e-8)
    called = fitted(X, kernel=lambda A, B: rbf_kernel(A, B, gamma=GAMMA))
    assert_allclose(answers(called, X), expected, atol=1e-8)
    float32 = fitted(X.astype("f4"), gamma=GAMMA)
    assert float32.support_vectors_.dtype == np.float32
    assert_allclose(answers(float32, X.astype("f4")), expected, atol=single)
    return dense, expected

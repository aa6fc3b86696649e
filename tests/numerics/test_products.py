"""Products and symmetric systems without BLAS: numpy's numbers, whatever the layout."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from widemargin.numerics.cholesky import is_definite, newton_step, solve_definite
from widemargin.numerics.products import (
    add_sparse_squares,
    add_squares,
    inner,
    products,
    times,
    transposed_times,
)

RNG = np.random.default_rng(0)
DENSE = RNG.standard_normal((5000, 37))
LAYOUTS = {
    "rows": DENSE,
    "float32": DENSE.astype(np.float32),
    "columns": np.asfortranarray(DENSE),
    "strided": np.repeat(DENSE, 2, axis=0)[::2],
    "csr": sparse.csr_array(DENSE * (DENSE > 1)),
    "one row": DENSE[:1],
    "no row": DENSE[:0],
    "one column": DENSE[:, :1].copy(),
    "mask": DENSE > 0,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_with_vectors(layout):
    X = LAYOUTS[layout]
    n, d = X.shape
    across, down = RNG.standard_normal(d), RNG.standard_normal(n)
    plain = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    one, three = times(X, across), times(X, across, threads=3)
    assert_allclose(one, plain @ across, atol=1e-12)
    assert_array_equal(one, three)
    one, three = transposed_times(X, down), transposed_times(X, down, threads=3)
    assert_allclose(one, plain.T @ down, atol=1e-11)
    assert_array_equal(one, three)


def test_products_with_several_vectors():
    weights = RNG.standard_normal((37, 4)) * (RNG.random((37, 4)) > 0.5)
    expected = DENSE @ weights
    for given in (weights, sparse.csc_array(weights)):
        assert_allclose(times(DENSE, given), expected, atol=1e-12)
        assert_allclose(times(sparse.csr_array(DENSE), given), expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_matrices(dtype):
    A, B = DENSE[:53].astype(dtype), DENSE[100:111].astype(dtype)
    found = products(A, B, threads=2)
    assert found.dtype == dtype
    assert_allclose(found, A.astype(float) @ B.T, atol=200 * np.finfo(dtype).eps)
    assert_allclose(inner(DENSE[0], DENSE[1]), products(DENSE[:1], DENSE[1:2])[0, 0])


def test_sums_of_squares():
    square = np.zeros((37, 37))
    add_squares(square, DENSE, threads=2)
    assert_allclose(np.tril(square), np.tril(DENSE.T @ DENSE), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_sums_of_squares_of_sparse_rows(dtype, indices):
    X = sparse.csr_array((DENSE * (DENSE > 1)).astype(dtype))
    X.indices, X.indptr = X.indices.astype(indices), X.indptr.astype(indices)
    rows = np.arange(0, 5000, 3)
    weights = RNG.random(rows.size)
    square = np.zeros((38, 38))
    add_sparse_squares(square, X, rows, weights)
    Z = np.column_stack([X.toarray()[rows], np.ones(rows.size)]).astype(np.float64)
    assert_allclose(square, np.tril(Z.T @ (weights[:, None] * Z)), atol=1e-9)


def test_definite_systems():
    matrix = DENSE.T @ DENSE
    right = RNG.standard_normal(37)
    assert_allclose(matrix @ solve_definite(matrix, right, 2), right, atol=1e-12)
    assert is_definite(matrix) and is_definite(np.empty((0, 0)))
    matrix[5, 5] = -1.0
    assert solve_definite(matrix, right) is None and not is_definite(matrix)
    assert not is_definite(np.zeros((2, 2)))


@pytest.mark.parametrize("bordered", [True, False])
def test_duplicates_stay_where_they_are(bordered):
    X = np.concatenate([DENSE[:20], DENSE[:20]])
    K = np.exp(-0.05 * ((X[:, None] - X) ** 2).sum(axis=2))
    gradient = np.tile(RNG.standard_normal(20), 2)
    step = newton_step(K, np.arange(40), gradient, bordered=bordered)
    moved = step != 0.0
    assert np.count_nonzero(moved) == 20
    assert not (moved[:20] & moved[20:]).any()
    after = gradient + K @ step
    level = after.mean() if bordered else 0.0
    assert_allclose(after, level, atol=1e-9)
    if bordered:
        assert abs(step.sum()) < 1e-10

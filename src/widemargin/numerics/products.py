"""Products of matrices and vectors, by the threads of a fit.

Not by numpy's ``@``: behind it is a BLAS, whose threads are as many as the process may
use, whatever ``n_jobs`` says. They wait for each other by spinning: beside any other
load a small fit took 10 to 50 times its processor time. Limits (threadpoolctl) are for
the whole process, and fits side by side would undo each other's. The sums here are in
float64 and in an order that does not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from widemargin import _core

Vector = NDArray[np.float64]


def inner(first: Vector, second: Vector) -> float:
    """Return the inner product of two vectors."""
    return float((first * second).sum())


def times(X: Any, weights: Any, threads: int = 1) -> Vector:
    """Return ``X @ weights`` for one vector, or for several that are mostly zero."""
    if weights.ndim > 1:  # SciPy's own loops, in one thread, pass over the zeros
        product = X @ sparse.csc_array(weights)
        return np.asarray(product.toarray() if sparse.issparse(product) else product)
    vector = np.ascontiguousarray(weights, dtype=np.float64)
    if sparse.issparse(X):
        return np.asarray(X @ vector, dtype=np.float64)
    out = np.empty(X.shape[0])
    _core.times(readable_rows(X), vector, out, threads)
    return out


def transposed_times(X: Any, weights: ArrayLike, threads: int = 1) -> Vector:
    """Return ``X.T @ weights`` for one vector."""
    vector = np.ascontiguousarray(weights, dtype=np.float64)
    if sparse.issparse(X):
        return np.asarray(X.T @ vector, dtype=np.float64)
    out = np.empty(X.shape[1])
    _core.transposed_times(readable_rows(X), vector, out, threads)
    return out


def products(A: Any, B: Any, threads: int = 1) -> NDArray[Any]:
    """Return ``A @ B.T``, B dense; in float32 if both are.

    A dense A takes the tiles that evaluate kernels: a linear kernel between rows.
    """
    if sparse.issparse(A):
        return np.asarray(A @ B.T)
    left, right = readable_rows(A), readable_rows(B)
    out = np.empty((len(left), len(right)), dtype=np.result_type(left, right))
    tiles = _core.dense_gram(left, "linear", 1.0, 0.0, 1, 0, threads)
    tiles.cross_rows(right, out)
    return out


def add_squares(square: Vector, X: Vector, threads: int = 1) -> None:
    """Add ``X.T @ X`` to the lower triangle of a matrix."""
    _core.add_squares(square, X, threads)


def add_sparse_squares(
    square: Vector, X: Any, rows: NDArray[np.integer], weights: Vector
) -> None:
    """Add ``Z.T @ diag(weights) @ Z`` to the lower triangle of a matrix.

    Z are some rows of canonical CSR samples, with a column of ones behind the features.
    """
    starts, columns = X.indptr.astype(np.int64, copy=False), X.indices
    _core.add_sparse_squares(
        square, X.data, columns.astype(np.int32, copy=False), starts,
        rows.astype(np.int32), weights,
    )  # fmt: skip


def squares(X: Vector, threads: int = 1) -> Vector:
    """Return ``X.T @ X``."""
    lower = np.zeros((X.shape[1], X.shape[1]))
    add_squares(lower, np.ascontiguousarray(X), threads)
    return lower + np.tril(lower, -1).T


def readable_rows(X: Any) -> NDArray[Any]:
    """Return a dense matrix as compiled code reads it, mostly the given one."""
    if X.dtype.char in "fd" and X.dtype.isnative and X.flags.c_contiguous:
        return X  # type: ignore[no-any-return]
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    return np.ascontiguousarray(X, dtype=dtype)

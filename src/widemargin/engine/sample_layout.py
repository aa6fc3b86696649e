"""Samples in the layout the compiled core reads: dense C order, or canonical CSR."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .kernels import CallableKernel, Kernel, Precomputed

DENSE_SHARE = 0.2  # sparse samples fuller than this are faster as dense ones
DENSE_FEATURES = 64  # with no more features they always are


def prepared_samples(X: Any, kernel: Kernel) -> Any:
    """Bring samples into the form the core reads, copying only where it must."""
    if isinstance(kernel, CallableKernel):
        return X
    if type(X) is not np.ndarray and sparse.issparse(X):
        refuse_damaged(X)
        if isinstance(kernel, Precomputed):
            return np.ascontiguousarray(X.toarray())
        return _csr(X) if _stays_sparse(X) else _contiguous(X.toarray())
    return _contiguous(X)


def _contiguous(X: Any) -> Any:
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    return np.ascontiguousarray(X, dtype=dtype)


def _stays_sparse(X: Any) -> bool:
    n, d = X.shape
    return bool(d > DENSE_FEATURES and X.nnz < DENSE_SHARE * n * d)


def refuse_damaged(X: Any) -> None:
    """Refuse sparse samples with indices out of range: compiled code trusts them.

    SciPy's does too, so this comes before any conversion or product.
    """
    if X.ndim != 2 or X.format not in ("coo", "csr", "csc"):
        return
    if X.format == "coo":
        inside = _within(X.row, X.shape[0]) and _within(X.col, X.shape[1])
    else:
        rows, columns = X.shape if X.format == "csr" else X.shape[::-1]
        offsets, stored = X.indptr, min(X.data.size, X.indices.size)
        inside = (
            (offsets.size, offsets[0]) == (rows + 1, 0)
            and offsets[-1] <= stored
            and bool((np.diff(offsets) >= 0).all())
            and _within(X.indices[: offsets[-1]], columns)
        )
    if not inside:
        raise ValueError(
            f"X is a damaged sparse matrix: its indices lead out of its {X.shape[0]} "
            f"rows and {X.shape[1]} features. Build it again from its entries."
        )


def _within(indices: Any, size: int) -> bool:
    return indices.size == 0 or bool(0 <= indices.min() <= indices.max() < size)


def _csr(X: Any) -> Any:
    out = sparse.csr_array(X)
    if not out.has_canonical_format:
        out = out.copy()
        out.sum_duplicates()
    dtype = np.float32 if out.dtype == np.float32 else np.float64
    if out.shape[1] >= 2**31:
        raise ValueError(
            f"X has {out.shape[1]} features; at most 2^31 - 1 are supported. "
            "Hash or renumber the features."
        )
    out = out.astype(dtype, copy=False)
    out.indices = np.ascontiguousarray(out.indices, dtype=np.int32)
    out.indptr = np.ascontiguousarray(out.indptr, dtype=np.int64)
    return out


def matched(Z: Any, X: Any) -> Any:
    """Give other samples the layout of the training samples."""
    if sparse.issparse(Z):
        refuse_damaged(Z)
    if sparse.issparse(X):
        return _csr(Z)
    return _contiguous(Z.toarray() if sparse.issparse(Z) else Z)


def array_parts(X: Any) -> tuple[Any, ...]:
    """Return the arrays of the samples, as the core takes them."""
    if type(X) is np.ndarray or not sparse.issparse(X):
        return (X,)
    return X.data, X.indices, X.indptr, X.shape[1]

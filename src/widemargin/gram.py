"""The kernel matrix as a handle: samples, kernel, row cache, memory and threads.

A :class:`Gram` carries no labels. Concave-convex rounds, warm starts, screening and
refinements of a problem all pass the same one on, and it remembers the rows it
evaluated; class pairs and levels take views of it, which share the samples and keep
rows of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from . import _core
from .kernels import (
    CallableKernel,
    Gaussian,
    Kernel,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from .products import times, transposed_times
from .together import go_on

DENSE_SHARE = 0.2  # sparse samples fuller than this are faster as dense ones
DENSE_FEATURES = 64  # and narrow ones always are
# multiplications between two looks at signals: a tenth of a second
PIECE_WORK = 1 << 31
ENTRY_WORK = 20  # of an entry, beside one for each feature
PREDICTION_ENTRIES = 1 << 24  # kernel entries held at once while predicting


class Gram:
    """Kernel values between samples, evaluated when asked for.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
        float32 or float64, C order; kept by reference. With a :class:`Precomputed`
        kernel the (n, n) matrix itself, which may be memory-mapped.
    kernel : Kernel
        What to evaluate.
    cache_mb : float
        Budget of the row cache in megabytes, shared by all solves on this handle.
    threads : int
        Threads a solve or product may use. Results do not depend on it.
    """

    def __init__(
        self, X: Any, kernel: Kernel, *, cache_mb: float = 200.0, threads: int = 1
    ) -> None:
        self.kernel = kernel
        self.cache_mb = cache_mb
        self.threads = threads
        self._X = _samples(X, kernel)
        self._rows: NDArray[np.int32] | None = None  # of X, for a view
        self._core: _core.Gram = _make(self._X, kernel, _bytes(cache_mb), threads)

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self._core.size)

    def __len__(self) -> int:
        """Return the number of samples."""
        return self.n

    @property
    def samples(self) -> Any:
        """The samples of this handle (of a view: a copy of its rows)."""
        if self._rows is None:
            return self._X
        square = isinstance(self.kernel, Precomputed)
        return self._X[np.ix_(self._rows, self._rows) if square else self._rows]

    @property
    def evaluated(self) -> int:
        """Kernel entries computed so far through this handle."""
        return int(self._core.evaluated)

    @property
    def single_precision_suffices(self) -> bool:
        """Whether float32 entries are good to about 1e-6 for these samples."""
        return bool(self._core.single_precision_suffices)

    @property
    def overflows(self) -> bool:
        """Whether float32 has no number for the largest entries."""
        largest = np.abs(self.diagonal()).max(initial=0.0)  # |K_ij|^2 <= K_ii K_jj
        return not largest <= float(np.finfo(np.float32).max)

    def rows(
        self,
        indices: ArrayLike,
        columns: ArrayLike | None = None,
        dtype: DTypeLike = np.float64,
    ) -> NDArray[Any]:
        """Return K[indices, columns]; all columns by default."""
        chosen, others = self._indices(indices), self._indices(columns)
        out = np.empty((chosen.size, others.size), dtype=dtype)
        self._core.rows(chosen, others, out)
        return out

    def diagonal(self) -> NDArray[np.float64]:
        """Return K(x_i, x_i) for all samples."""
        out = np.empty(self.n)
        self._core.diagonal(self._indices(None), out)
        return out

    def float32_error(self, changes: ArrayLike) -> float:
        """Estimate what float32 entries leave in ``K @ changes``: roundings add up.

        An entry is off by half a digit of the numbers it was made from; these errors
        are as good as independent.
        """
        sizes = np.empty(self.n)
        self._core.magnitudes(self._indices(None), sizes)
        np.abs(sizes, out=sizes)
        if not isinstance(self.kernel, Gaussian):  # |K_ij|^2 <= K_ii K_jj
            sizes = np.sqrt(sizes * sizes.max(initial=0.0))
        sizes *= np.asarray(changes, dtype=np.float64)
        half_digit = 0.5 * float(np.finfo(np.float32).eps)
        return half_digit * float(np.sqrt(np.square(sizes, out=sizes).sum()))

    def times(
        self,
        changes: ArrayLike,
        indices: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return K @ changes, or its entries at ``indices``, in float64.

        Only samples with a non-zero change are evaluated.
        """
        weights = np.asarray(changes, dtype=np.float64)
        if isinstance(self.kernel, Linear):  # two thin products, not n x n entries
            samples = self.samples
            primal = transposed_times(samples, weights, self.threads)
            chosen = samples if indices is None else samples[self._indices(indices)]
            return times(chosen, primal, self.threads)
        support = np.flatnonzero(weights).astype(np.int32)
        columns = self._indices(indices)
        out = np.empty(columns.size)
        for part in self._pieces(columns.size, support.size):
            self._core.times(support, weights[support], columns[part], out[part])
        return out

    def roughly_times(self, changes: ArrayLike) -> NDArray[np.float64]:
        """Return K @ changes with float32 entries, from cached rows where there are.

        As a solve would have added it: what it has left in the cache is not evaluated
        again.
        """
        if isinstance(self.kernel, Linear):
            return self.times(changes)
        weights = np.asarray(changes, dtype=np.float64)
        support = np.flatnonzero(weights).astype(np.int32)
        out = np.zeros(self.n)
        for part in self._pieces(support.size, self.n):
            self._core.add_rows(support[part], weights[support[part]], out)
        return out

    def subset(
        self,
        indices: ArrayLike,
        *,
        cache_mb: float | None = None,
        threads: int | None = None,
    ) -> Gram:
        """Return a view of some samples: nothing is copied, the cache is its own."""
        view = object.__new__(Gram)
        view.kernel = self.kernel
        view.cache_mb = self.cache_mb if cache_mb is None else cache_mb
        view.threads = self.threads if threads is None else threads
        view._X = self._X  # keeps the arrays alive
        chosen = self._indices(indices)
        view._rows = chosen if self._rows is None else self._rows[chosen]
        view._core = self._core.subset(chosen, _bytes(view.cache_mb), view.threads)
        return view

    def release(self) -> None:
        """Give the memory of the row cache back; rows are evaluated again if asked."""
        self._core.release()

    def cross(
        self, Z: Any, coefficients: Any, dtype: DTypeLike = np.float64
    ) -> NDArray[np.float64]:
        """Return sum_j coefficients_j K(z, x_j) for other samples: the prediction.

        Parameters
        ----------
        Z : array of shape (m, d)
            Other samples; with a precomputed kernel the (m, n) matrix K(z, x_j).
        coefficients : array of shape (n,), or array or sparse array of shape (n, k)
            One or several sets of coefficients.
        dtype : float32 or float64
            Precision of the kernel entries; sums are always float64.
        """
        weights = coefficients
        if not sparse.issparse(coefficients):
            weights = np.ascontiguousarray(coefficients, dtype=np.float64)
        if isinstance(self.kernel, Precomputed):
            return times(Z, weights, self.threads)
        if isinstance(self.kernel, CallableKernel):
            return self._cross_blocks(Z, weights, self._call_function)
        others = _match(Z, self._X)
        if weights.ndim == 1:
            out = np.zeros(others.shape[0])
            single = np.dtype(dtype) == np.float32
            method = self._core.cross32 if single else self._core.cross64
            for part in self._pieces(others.shape[0], self.n):
                block = _match(others[part], self._X)  # slicing may change index types
                method(*_parts(block), weights, out[part])
            return out

        def entries(block: Any) -> NDArray[Any]:
            kernel_block = np.empty((self.n, block.shape[0]), dtype=dtype)
            self._core.cross_rows(*_parts(block), kernel_block)
            return kernel_block.T

        return self._cross_blocks(others, weights, entries)

    def _call_function(self, block: Any) -> NDArray[Any]:
        assert isinstance(self.kernel, CallableKernel)
        return _called(self.kernel, block, self._X)

    def _cross_blocks(self, Z: Any, weights: Any, entries: Any) -> NDArray[np.float64]:
        step = max(1, PREDICTION_ENTRIES // max(self.n, 1))
        parts = [
            times(entries(Z[start : start + step]), weights, self.threads)
            for start in range(0, Z.shape[0], step)
        ]
        shape = (0, *weights.shape[1:])
        return np.concatenate(parts) if parts else np.empty(shape)

    def _pieces(self, size: int, others: int) -> Iterator[slice]:
        """Cut work on ``size`` x ``others`` entries so that Ctrl-C is heard between."""
        work = max(others, 1) * (self._X.shape[1] + ENTRY_WORK)
        piece = max(256, PIECE_WORK // work)
        for first in range(0, size, piece):
            go_on()
            yield slice(first, first + piece)

    def _indices(self, indices: ArrayLike | None) -> NDArray[np.int32]:
        if indices is None:
            return np.arange(self.n, dtype=np.int32)
        given = np.asarray(indices)
        if given.size and not 0 <= given.min() <= given.max() < self.n:
            raise IndexError(
                f"indices run from {given.min()} to {given.max()}; this Gram matrix "
                f"has {self.n} samples, so 0 to {self.n - 1} are there."
            )
        return np.ascontiguousarray(given, dtype=np.int32)


def _bytes(megabytes: float) -> int:
    return int(megabytes * 1e6)


def _samples(X: Any, kernel: Kernel) -> Any:
    """Bring samples into the form the core reads, copying only where it must."""
    if isinstance(kernel, CallableKernel):
        return X
    if sparse.issparse(X):
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
    """Refuse sparse samples that lead out of themselves: compiled code trusts them.

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


def _match(Z: Any, X: Any) -> Any:
    """Give other samples the layout of the training samples."""
    if sparse.issparse(Z):
        refuse_damaged(Z)
    if sparse.issparse(X):
        return _csr(Z)
    return _contiguous(Z.toarray() if sparse.issparse(Z) else Z)


def _parts(X: Any) -> tuple[Any, ...]:
    if sparse.issparse(X):
        return X.data, X.indices, X.indptr, X.shape[1]
    return (X,)


def _called(kernel: CallableKernel, A: Any, B: Any) -> NDArray[np.float64]:
    out = kernel.function(A, B)
    out = np.asarray(out.toarray() if sparse.issparse(out) else out, dtype=np.float64)
    if out.shape != (A.shape[0], B.shape[0]):
        raise ValueError(
            f"kernel returned an array of shape {out.shape}; a callable kernel must "
            f"return ({A.shape[0]}, {B.shape[0]}), one row per first sample."
        )
    if not np.isfinite(out).all():
        raise ValueError("kernel returned NaN or infinity.")
    return out


def _make(X: Any, kernel: Kernel, cache_bytes: int, threads: int) -> _core.Gram:
    if isinstance(kernel, Precomputed):
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed matrix must be a square matrix. Input is a "
                f"{X.shape[0]}x{X.shape[1]} matrix."
            )
        return _core.matrix_gram(X, cache_bytes, threads)
    if isinstance(kernel, CallableKernel):

        def fill(rows: NDArray[np.int32], columns: NDArray[np.int32], out: Any) -> None:
            np.asarray(out)[:] = _called(kernel, X[rows], X[columns])

        return _core.callback_gram(fill, X.shape[0], cache_bytes)
    match kernel:
        case Linear():
            values: tuple[str, float, float, int] = ("linear", 1.0, 0.0, 1)
        case Polynomial(degree, gamma, coef0):
            values = ("polynomial", gamma, coef0, degree)
        case Gaussian(gamma):
            values = ("gaussian", gamma, 0.0, 1)
        case Sigmoid(gamma, coef0):
            values = ("sigmoid", gamma, coef0, 1)
    maker = _core.sparse_gram if sparse.issparse(X) else _core.dense_gram
    return maker(*_parts(X), *values, cache_bytes, threads)

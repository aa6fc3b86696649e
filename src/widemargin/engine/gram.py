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

from widemargin import _core
from widemargin.numerics.products import times, transposed_times
from widemargin.runtime.cancellation import check_cancelled

from .kernels import (
    CallableKernel,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Precomputed,
    Sigmoid,
    called,
    compiled_form,
)
from .sample_layout import array_parts, matched, prepared_samples

# multiplications between checks for signals: a tenth of a second
PIECE_WORK = 1 << 31
HALF_DIGIT = 0.5 * float(np.finfo(np.float32).eps)
ENTRY_WORK = 20  # multiplications per entry, in addition to one per feature
MOST_BYTES = 1 << 62  # of a cache, however large a budget is given
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
        self._X = prepared_samples(X, kernel)
        self._rows: NDArray[np.int32] | None = None  # of X, for a view
        self._origin: tuple[Gram, NDArray[np.int32]] | None = None  # of a view not used
        self._core: _core.Gram = _make(self._X, kernel, _bytes(cache_mb), threads)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self._core.size if self._rows is None else self._rows.size

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
    def entries(self) -> dict[str, int]:
        """Kernel entries computed so far, by purpose.

        Rows of the active samples, blocks of working sets, tables of small active sets,
        inactive samples as a stage enters, between rounds and at the last check,
        products in float64, the certificate.
        """
        return dict(self._core.entries)

    @property
    def seconds(self) -> dict[str, float]:
        """Processor time of the calling thread by activity.

        Evaluating entries, pair steps, sums of cached rows, arranging rows.
        """
        return dict(self._core.seconds)

    @property
    def single_precision_suffices(self) -> bool:
        """Whether float32 entries are good to about 1e-6 for these samples."""
        return bool(self._core.single_precision_suffices)

    @property
    def overflows(self) -> bool:
        """Whether float32 has no number for the largest entries."""
        if isinstance(self.kernel, Gaussian | Laplacian | Sigmoid):
            return False  # none is above 1
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

    def diagonal(self, indices: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return K(x_i, x_i), for all samples by default."""
        chosen = self._indices(indices)
        out = np.empty(chosen.size)
        self._core.diagonal(chosen, out)
        return out

    def float32_error(self, changes: ArrayLike) -> float:
        """Estimate what float32 entries leave in ``K @ changes``: roundings add up.

        An entry is off by half a digit of the numbers it was made from; these errors
        are as good as independent.
        """
        sizes = self.largest_numbers()
        sizes *= np.asarray(changes, dtype=np.float64)
        return HALF_DIGIT * float(np.sqrt(np.square(sizes, out=sizes).sum()))

    def float32_errors(self, table: Any) -> NDArray[np.float64]:
        """Return the same for each column of a table, dense or sparse."""
        squares = table.power(2) if sparse.issparse(table) else np.square(table)
        sums = np.square(self.largest_numbers()) @ squares
        return np.asarray(HALF_DIGIT * np.sqrt(np.atleast_1d(sums)))

    def largest_numbers(self) -> NDArray[np.float64]:
        """Return how large the numbers are that a sample's entries are made from."""
        sizes = np.empty(self.n)
        self._core.magnitudes(self._indices(None), sizes)
        np.abs(sizes, out=sizes)
        if not isinstance(self.kernel, Gaussian):  # |K_ij|^2 <= K_ii K_jj
            sizes = np.sqrt(sizes * sizes.max(initial=0.0))
        return sizes

    def times(
        self,
        changes: ArrayLike,
        indices: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return K @ changes, or its entries at ``indices``, in float64.

        Only samples with a non-zero change are evaluated.
        """
        weights = np.asarray(changes, dtype=np.float64)
        if isinstance(self.kernel, Linear):  # two thin products, no entries
            samples = self.samples
            primal = transposed_times(samples, weights, self.threads)
            chosen = samples if indices is None else samples[self._indices(indices)]
            return times(chosen, primal, self.threads)
        support = np.flatnonzero(weights != 0.0).astype(np.int32)
        columns = self._indices(indices)
        out = np.empty(columns.size)
        for part in self._pieces(columns.size, support.size):
            self._core.times(support, weights[support], columns[part], out[part])
        return out

    def bounded_times(
        self,
        weights: NDArray[np.float64],
        indices: ArrayLike,
        dtype: DTypeLike = np.float64,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return entries of K @ weights and bounds on the rounding in them.

        Rounding is that of the kernel entries, in the precision ``dtype``, and of their
        sums: the kernel is meant in exact arithmetic (mathematics 8).
        """
        support = np.flatnonzero(weights != 0.0).astype(np.int32)
        columns = self._indices(indices)
        out, error = np.empty(columns.size), np.empty(columns.size)
        single = np.dtype(dtype) == np.float32
        method = self._core.bounded_times32 if single else self._core.bounded_times64
        for part in self._pieces(columns.size, support.size):
            chosen = support, weights[support], columns[part]
            method(*chosen, out[part], error[part])
        return out, error

    def bounded_products(
        self, indices: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return K @ weights[0] among some samples, its rounding, and squared norms.

        ``weights`` has a row for each vector, a column for each of the samples; the
        squared norms ``weights[v]' K weights[v]`` are upper bounds. Each entry is
        evaluated once, by symmetry, in float64.
        """
        chosen = self._indices(indices)
        values, error = np.empty(chosen.size), np.empty(chosen.size)
        squares = np.empty(len(weights))
        rows = np.ascontiguousarray(weights)
        self._core.products(chosen, rows, values, error, squares)
        return values, error, squares

    def roughly_times(self, changes: ArrayLike) -> NDArray[np.float64]:
        """Return K @ changes with float32 entries, from cached rows where available.

        As within a solve: rows that a solve has left in the cache are not evaluated
        again. Of a linear kernel, and of entries beyond float32, in float64.
        """
        if isinstance(self.kernel, Linear) or self.overflows:
            return self.times(changes)
        weights = np.asarray(changes, dtype=np.float64)
        support = np.flatnonzero(weights != 0.0).astype(np.int32)
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
        known: bool = False,
    ) -> Gram:
        """Return a view of some samples: nothing is copied, the cache is its own.

        `known` indices are certain to be there. The handle is made when it is needed.
        """
        view = object.__new__(Gram)
        view.kernel = self.kernel
        view.cache_mb = self.cache_mb if cache_mb is None else cache_mb
        view.threads = self.threads if threads is None else threads
        view._X = self._X  # keeps the arrays alive
        chosen = np.asarray(indices, np.int32) if known else self._indices(indices)
        view._rows = chosen if self._rows is None else self._rows[chosen]
        view._origin = self, chosen
        return view

    def __getattr__(self, name: str) -> _core.Gram:
        """Return the compiled handle of a view, made now."""
        if name != "_core":
            raise AttributeError(f"Gram has no attribute {name!r}")
        origin = self._origin
        if origin is not None:  # else another thread was faster
            size = _bytes(self.cache_mb)
            self._core = origin[0]._core.subset(origin[1], size, self.threads)
            self._origin = None  # its rows may be released
        made: _core.Gram = object.__getattribute__(self, "_core")
        return made

    def release(self) -> None:
        """Free the memory of the row cache; rows are evaluated again when requested."""
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
        others = matched(Z, self._X)
        if weights.ndim == 1:
            out = np.zeros(others.shape[0])
            single = np.dtype(dtype) == np.float32
            method = self._core.cross32 if single else self._core.cross64
            for part in self._pieces(others.shape[0], self.n):
                block = matched(others[part], self._X)  # slicing may change index types
                method(*array_parts(block), weights, out[part])
            return out

        def entries(block: Any) -> NDArray[Any]:
            kernel_block = np.empty((self.n, block.shape[0]), dtype=dtype)
            parts = array_parts(matched(block, self._X))  # slicing may change types
            self._core.cross_rows(*parts, kernel_block)
            return kernel_block.T

        return self._cross_blocks(others, weights, entries)

    def bounded_cross(
        self, Z: Any, weights: NDArray[np.float64], dtype: DTypeLike = np.float64
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return :meth:`cross`, and bounds on the rounding in it."""
        if isinstance(self.kernel, Precomputed | CallableKernel):
            given = (
                Z if isinstance(self.kernel, Precomputed) else self._call_function(Z)
            )
            share = 2.0**-53 * (self.n + 4)
            sizes = times(np.abs(given), np.abs(weights), self.threads)
            return times(given, weights, self.threads), share * sizes
        others = matched(Z, self._X)
        out, error = np.zeros(others.shape[0]), np.zeros(others.shape[0])
        single = np.dtype(dtype) == np.float32
        method = self._core.bounded_cross32 if single else self._core.bounded_cross64
        for part in self._pieces(others.shape[0], self.n):
            block = matched(others[part], self._X)  # slicing may change index types
            method(*array_parts(block), weights, out[part], error[part])
        return out, error

    def _call_function(self, block: Any) -> NDArray[Any]:
        assert isinstance(self.kernel, CallableKernel)
        return called(self.kernel, block, self._X)

    def _cross_blocks(self, Z: Any, weights: Any, entries: Any) -> NDArray[np.float64]:
        step = max(1, PREDICTION_ENTRIES // max(self.n, 1))
        parts = [
            times(entries(Z[start : start + step]), weights, self.threads)
            for start in range(0, Z.shape[0], step)
        ]
        shape = (0, *weights.shape[1:])
        return np.concatenate(parts) if parts else np.empty(shape)

    def _pieces(self, size: int, others: int) -> Iterator[slice]:
        """Cut ``size`` x ``others`` entries into blocks between checks for Ctrl-C."""
        features = self._X.shape[1] if self._X.ndim == 2 else 1  # objects have none
        work = max(others, 1) * (features + ENTRY_WORK)
        piece = max(256, PIECE_WORK // work)
        for first in range(0, size, piece):
            check_cancelled()
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


def release_kept_memory() -> None:
    """Return the memory that the process keeps for row caches to the system.

    Two blocks at most are kept for the next fits; the system may take them.
    """
    _core.release_kept_slabs()


def _bytes(megabytes: float) -> int:
    return int(min(megabytes * 1e6, MOST_BYTES))


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
            np.asarray(out)[:] = called(kernel, X[rows], X[columns])

        return _core.callback_gram(fill, X.shape[0], cache_bytes)
    maker = _core.sparse_gram if sparse.issparse(X) else _core.dense_gram
    return maker(*array_parts(X), *compiled_form(kernel), cache_bytes, threads)

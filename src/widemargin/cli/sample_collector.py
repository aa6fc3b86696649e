"""Samples that come in pieces, collected as dense rows or as CSR.

Kernels are faster on dense rows where many entries are not zero. The first piece of a
file says which it is to be; but where later pieces are emptier, or so much wider, that
zeros would take most of the memory, dense rows become CSR. So memory is bounded by the
entries in the file, never by its number of rows times its largest index.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

DENSE_SHARE = 0.2  # above this share of non-zeros kernels are faster on dense rows
_BLOCK = 1 << 20  # entries moved at a time


class Growing:
    """A one-dimensional array that grows in place (the system moves no pages)."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._array: NDArray[Any] = np.empty(1024, dtype)
        self._size = 0

    def extend(self, values: NDArray[Any]) -> None:
        """Append values."""
        before = self._size
        self.lengthen(before + len(values))
        self._array[before : self._size] = values

    def lengthen(self, size: int) -> NDArray[Any]:
        """Make room for `size` values; return all of them, the new ones unset."""
        if size > len(self._array):
            room = max(size, len(self._array) + len(self._array) // 4)
            self._array.resize(room, refcheck=False)
        self._size = size
        return self._array[:size]

    def finish(self, columns: int | None = None) -> NDArray[Any]:
        """Return the values as rows of `columns` entries; the array owns its memory."""
        rows = self._size // max(columns or 1, 1)
        shape = (rows,) if columns is None else (rows, columns)
        self._array.resize(shape, refcheck=False)
        return self._array


class Samples:
    """Pieces of samples, dense as long as that takes little more memory than CSR."""

    def __init__(self) -> None:
        self._rows: _DenseRows | _SparseRows | None = None
        self._count = self._entries = self._features = 0

    def extend(
        self, counts: NDArray[Any], indices: NDArray[Any], values: NDArray[Any]
    ) -> None:
        """Append rows; `counts` are their numbers of entries."""
        if not len(counts):
            return  # comments say nothing about the rows
        self._count += len(counts)
        self._entries += len(values)
        self._features = max(self._features, int(indices.max(initial=-1)) + 1)
        full = self._entries > DENSE_SHARE * self._count * self._features
        if self._rows is None:
            self._rows = _DenseRows() if full else _SparseRows()
        elif isinstance(self._rows, _DenseRows) and not full:
            self._rows = self._rows.as_sparse()
        self._rows.extend(counts, indices, values, self._features)

    def finish(self) -> Any:
        """Return all rows: an array, or a CSR matrix."""
        return np.empty((0, 0)) if self._rows is None else self._rows.finish()


class _SparseRows:
    """Pieces of samples collected as CSR."""

    def __init__(self) -> None:
        self._counts, self._indices = Growing(np.int64), Growing(np.int32)
        self._values = Growing(np.float64)
        self._features = 0

    def extend(
        self,
        counts: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any],
        features: int,
    ) -> None:
        self._counts.extend(counts)
        self._indices.extend(indices)
        self._values.extend(values)
        self._features = features

    def finish(self) -> Any:
        starts = _starts(self._counts.finish())
        if starts[-1] < 2**31:  # scipy wants both index arrays of one type
            starts = starts.astype(np.int32)
        shape = (len(starts) - 1, self._features)
        parts = (self._values.finish(), self._indices.finish(), starts)
        return sparse.csr_matrix(parts, shape=shape)


class _DenseRows:
    """Pieces of samples collected as dense rows, wider ones when they come."""

    def __init__(self) -> None:
        self._values = Growing(np.float64)
        self._features = 0
        self._rows = 0

    def extend(
        self,
        counts: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any],
        features: int,
    ) -> None:
        if features > self._features:
            self._widen(features)
        shape = (len(counts), self._features)
        piece = sparse.csr_matrix((values, indices, _starts(counts)), shape=shape)
        self._values.extend(piece.toarray().ravel())
        self._rows += len(counts)

    def as_sparse(self) -> _SparseRows:
        """Return the rows so far as CSR; these ones are of no further use."""
        sparser = _SparseRows()
        dense = self.finish()
        step = max(1, _BLOCK // max(self._features, 1))
        for start in range(0, self._rows, step):
            block = sparse.csr_matrix(dense[start : start + step])
            counts = np.diff(block.indptr)
            sparser.extend(counts, block.indices, block.data, self._features)
        return sparser

    def _widen(self, features: int) -> None:
        """Move the rows apart in place, from the last to the first."""
        narrow = self._features
        flat = self._values.lengthen(self._rows * features)
        step = max(1, _BLOCK // features)
        for start in reversed(range(0, self._rows, step)):
            stop = min(start + step, self._rows)
            block = flat[start * narrow : stop * narrow].copy()
            wide = flat[start * features : stop * features].reshape(-1, features)
            wide[:, :narrow] = block.reshape(stop - start, narrow)
            wide[:, narrow:] = 0.0
        self._features = features

    def finish(self) -> NDArray[Any]:
        return self._values.finish(self._features)


def _starts(counts: NDArray[Any]) -> NDArray[Any]:
    """Where each sample starts among all entries, and where the last one ends."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts

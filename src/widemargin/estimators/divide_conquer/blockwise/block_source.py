"""Rows that are looked at in blocks and never all held: one form for every source.

A fit asks each block one thing at a time, ``work(X, y, weights, offset, shared)``.
The source decides where that runs: here, block after block, for files; on the
workers for dask collections (:mod:`..dask.workers`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.engine.sample_layout import refuse_damaged
from widemargin.estimators.base.labels import refuse_odd_labels
from widemargin.runtime.cancellation import check_cancelled
from widemargin.runtime.deadline import NEVER, Deadline

Work = Callable[[Any, Any, Any, int, Any], Any]
Part = tuple[int, Callable[[], Sequence[Any]]]  # of the blocks: how many, results
BLOCK_BYTES = 1 << 24  # of the samples of a block that is read from a file
FROM_ROWS = 20_000  # a memory map of fewer is data in memory


class RowBlocks(ABC):
    """Samples, labels and, if given, weights, in blocks of rows.

    Attributes
    ----------
    lengths : list of int
        Rows of each block.
    n_features : int
    dtype : numpy.dtype
        Type of the samples: float32 or float64.
    names : list of str or None
        Names of the features.
    threads : int or None
        That work on a block may use; None for as many as the fit.
    """

    lengths: list[int]
    n_features: int
    dtype: np.dtype[Any]
    names: Sequence[str] | None = None
    threads: int | None = None

    @property
    def offsets(self) -> list[int]:
        """Number of the first row of each block."""
        return [0, *np.cumsum(self.lengths)[:-1].tolist()]

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(self.lengths)

    @abstractmethod
    def parts(self, work: Work, shared: Any, limited: bool) -> Iterator[Part]:
        """Yield batches: how many blocks, and a function that returns their results.

        Batches are small where there is a time limit.
        """

    def each(
        self,
        work: Work,
        shared: Any,
        deadline: Deadline = NEVER,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Any]:
        """Return ``work(X, y, weights, offset, shared)`` of every block, in order.

        None for blocks that the deadline left no time for.
        """
        results: list[Any] = []
        for count, compute in self.parts(work, shared, deadline.limited):
            results.extend([None] * count if deadline.passed else compute())
            if progress is not None:
                progress(len(results), len(self.lengths))
        return results


class LocalBlocks(RowBlocks):
    """Blocks that this process reads, one at a time."""

    @abstractmethod
    def load(self, number: int) -> tuple[Any, Any, Any]:
        """Return samples, labels and weights (or None) of a block."""

    def parts(self, work: Work, shared: Any, limited: bool) -> Iterator[Part]:
        """Yield one block after the other."""

        def worked(number: int, offset: int) -> list[Any]:
            return [work(*self.load(number), offset, shared)]

        for number, offset in enumerate(self.offsets):
            check_cancelled()
            yield 1, partial(worked, number, offset)


@dataclass
class MappedBlocks(LocalBlocks):
    """Rows of an array on disk (:class:`numpy.memmap`); labels are in memory."""

    X: Any
    y: NDArray[Any]
    weights: NDArray[Any] | None = None

    def __post_init__(self) -> None:
        """Check the shapes; the values are checked block by block."""
        if self.X.ndim != 2:
            raise ValueError(f"X must have two dimensions, it has {self.X.ndim}.")
        self.y = one_label_a_row(self.y, len(self.X), "y")
        if self.weights is not None:
            self.weights = one_label_a_row(self.weights, len(self.X), "sample_weight")
        self.n_features = int(self.X.shape[1])
        self.dtype = sample_dtype(self.X.dtype)
        width = max(1, self.n_features * self.dtype.itemsize)
        step = max(1000, BLOCK_BYTES // width)
        self.lengths = [
            min(step, len(self.X) - first) for first in range(0, len(self.X), step)
        ]

    def load(self, number: int) -> tuple[Any, Any, Any]:
        """Return a view of the map: the system reads its pages, and may drop them."""
        first = self.offsets[number]
        part = slice(first, first + self.lengths[number])
        weights = None if self.weights is None else self.weights[part]
        return np.asarray(self.X[part], dtype=self.dtype), self.y[part], weights


def one_label_a_row(values: Any, n: int, name: str) -> NDArray[Any]:
    """Return labels or weights as an array with one entry per row."""
    if name == "y":
        refuse_odd_labels(values)
    array = np.asarray(values).ravel()
    if len(array) != n:
        raise ValueError(
            f"{name} has {len(array)} entries and X has {n} rows; they must be as many."
        )
    return array


def sample_dtype(dtype: Any) -> np.dtype[Any]:
    """Return what samples are kept as: float32 as given, all else as float64."""
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def samples_of_block(X: Any) -> Any:
    """Return the samples of a block as CSR, or as an array of numbers."""
    if sparse.issparse(X):
        refuse_damaged(X)
        return sparse.csr_array(X)
    samples = np.asarray(X)
    if samples.dtype.kind not in "fiub":
        raise ValueError(
            f"a block of X has entries of type {samples.dtype}; features must be "
            "numbers: encode them before fit."
        )
    return samples


def stacked(parts: Sequence[Any]) -> Any:
    """Return rows of several blocks as one table."""
    if any(sparse.issparse(part) for part in parts):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)

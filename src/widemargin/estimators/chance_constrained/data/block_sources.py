"""Blocks of rows: from a function, a list, or a file larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_X_y

from widemargin.engine.sample_layout import refuse_damaged
from widemargin.estimators.base.validation import SAMPLE_FORM

from .samples import refuse_large, row_weights

Floats = NDArray[np.float64]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Block:
    """Some rows with what goes with them; ``first`` is the number of the first row."""

    X: Any
    y: Any
    covariance: Any = None
    covariance_factor: Any = None
    sample_weight: Any = None
    first: int = 0

    @property
    def weights(self) -> Floats:
        """Sample weights, ones where none were given."""
        return row_weights(self.sample_weight, self.X.shape[0])


EXTRAS = frozenset(field.name for field in fields(Block)) - {"X", "y", "first"}


class BlockSource(Protocol):
    """Blocks that can be read any number of times."""

    @property
    def parallel(self) -> bool:
        """Whether blocks are worked on at the same time and averaged."""

    def map(self, work: Callable[[Block], Result]) -> Iterator[Result]:
        """Apply ``work`` to every block."""

    def shuffled(self, rng: np.random.Generator) -> Iterator[Block]:
        """Return one pass, in a new order where the blocks can be reordered."""


@dataclass(frozen=True)
class SerialBlocks:
    """Blocks read one after the other; ``load(k)`` where they have numbers."""

    passes: Callable[[], Iterator[Block]]
    count: int | None = None
    load: Callable[[int], Block] | None = None
    parallel: bool = False

    def map(self, work: Callable[[Block], Result]) -> Iterator[Result]:
        """Apply ``work`` to every block; one is in memory at a time."""
        return (work(block) for block in self.passes())

    def shuffled(self, rng: np.random.Generator) -> Iterator[Block]:
        """Return one pass, in random order where possible."""
        if self.count is None or self.load is None:
            return self.passes()
        return map(self.load, rng.permutation(self.count))


def user_blocks(blocks: Any) -> SerialBlocks:
    """Return the blocks a user hands in: a function, or a sequence."""
    if isinstance(blocks, Iterator):
        raise ValueError(
            "blocks is an iterator, which can be read only once: pass a function that "
            "returns a new one for each pass, or a list; for data seen once there is "
            "partial_fit."
        )
    if not callable(blocks) and not isinstance(blocks, Sequence):
        raise ValueError(
            f"blocks must be a function or a sequence of (X, y), got {type(blocks)}."
        )

    def passes() -> Iterator[Block]:
        first = 0
        for item in blocks() if callable(blocks) else blocks:
            X, y, *extras = item
            known = dict(extras[0]) if extras else {}
            unknown = known.keys() - EXTRAS
            if unknown:
                raise ValueError(
                    f"a block's extras hold {sorted(unknown)}: expected some of "
                    f"{sorted(EXTRAS)}."
                )
            block = Block(X, np.asarray(y), **known, first=first)
            yield block
            first += len(block.y)

    return SerialBlocks(passes)


def array_blocks(
    X: Any, y: Any, covariance: Any, factor: Any, weights: Any, memory_mb: float
) -> SerialBlocks:
    """Cut a memory-mapped array into blocks of a quarter of the memory budget."""
    check_lengths(X, y, covariance, factor, weights)
    bytes_per_row = X[:1].nbytes + 64
    for extra in (covariance, factor):
        bytes_per_row += 0 if extra is None else np.asarray(extra[:1]).nbytes
    size = max(1, int(memory_mb * 2.5e5 / bytes_per_row))
    count = -(-X.shape[0] // size)

    def load(k: int) -> Block:
        rows = slice(k * size, (k + 1) * size)

        def part(array: Any) -> Any:
            return None if array is None else np.array(array[rows])

        return Block(
            part(X), part(y), part(covariance), part(factor), part(weights), rows.start
        )

    return SerialBlocks(lambda: map(load, range(count)), count, load)


def check_lengths(X: Any, y: Any, covariance: Any, factor: Any, weights: Any) -> None:
    """Check that there is one label, and one of each extra, for every row of X."""
    names = ("y", "covariance", "covariance_factor", "sample_weight")
    for name, array in zip(names, (y, covariance, factor, weights), strict=True):
        rows, shape = X.shape[:1], np.shape(array)
        unknown = np.isnan((*rows, *shape[:1])).any()  # to dask, before it computes
        if array is not None and not unknown and shape[:1] != rows:
            raise ValueError(
                f"{name} has shape {shape}, but X has {rows[0]} rows: give one entry "
                "for each row."
            )


def checked(block: Block) -> Block:
    """Return the block with samples that passed scikit-learn's checks."""
    if sparse.issparse(block.X):
        refuse_damaged(block.X)
    X, y = check_X_y(block.X, block.y, **SAMPLE_FORM)
    refuse_large(X)
    return replace(block, X=X, y=y)


def floating(X: Any) -> Any:
    """Return checked samples again in the form compiled code takes."""
    if X.dtype not in (np.float64, np.float32):
        X = X.astype(np.float64)
    return X.tocsr() if sparse.issparse(X) else np.ascontiguousarray(X)

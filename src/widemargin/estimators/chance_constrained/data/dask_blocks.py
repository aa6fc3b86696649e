"""Dask arrays: every chunk of rows is a block, and blocks are worked on at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from .block_sources import Block, check_lengths

Result = TypeVar("Result")


def is_dask(X: Any) -> bool:
    """Say whether X is a dask array; dask is not imported for that."""
    return type(X).__module__.startswith("dask.")


@dataclass(frozen=True)
class DaskBlocks:
    """Chunks of dask arrays; work runs where the chunks are."""

    chunks: list[tuple[Any, ...]]
    parallel: bool = True

    def map(self, work: Callable[[Block], Result]) -> Iterator[Result]:
        """Apply ``work`` to every chunk, on dask's scheduler."""
        import dask

        def apply(*parts: Any) -> Result:
            return work(Block(*parts))

        lazy = dask.delayed(apply, pure=False)
        return iter(dask.compute(*(lazy(*parts) for parts in self.chunks)))

    def shuffled(self, rng: np.random.Generator) -> Iterator[Block]:
        """Chunks run at the same time: there is no order."""
        raise TypeError("dask chunks are averaged, not visited one after the other")


def dask_blocks(
    solver: str, X: Any, y: Any, covariance: Any, factor: Any, weights: Any
) -> DaskBlocks:
    """Return the row chunks of dask arrays that belong together."""
    if solver != "ssgd":
        raise ValueError(
            f"dask arrays need solver='ssgd', got {solver!r}: the other solvers see "
            "all samples at once (X.compute() brings them into memory)."
        )
    import dask
    import dask.array as array

    check_lengths(X, y, covariance, factor, weights)
    X = X.rechunk({axis: -1 for axis in range(1, X.ndim)})

    def delayed_parts(values: Any) -> list[Any]:
        if values is None:
            return [None] * len(X.chunks[0])
        values = array.asarray(values)
        chunks = (X.chunks[0], *((length,) for length in values.shape[1:]))
        return list(values.rechunk(chunks).to_delayed().ravel())

    columns = [delayed_parts(v) for v in (X, y, covariance, factor, weights)]
    sizes = X.chunks[0]
    if np.isnan(sizes).any():  # not known yet, as after a selection
        sizes = dask.compute(*map(dask.delayed(len), columns[0]))
    firsts = np.cumsum((0, *sizes[:-1])).tolist()
    return DaskBlocks(list(zip(*columns, firsts, strict=True)))

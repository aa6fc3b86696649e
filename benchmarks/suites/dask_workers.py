"""Worker processes with a limit of memory each, on this machine, and rows they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 50_000  # rows that a worker makes at a time


@contextmanager
def worker_processes(count: int, limit: str) -> Iterator[Any]:
    """A client of `count` dask workers, one thread each."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True,
            memory_limit=limit, dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client


def block_lengths(n: int) -> list[int]:
    """Rows of each block of n rows."""
    return [min(BLOCK, n - first) for first in range(0, n, BLOCK)]


def generated_rows(
    make: Callable[[int, int], NDArray[np.float32]], n: int, features: int
) -> tuple[Any, Any]:
    """Rows and labels as dask arrays, made by the workers whenever they are read.

    ``make(number, rows)`` returns a block, the last column its labels.
    """
    import dask
    import dask.array as da

    make_block = dask.delayed(make)
    table = da.concatenate(
        [
            da.from_delayed(make_block(i, rows), (rows, features + 1), np.float32)
            for i, rows in enumerate(block_lengths(n))
        ]
    )
    return table[:, :features], table[:, features]

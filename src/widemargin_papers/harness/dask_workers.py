"""Worker processes with a limit of memory each, on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def worker_processes(count: int, limit: str) -> Iterator[Any]:
    """A client of so many dask workers, one thread each."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True,
            memory_limit=limit, dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        yield client

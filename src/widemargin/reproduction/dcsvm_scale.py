"""More rows than one machine holds: early prediction on a dask cluster, measured.

Generated rows, made block by block on the workers: nobody ever has them all. They lie
in blobs, each cut in two classes by a plane of its own, and a few labels are flipped,
so that accuracy means something (95% at best) and can be compared with a fit on a
sample in memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.divide_conquer import DivideConquerSVC
from widemargin.reproduction.papers import Cell, Task

FEATURES = 20
BLOBS = 40
SPREAD = 0.15
BLOCK = 50_000
LIMIT = "1.5GB"
FLIPPED = 0.05
SETTINGS: dict[str, Any] = {
    "C": 1.0,
    "gamma": 1.0,
    "prediction": "early",
    "random_state": 0,
}


def scale_tasks(quick: bool) -> list[Task]:
    """Return the run on two workers and, for the ratio, on one."""
    n = 100_000 if quick else 5_000_000
    workers = (2,) if quick else (2, 1)
    return [
        Task(f"scale, {n} rows, {w} worker(s)", partial(scale, n, w)) for w in workers
    ]


def make_block(number: int, rows: int) -> NDArray[np.float32]:
    """Rows of one block, the last column its label; the same for the same number."""
    shared = np.random.default_rng(0)
    centres = shared.uniform(size=(BLOBS, FEATURES))
    normals = shared.normal(size=(BLOBS, FEATURES))
    rng = np.random.default_rng([1, number])
    blob = rng.integers(BLOBS, size=rows)
    away = rng.normal(scale=SPREAD, size=(rows, FEATURES))
    side = np.einsum("ij,ij->i", away, normals[blob]) > 0
    label = side ^ (rng.random(rows) < FLIPPED)
    return np.column_stack([centres[blob] + away, label]).astype(np.float32)


def rows_of(n: int) -> tuple[Any, Any]:
    """The generated rows and labels as dask arrays."""
    import dask
    import dask.array as da

    lengths = [min(BLOCK, n - start) for start in range(0, n, BLOCK)]
    make = dask.delayed(make_block)
    table = da.concatenate(
        [
            da.from_delayed(make(i, rows), (rows, FEATURES + 1), np.float32)
            for i, rows in enumerate(lengths)
        ]
    )
    return table[:, :FEATURES], table[:, FEATURES]


def _shuffled(dask_scheduler: Any) -> dict[str, float]:
    """Bytes each shuffle has sent so far, as its workers report them."""
    plugin = dask_scheduler.plugins.get("shuffle")
    return {
        name: float(sum(beat["comm"]["total"] for beat in beats.values()))
        for name, beats in getattr(plugin, "heartbeats", {}).items()
    }


class Watch:
    """The largest memory of a worker and the bytes shuffled, asked twice a second."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.largest: float = 0.0
        self.shuffles: dict[str, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watch:
        """Start asking."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop asking."""
        self._stop.set()
        self._thread.join()

    @property
    def shuffled(self) -> float:
        """Bytes sent by all shuffles."""
        return sum(self.shuffles.values())

    def _watch(self) -> None:
        while not self._stop.wait(0.5):
            workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
            for worker in workers:
                self.largest = max(self.largest, worker["metrics"]["memory"] / 1e6)
            for name, sent in self.client.run_on_scheduler(_shuffled).items():
                self.shuffles[name] = max(self.shuffles.get(name, 0.0), sent)


def scale(n: int, workers: int) -> Iterable[Cell]:
    """Yield rows per second, memory, bytes shuffled and accuracy."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True,
            memory_limit=LIMIT, dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        X, y = rows_of(n)
        model = DivideConquerSVC(**SETTINGS)
        with Watch(client) as watch:
            clock = time.perf_counter()
            model.fit(X, y)
            fitted = time.perf_counter() - clock
            clock = time.perf_counter()
            right = float((model.predict(X) == y).mean().compute())
            predicted = time.perf_counter() - clock
        died = sum(
            1 for _, event in client.get_events("all") or () if "killed" in str(event)
        )
    row = f"{n} x {FEATURES}, {workers} worker(s) of {LIMIT}"
    held = make_block(10**6, 100_000)
    test = 100 * float(np.mean(model.predict(held[:, :FEATURES]) == held[:, FEATURES]))
    yield Cell("Scale", row, "fit rows per second", n / fitted)
    yield Cell("Scale", row, "fit seconds", fitted)
    yield Cell("Scale", row, "predict rows per second", n / predicted)
    clusters = model.history_[0]["clusters"]
    yield Cell("Scale", row, "clusters", float(clusters))
    yield Cell("Scale", row, "largest worker memory MB", watch.largest,
               note=f"limit {LIMIT}; workers killed: {died}")  # fmt: skip
    yield Cell("Scale", row, "bytes shuffled per row", watch.shuffled / n)
    yield Cell("Scale", row, "training accuracy %", 100 * right)
    yield Cell("Scale", row, "test accuracy %", test)
    if workers == 2:
        yield from _in_memory(row, n, test, held)


def _in_memory(row: str, n: int, test: float, held: Any) -> Iterable[Cell]:
    """Yield the in-memory early model on a tenth of the rows, for comparison."""
    blocks = range(-(-n // BLOCK // 10))
    table = np.concatenate([make_block(i, BLOCK) for i in blocks])
    model = DivideConquerSVC(**SETTINGS).fit(table[:, :FEATURES], table[:, FEATURES])
    own = 100 * float(np.mean(model.predict(held[:, :FEATURES]) == held[:, FEATURES]))
    yield Cell("Scale", row, "test accuracy % in memory, a tenth", own)
    yield Cell("Scale", row, "points over the tenth", test - own, note="asked -0.3")

"""More rows than one machine holds: early prediction on a dask cluster, measured.

Generated rows, made block by block on the workers: no process has them all. They lie in
blobs, each cut in two classes by a plane of its own, and a few labels are flipped,
so that accuracy means something (95% at best) and can be compared with a fit on a
sample in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suites.dask_workers import (
    BLOCK,
    generated_rows,
    worker_processes,
)
from suites.sampling import sampled
from widemargin.estimators.divide_conquer import DivideConquerSVC
from widemargin_papers.harness.cells import Cell, Figure, Task, row_cells
from widemargin_papers.harness.timing import spending
from widemargin_papers.harness.worker import peak_megabytes

ROWS = 5_000_000
FEATURES = 20
BLOBS = 40
SPREAD = 0.15
LIMIT = "1.5GB"
FLIPPED = 0.05
SETTINGS: dict[str, Any] = {
    "C": 1.0,
    "gamma": 1.0,
    "prediction": "early",
    "random_state": 0,
}


def tasks() -> list[Task]:
    """Return the run on two workers, that on one for the ratio, and a tenth of it."""
    work = [
        Task(f"scale, {ROWS} rows, {w} worker(s)", partial(scale, ROWS, w))
        for w in (2, 1)
    ]
    return [*work, Task("scale, the same rows", partial(same_rows, ROWS // 10))]


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
    return generated_rows(make_block, n, FEATURES)


def _shuffled(dask_scheduler: Any) -> dict[str, float]:
    """Bytes each shuffle has sent so far, as its workers report them."""
    plugin = dask_scheduler.plugins.get("shuffle")
    return {
        name: float(sum(beat["comm"]["total"] for beat in beats.values()))
        for name, beats in getattr(plugin, "heartbeats", {}).items()
    }


def _accuracy(model: Any, held: Any) -> float:
    """Per cent of held-out rows that a model labels rightly."""
    return 100 * float(np.mean(model.predict(held[:, :FEATURES]) == held[:, FEATURES]))


def scale(n: int, workers: int) -> Iterable[Cell]:
    """Yield rows per second, memory, bytes shuffled and accuracy."""
    with worker_processes(workers, LIMIT) as client:
        born = set(client.run(os.getpid).values())
        X, y = rows_of(n)
        model = DivideConquerSVC(**SETTINGS)
        with sampled(partial(client.run_on_scheduler, _shuffled), 0.5) as sent:
            with spending() as fitted:
                model.fit(X, y)
        fit_peak = max(client.run(peak_megabytes).values())
        with spending() as predicted:
            right = float((model.predict(X) == y).mean().compute())
        peak = max(client.run(peak_megabytes).values())
        # a nanny kills a worker over its limit and starts another in its place
        killed = len(born - set(client.run(os.getpid).values()))
    row = f"{n} x {FEATURES}, {workers} worker(s) of {LIMIT}"
    held = make_block(10**6, 100_000)
    test = _accuracy(model, held)
    stage = model.history_[0]
    shuffles = {name for sample in sent for name in sample}
    shuffled = sum(max(s.get(name, 0.0) for s in sent) for name in shuffles)
    note = f"limit {LIMIT}; workers killed: {killed}"
    figures: dict[str, Figure] = {
        "fit rows per second": n / fitted.wall,
        "fit seconds": fitted.wall,
        "survey and clustering s": stage["clustering_seconds"],
        "shuffle and training s": stage["training_seconds"],
        "predict rows per second": n / predicted.wall,
        "clusters": float(stage["clusters"]),
        "support vectors": float(stage["n_support"]),
        "worker's peak MB in fit": (fit_peak, note),
        "worker's peak MB in all": (peak, note),
        "bytes shuffled per row": shuffled / n,
        "training accuracy %": 100 * right,
        "test accuracy %": test,
    }
    if workers == 2:  # beside the in-memory early model of a tenth of the rows
        own = _accuracy(_fit_in_memory(n // 10), held)
        figures["test accuracy % in memory, a tenth"] = own
        figures["points over the tenth"] = (test - own, "asked -0.3")
    yield from row_cells("Scale", row, figures)


def _fit_in_memory(n: int) -> DivideConquerSVC:
    table = np.concatenate([make_block(i, BLOCK) for i in range(-(-n // BLOCK))])
    return DivideConquerSVC(**SETTINGS).fit(table[:, :FEATURES], table[:, FEATURES])


def same_rows(n: int) -> Iterable[Cell]:
    """Yield the accuracy of early models of the same rows, on dask and in memory.

    Ten times the rows make a better model; the same rows must make as good a one.
    """
    held = make_block(10**6, 100_000)
    with worker_processes(2, LIMIT):
        model = DivideConquerSVC(**SETTINGS).fit(*rows_of(n))
    apart, own = _accuracy(model, held), _accuracy(_fit_in_memory(n), held)
    row = f"{n} x {FEATURES}, the same rows"
    figures: dict[str, Figure] = {
        "test accuracy % on dask": apart,
        "test accuracy % in memory": own,
        "points lost on dask": (own - apart, "asked 0.3"),
    }
    yield from row_cells("Scale", row, figures)

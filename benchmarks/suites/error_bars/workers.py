"""Several workers of the stochastic method, and a file larger than the memory allowed.

Speed-ups are of wall time: run them on a quiet machine. ``n_jobs`` splits an array in
memory, dask's workers are processes of a local cluster that hold a chunk each. The
file is read by a process of its own whose data segment is limited.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from suites.child_process import in_child, limit_data
from suites.dask_workers import worker_processes
from widemargin import ChanceConstrainedSVC
from widemargin_papers.harness.cells import Cell, Figure, Task, row_cells

from .growth import noisy_clouds, two_clouds, write_clouds

WORKERS = "Workers"
COUNTS = (1, 2)
SHAPE = (400_000, 20)
REPEATS = 3
LIMITED_ROWS, LIMIT_MB = 12_000_000, 300


def tasks() -> list[Task]:
    """Return one task for each kind of worker, and one for the file."""
    return [
        Task("workers, n_jobs", by_jobs, (), 4),
        Task("workers, dask", by_dask, (), 4),
        Task("file larger than memory", limited, (), 2),
    ]


def _model(rows: int, jobs: int | None = None, epochs: int = 10) -> Any:
    return ChanceConstrainedSVC(
        C=10.0 / rows, solver="ssgd", epochs=epochs, n_jobs=jobs, random_state=0
    )


def _least_seconds(fit: Callable[[], Any]) -> float:
    """Return the least wall time of some calls, after one that is not counted."""
    fit()
    found = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        fit()
        found.append(time.perf_counter() - started)
    return min(found)


def _speed_up(row: str, seconds: dict[int, float], accuracy: float) -> list[Cell]:
    figures: dict[str, Figure] = {
        f"seconds, {count}": spent for count, spent in seconds.items()
    }
    first, last = seconds[COUNTS[0]], seconds[COUNTS[-1]]
    figures[f"speed-up, {COUNTS[-1]} workers"] = first / last
    figures["accuracy"] = accuracy
    return row_cells(WORKERS, row, figures)


def by_jobs(shape: tuple[int, int] = SHAPE) -> Iterable[Cell]:
    """Fit an array in memory with one and with two jobs."""
    X, y = two_clouds(*shape)
    models = {count: _model(len(y), count) for count in COUNTS}
    seconds = {
        count: _least_seconds(partial(model.fit, X, y))
        for count, model in models.items()
    }
    accuracy = float(models[COUNTS[-1]].score(X, y))
    yield from _speed_up(f"n_jobs, {shape[0]} x {shape[1]}", seconds, accuracy)


def by_dask(shape: tuple[int, int] = SHAPE) -> Iterable[Cell]:
    """Fit a dask array of two chunks with one and with two workers."""
    array, distributed = (import_module(n) for n in ("dask.array", "distributed"))
    X, y = two_clouds(*shape)
    chunk = -(-len(y) // COUNTS[-1])
    seconds, accuracy = {}, 0.0
    for count in COUNTS:
        with worker_processes(count, "auto"):
            rows = array.from_array(X, chunks=(chunk, -1)).persist()
            labels = array.from_array(y, chunks=chunk).persist()
            distributed.wait([rows, labels])
            model = _model(len(y))
            seconds[count] = _least_seconds(partial(model.fit, rows, labels))
            accuracy = float(model.score(X, y))
    yield from _speed_up(f"dask, {shape[0]} x {shape[1]}", seconds, accuracy)


def train_limited(path: str, rows: int, limit_mb: int) -> dict[str, float]:
    """Fit a file of ten features while data may take `limit_mb` more than now."""
    limit_data(limit_mb, more=True)
    X = np.memmap(path, dtype=np.float32, mode="r", shape=(rows, 10))
    y = np.load(f"{path}.labels.npy", mmap_mode="r")
    model = _model(rows, epochs=2).set_params(memory_mb=limit_mb / 4).fit(X, y)
    X_new, y_new = noisy_clouds(100_000, seed=12345)
    return {"accuracy": float(model.score(X_new, y_new))}


def limited(rows: int = LIMITED_ROWS, limit_mb: int = LIMIT_MB) -> Iterable[Cell]:
    """Train on a file that is larger than what the process may allocate."""
    with tempfile.TemporaryDirectory(prefix="widemargin-") as folder:
        path = Path(folder) / "means.dat"
        np.save(f"{path}.labels.npy", write_clouds(path, rows))
        size = path.stat().st_size / 1e6
        found = in_child(train_limited, str(path), rows, limit_mb)
    note = f"a process that may allocate {limit_mb} MB more than after its imports"
    figures: dict[str, Figure] = {
        "file, MB": (size, note),
        "accuracy on new rows": found["accuracy"],
    }
    yield from row_cells(WORKERS, f"refined SSGD, {rows} rows, limited", figures)

"""Early fits on dask workers: processor seconds, and what is sent, by rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from widemargin import DivideConquerSVC
from widemargin_papers.harness.campaign import Measurement
from widemargin_papers.harness.dask_workers import worker_processes
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table
from widemargin_papers.harness.worker import peak_megabytes

from .exact_runs import WORKER
from .generated import HELD, SETTINGS, as_dask, make_block

ROWS = (50_000, 100_000, 200_000, 400_000, 300_000)


def measure(n: int) -> Record:
    """Fit n generated rows early on two workers."""
    with worker_processes(2, WORKER) as client:
        X, y = as_dask(n)
        before = sum(client.run(time.process_time).values())
        spent, clock = time.process_time(), time.perf_counter()
        model = DivideConquerSVC(prediction="early", **SETTINGS).fit(X, y)
        wall = time.perf_counter() - clock
        here = time.process_time() - spent
        there = sum(client.run(time.process_time).values()) - before
        peak = max(client.run(peak_megabytes).values())
    stage = model.history_[0]
    held = make_block(HELD, 100_000)
    return {
        "rows": n,
        "clusters": stage["clusters"],
        "support": stage["n_support"],
        "processor": here + there,
        "wall": wall,
        "peak MB": peak,
        "accuracy": float(np.mean(model.predict(held[:, :-1]) == held[:, -1])),
    }


def work() -> Iterator[Measurement]:
    """Yield the sizes."""
    for n in ROWS:
        yield f"{n} rows", partial(measure, n)


def table(store: ResultStore) -> str:
    """Return a row a run."""
    header = ["rows", "clusters", "support %", "processor s", "wall s", "peak MB"]
    header += ["accuracy %"]
    rows = [
        [
            f"{record['rows']:,}",
            str(record["clusters"]),
            f"{100 * record['support'] / record['rows']:.2f}",
            f"{record['processor']:.1f}",
            f"{record['wall']:.1f}",
            f"{record['peak MB']:.0f}",
            f"{100 * record['accuracy']:.2f}",
        ]
        for record in sorted(store.records.values(), key=lambda r: int(r["rows"]))
    ]
    return rst_table(header, rows)

"""Early fits on dask workers: processor seconds, and what is sent, by rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from suites.dask_workers import worker_processes
from widemargin import DivideConquerSVC
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore

from ..record_tables import records_table
from .exact_runs import WORKER
from .generated import HELD, SETTINGS, as_dask, make_block
from .worker_fits import fitted_on_workers

ROWS = (50_000, 100_000, 200_000, 400_000, 300_000)


def measure(n: int) -> Record:
    """Fit n generated rows early on two workers."""
    model = DivideConquerSVC(prediction="early", **SETTINGS)
    with worker_processes(2, WORKER) as client:
        rows, labels = as_dask(n)
        spent = fitted_on_workers(client, lambda: model.fit(rows, labels))
    stage = model.history_[0]
    held = make_block(HELD, 100_000)
    return {
        "rows": n,
        "clusters": stage["clusters"],
        "support": stage["n_support"],
        **spent,
        "accuracy": float(np.mean(model.predict(held[:, :-1]) == held[:, -1])),
    }


def work() -> Iterator[Measurement]:
    """Yield the sizes."""
    for n in ROWS:
        yield f"{n} rows", partial(measure, n)


def table(store: ResultStore) -> str:
    """Return one row per run."""
    records = sorted(store.records.values(), key=lambda r: int(r["rows"]))
    return records_table(
        records,
        {
            "rows": "{rows:,}",
            "clusters": "{clusters}",
            "support %": lambda r: f"{100 * r['support'] / r['rows']:.2f}",
            "processor s": "{processor:.1f}",
            "wall s": "{wall:.1f}",
            "peak MB": "{peak MB:.0f}",
            "accuracy %": lambda r: f"{100 * r['accuracy']:.2f}",
        },
    )

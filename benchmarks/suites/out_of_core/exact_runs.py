"""Exact fits of rows that are not held: from a memory map, and on dask workers.

A fit from a memory map runs in a process whose data may not outgrow a limit
(``RLIMIT_DATA``); a dask worker above its limit is killed by its nanny. Times are
processor seconds of all processes that take part, with the wall time beside them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from suites.child_process import in_child, limit_data
from suites.dask_workers import (
    BLOCK,
    generated_rows,
    worker_processes,
)
from widemargin import SVC, DivideConquerSVC
from widemargin_papers.harness.datasets import load_libsvm, scale_to_interval
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.timing import spending
from widemargin_papers.harness.worker import peak_megabytes

from ..record_tables import records_table
from .generated import FEATURES, HELD, SETTINGS, as_dask, make_block, write_map
from .worker_fits import fitted_on_workers

LIMIT = 3000.0  # MB of data of a process that fits from a memory map
WORKER = "1.5GB"
CACHE = 1000.0  # megabytes
#: C and gamma with features in [0, 1]: those of the paper's Table 2
COVTYPE: dict[str, Any] = {"C": 32.0, "gamma": 32.0}
#: half of the rows are support vectors either way: all of them are solved in one piece
ALL_OF_COVTYPE: dict[str, Any] = {"C": 1.0, "gamma": 1.0}
MAPPED = (50_000, 100_000, 200_000, 500_000, 1_000_000, 5_000_000)
ON_DASK = (50_000, 100_000, 200_000, 500_000, 2_000_000)


def proved(model: SVC | DivideConquerSVC) -> Record:
    """Return the size of a fit and what it proved."""
    certificate = model.certificate_
    return {
        "rows": int(model.shape_fit_[0]),
        "features": int(model.n_features_in_),
        "support": len(model.support_),
        "status": certificate.status,
        "violation": certificate.kkt_violation,
        "relative gap": certificate.gap / certificate.objective,
    }


def figures(model: DivideConquerSVC) -> Record:
    """Return what a fit in rounds did and proved."""
    first, *rounds = model.history_
    return proved(model) | {
        "blocks": int(first["blocks"]),
        "held": int(rounds[-1]["size"]),
        "rounds": len(rounds),
        "shares": float(sum(stage["share"] for stage in rounds)),
        "judged entries": int(sum(stage["judged_entries"] for stage in rounds)),
        "solve entries": int(sum(stage["solve_entries"] for stage in rounds)),
        "solve wall": float(sum(stage["solve_seconds"] for stage in rounds)),
    }


def fitted_from_map(
    place: str,
    features: int,
    settings: dict[str, Any],
    compare: bool,
    rounds: bool = True,
) -> Record:
    """Fit from a memory map within the limit, in a process of its own."""
    limit_data(LIMIT)
    folder, threads = Path(place), int(os.environ.get("WIDEMARGIN_THREADS", "2"))
    labels = np.load(folder / "labels.npy")
    shape = (len(labels), features)
    rows = np.memmap(folder / "rows", mode="r", dtype=np.float32, shape=shape)
    estimator = DivideConquerSVC if rounds else SVC
    model = estimator(cache_size=CACHE, n_jobs=threads, **settings)
    with spending() as spent:
        model.fit(rows, labels)
    found = (figures if rounds else proved)(model) | {
        "processor": spent.processor,
        "wall": spent.wall,
        "peak MB": peak_megabytes(),
    }
    held = np.load(folder / "held.npy")
    found["accuracy"] = float(np.mean(model.predict(held[:, :-1]) == held[:, -1]))
    if compare:
        np.save(folder / "values.npy", model.decision_function(held[:, :-1]))
    return found


def from_map(n: int, *, compare: bool = False, others: int = 100_000) -> Record:
    """Fit n generated rows from a memory map; compare with SVC on other rows."""
    with tempfile.TemporaryDirectory(prefix="widemargin-") as name:
        folder = Path(name)
        write_map(folder, n)
        held = make_block(HELD, others)
        np.save(folder / "held.npy", held)
        found: Record = in_child(fitted_from_map, name, FEATURES, SETTINGS, compare)
        found["source"] = "memory map"
        if compare:
            rows = np.fromfile(folder / "rows", dtype=np.float32).reshape(n, FEATURES)
            plain = SVC(cache_size=CACHE, **SETTINGS)
            plain.fit(rows, np.load(folder / "labels.npy"))
            values = np.load(folder / "values.npy")
            known = plain.decision_function(held[:, :-1])
            found["largest difference"] = float(np.abs(values - known).max())
            found["same answers"] = float(np.mean((values > 0) == (known > 0)))
    return found


def covtype_rows(n: int) -> tuple[Any, Any]:
    """Return n rows of covtype with features in [0, 1], and their labels."""
    X, y = load_libsvm("covtype.binary")
    X = scale_to_interval(X).astype(np.float32)
    if n < len(y):
        some = np.sort(np.random.default_rng(0).permutation(len(y))[:n])
        X, y = X[some], y[some]
    return X, y


def covtype(n: int, settings: Any, *, rounds: bool) -> Record:
    """Fit n rows of covtype from a memory map: in rounds, or by `SVC` in one piece."""
    X, y = covtype_rows(n)
    with tempfile.TemporaryDirectory(prefix="widemargin-") as name:
        folder = Path(name)
        X.tofile(folder / "rows")
        np.save(folder / "labels.npy", y)
        np.save(folder / "held.npy", np.column_stack([X[:20_000], y[:20_000]]))
        found = in_child(fitted_from_map, name, X.shape[1], settings, False, rounds)
    return {**found, "source": "covtype" if rounds else "covtype, SVC"}


def on_dask(n: int) -> Record:
    """Fit n generated rows on two workers, which make them anew for every pass."""
    model = DivideConquerSVC(cache_size=CACHE, **SETTINGS)
    with worker_processes(2, WORKER) as client:
        rows, labels = as_dask(n)
        spent = fitted_on_workers(client, lambda: model.fit(rows, labels))
    held = make_block(HELD, 100_000)
    right = float(np.mean(model.predict(held[:, :-1]) == held[:, -1]))
    return figures(model) | spent | {"source": "dask", "accuracy": right}


def stored_block(file: str, columns: int, number: int, rows: int) -> Any:
    """Return the rows of one block of a file, the last column its label."""
    first = 4 * columns * number * BLOCK
    shape = (rows, columns)
    return np.memmap(file, mode="r", dtype=np.float32, offset=first, shape=shape)


def stored_on_dask(X: Any, y: Any, settings: Any) -> tuple[DivideConquerSVC, Record]:
    """Fit rows on two workers, which read their blocks from a file for every pass."""
    with tempfile.TemporaryDirectory(prefix="widemargin-") as name:
        file = str(Path(name) / "rows")
        np.column_stack([X, y]).astype(np.float32).tofile(file)
        block = partial(stored_block, file, X.shape[1] + 1)
        model = DivideConquerSVC(cache_size=CACHE, **settings)
        with worker_processes(2, WORKER) as client:
            rows, labels = generated_rows(block, len(y), X.shape[1])
            spent = fitted_on_workers(client, lambda: model.fit(rows, labels))
    return model, spent


def covtype_on_dask(n: int) -> Record:
    """Fit n rows of covtype on two workers."""
    X, y = covtype_rows(n)
    model, spent = stored_on_dask(X, y, COVTYPE)
    right = float(np.mean(model.predict(X[:20_000]) == y[:20_000]))
    return figures(model) | spent | {"source": "covtype, dask", "accuracy": right}


def work() -> Iterator[Measurement]:
    """Yield the runs, the short ones first."""
    for n in MAPPED[:-1]:
        yield f"memory map, {n} rows", partial(from_map, n, compare=n == 500_000)
    for n in ON_DASK[:-1]:
        yield f"dask, {n} rows", partial(on_dask, n)
    yield "covtype, 58101 rows", partial(covtype, 58_101, COVTYPE, rounds=True)
    yield f"dask, {ON_DASK[-1]} rows", partial(on_dask, ON_DASK[-1])
    yield f"memory map, {MAPPED[-1]} rows", partial(from_map, MAPPED[-1])
    whole = partial(covtype, 581_012, ALL_OF_COVTYPE, rounds=False)
    yield "covtype, 581012 rows", whole
    yield "covtype, dask, 58101 rows", partial(covtype_on_dask, 58_101)
    yield "covtype, dask, 581012 rows", partial(covtype_on_dask, 581_012)


def _held(record: Record) -> str:
    held = record["held"] if "held" in record else record["rows"]
    return f"{100 * held / record['rows']:.2f}"


def _entries(record: Record) -> str:
    if "judged entries" not in record:
        return ""
    return f"{(record['judged entries'] + record['solve entries']) / 1e9:.2f}"


def table(store: ResultStore) -> str:
    """Return one row per run."""
    records = sorted(store.records.values(), key=lambda r: (r["source"], r["rows"]))
    table = records_table(
        records,
        {
            "run": "{source}",
            "rows": "{rows:,}",
            "support %": lambda r: f"{100 * r['support'] / r['rows']:.2f}",
            "held %": _held,
            "rounds": lambda r: str(r.get("rounds", 1)),
            "passes": lambda r: f"{r['shares']:.2f}" if "shares" in r else "",
            "entries / 1e9": _entries,
            "processor s": "{processor:.1f}",
            "wall s": "{wall:.1f}",
            "peak MB": "{peak MB:.0f}",
            "relative gap": "{relative gap:.0e}",
        },
    )
    lines = [table]
    for record in records:
        if "same answers" in record:
            lines.append(
                f"{record['rows']:,} rows from the map beside `SVC` on the same rows "
                f"in memory: decision values of 100,000 other rows\ndiffer by at most "
                f"{record['largest difference']:.1e}, answers agree on "
                f"{100 * record['same answers']:.3f} %."
            )
        if record.get("killed"):
            lines.append(f"{record['rows']:,} rows: {record['killed']} workers killed.")
    return "\n".join(lines)

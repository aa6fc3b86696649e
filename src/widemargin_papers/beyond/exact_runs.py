"""Exact fits of rows that are not held: from a memory map, and on dask workers.

A fit from a memory map runs in a process whose data may not outgrow a limit
(``RLIMIT_DATA``); a dask worker above its limit is killed by its nanny. Times are
processor seconds of all processes that take part, with the wall time beside them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from widemargin import SVC, DivideConquerSVC
from widemargin_papers.harness.campaign import Measurement
from widemargin_papers.harness.dask_workers import worker_processes
from widemargin_papers.harness.datasets import load_libsvm, scale_to_interval
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table
from widemargin_papers.harness.worker import peak_megabytes

from .generated import FEATURES, HELD, SETTINGS, as_dask, make_block, write_map

LIMIT = 3e9  # bytes of data of a process that fits from a memory map
WORKER = "1.5GB"
CACHE = 1000.0  # megabytes
#: C and gamma with features in [0, 1]: those of the paper's Table 2
COVTYPE: dict[str, Any] = {"C": 32.0, "gamma": 32.0}
MAPPED = (50_000, 100_000, 200_000, 500_000, 1_000_000, 5_000_000)
ON_DASK = (50_000, 100_000, 200_000, 500_000, 2_000_000)
CHILD = "from widemargin_papers.beyond.exact_runs import child; child()"


def figures(model: DivideConquerSVC) -> Record:
    """Return what a fit in rounds did and proved."""
    first, *rounds = model.history_
    certificate = model.certificate_
    return {
        "rows": int(model.shape_fit_[0]),
        "features": int(model.n_features_in_),
        "blocks": int(first["blocks"]),
        "support": len(model.support_),
        "held": int(rounds[-1]["size"]),
        "rounds": len(rounds),
        "shares": float(sum(stage["share"] for stage in rounds)),
        "judged entries": int(sum(stage["judged_entries"] for stage in rounds)),
        "solve entries": int(sum(stage["solve_entries"] for stage in rounds)),
        "solve wall": float(sum(stage["solve_seconds"] for stage in rounds)),
        "status": certificate.status,
        "violation": certificate.kkt_violation,
        "relative gap": certificate.gap / certificate.objective,
    }


def child() -> None:
    """Fit from a memory map within the limit; settings and files by the command."""
    asked = json.loads(sys.argv[1])
    folder, limit = Path(asked["folder"]), int(asked["limit"])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    labels = np.load(folder / "labels.npy")
    shape = (len(labels), asked["features"])
    rows = np.memmap(folder / "rows", mode="r", dtype=np.float32, shape=shape)
    model = DivideConquerSVC(cache_size=CACHE, n_jobs=asked["threads"], **asked["set"])
    spent, clock = time.process_time(), time.perf_counter()
    model.fit(rows, labels)
    found = figures(model) | {
        "processor": time.process_time() - spent,
        "wall": time.perf_counter() - clock,
        "peak MB": peak_megabytes(),
    }
    held = np.load(folder / "held.npy")
    found["accuracy"] = float(np.mean(model.predict(held[:, :-1]) == held[:, -1]))
    if asked["compare"]:
        np.save(folder / "values.npy", model.decision_function(held[:, :-1]))
    print(json.dumps(found))


def _in_child(folder: Path, features: int, settings: Any, compare: bool) -> Record:
    asked = {
        "folder": str(folder), "limit": LIMIT, "features": features, "set": settings,
        "compare": compare, "threads": int(os.environ.get("WIDEMARGIN_THREADS", "2")),
    }  # fmt: skip
    command = [sys.executable, "-c", CHILD, json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: Record = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def from_map(n: int, *, compare: bool = False, others: int = 100_000) -> Record:
    """Fit n generated rows from a memory map; compare with SVC on other rows."""
    with tempfile.TemporaryDirectory(prefix="widemargin-") as name:
        folder = Path(name)
        write_map(folder, n)
        held = make_block(HELD, others)
        np.save(folder / "held.npy", held)
        found = _in_child(folder, FEATURES, SETTINGS, compare)
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


def covtype(n: int) -> Record:
    """Fit n rows of covtype from a memory map; all of them in file order."""
    X, y = load_libsvm("covtype.binary")
    X = scale_to_interval(X).astype(np.float32)
    if n < len(y):
        some = np.sort(np.random.default_rng(0).permutation(len(y))[:n])
        X, y = X[some], y[some]
    with tempfile.TemporaryDirectory(prefix="widemargin-") as name:
        folder = Path(name)
        X.tofile(folder / "rows")
        np.save(folder / "labels.npy", y)
        np.save(folder / "held.npy", np.column_stack([X[:20_000], y[:20_000]]))
        found = _in_child(folder, X.shape[1], COVTYPE, False)
    return found | {"source": "covtype"}


def on_dask(n: int) -> Record:
    """Fit n generated rows on two workers, which make them anew for every pass."""
    with worker_processes(2, WORKER) as client:
        born = set(client.run(os.getpid).values())
        X, y = as_dask(n)
        before = sum(client.run(time.process_time).values())
        spent, clock = time.process_time(), time.perf_counter()
        model = DivideConquerSVC(cache_size=CACHE, **SETTINGS).fit(X, y)
        wall = time.perf_counter() - clock
        here = time.process_time() - spent
        there = sum(client.run(time.process_time).values()) - before
        peak = max(client.run(peak_megabytes).values())
        killed = len(born - set(client.run(os.getpid).values()))
    held = make_block(HELD, 100_000)
    return figures(model) | {
        "source": "dask",
        "processor": here + there,
        "processor of workers": there,
        "wall": wall,
        "peak MB": peak,
        "killed": killed,
        "accuracy": float(np.mean(model.predict(held[:, :-1]) == held[:, -1])),
    }


def work() -> Iterator[Measurement]:
    """Yield the runs, the short ones first."""
    for n in MAPPED[:-1]:
        yield f"memory map, {n} rows", partial(from_map, n, compare=n == 500_000)
    for n in ON_DASK[:-1]:
        yield f"dask, {n} rows", partial(on_dask, n)
    yield "covtype, 58101 rows", partial(covtype, 58_101)
    yield f"dask, {ON_DASK[-1]} rows", partial(on_dask, ON_DASK[-1])
    yield f"memory map, {MAPPED[-1]} rows", partial(from_map, MAPPED[-1])
    yield "covtype, 581012 rows", partial(covtype, 581_012)


def table(store: ResultStore) -> str:
    """Return a row a run."""
    header = ["run", "rows", "support %", "held %", "rounds", "passes"]
    header += ["entries / 1e9", "processor s", "wall s", "peak MB", "relative gap"]
    records = sorted(store.records.values(), key=lambda r: (r["source"], r["rows"]))
    rows = [
        [
            record["source"],
            f"{record['rows']:,}",
            f"{100 * record['support'] / record['rows']:.2f}",
            f"{100 * record['held'] / record['rows']:.2f}",
            str(record["rounds"]),
            f"{record['shares']:.2f}",
            f"{(record['judged entries'] + record['solve entries']) / 1e9:.2f}",
            f"{record['processor']:.1f}",
            f"{record['wall']:.1f}",
            f"{record['peak MB']:.0f}",
            f"{record['relative gap']:.0e}",
        ]
        for record in records
    ]
    lines = [rst_table(header, rows)]
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

"""From how many rows on early prediction is ten times faster than the exact fit.

``widemargin train`` says so in a hint, and the number of rows in that hint is what was
measured: subsets of growing size, each fitted exactly by ``SVC`` and early by
``DivideConquerSVC``, in processor seconds. What ``benchmarks/dcsvm.py`` has measured
already is taken from its results.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin import SVC, DivideConquerSVC
from widemargin.reproduction.datasets import load_libsvm, scale_to_interval, subsample
from widemargin.reproduction.ramp_report import rst_table
from widemargin.reproduction.results import ResultStore

#: data set -> C and gamma, as in the papers (features in [0, 1])
SETTINGS = {"covtype.binary": (32.0, 32.0), "ijcnn1": (32.0, 2.0)}
SIZES = (5_000, 10_000, 20_000, 50_000, 100_000)
ASKED = 10.0
PROVENANCE = ("commit", "machine", "versions", "load", "at")


def measure(name: str, n: int) -> dict[str, Any]:
    """Fit the first n rows both ways; accuracies are on 10,000 other rows."""
    C, gamma = SETTINGS[name]
    X, y = load_libsvm(name)
    X, y = subsample(X, y, min(n + 10_000, len(y)), seed=0)
    X = np.ascontiguousarray(scale_to_interval(X))
    train, test = slice(0, n), slice(n, None)
    common: dict[str, Any] = {"C": C, "gamma": gamma, "n_jobs": 1, "random_state": 0}
    found: dict[str, Any] = {"data": name, "rows": n}
    for way, model in (
        ("early", DivideConquerSVC(prediction="early", **common)),
        ("exact", SVC(**common)),
    ):
        begun = time.process_time()
        model.fit(X[train], y[train])
        found[f"{way} seconds"] = time.process_time() - begun
        found[f"{way} accuracy"] = float(model.score(X[test], y[test]))
    return found


def taken(campaign: ResultStore) -> dict[str, dict[str, Any]]:
    """Return what the divide-and-conquer campaign has of both ways, as records here."""
    found = {}
    for key, record in campaign.records.items():
        if not (key.startswith("speed, ") and key.endswith("early")):
            continue
        cells = {cell["column"]: cell["ours"] for cell in record["cells"]}
        data, _, size = record["cells"][0]["row"].partition(", ")
        if not {"early processor s", "SVC processor s"} <= set(cells):
            continue
        name = next(known for known in SETTINGS if known.startswith(data))
        n = int(size.split()[0])
        found[f"{name}, {n} rows"] = {
            "data": name,
            "rows": n,
            "early seconds": cells["early processor s"],
            "exact seconds": cells["SVC processor s"],
            "early accuracy": cells["early %"] / 100,
            "exact accuracy": cells["exact %"] / 100,
            **{name: record[name] for name in PROVENANCE},
        }
    return found


def campaign(store: ResultStore, sizes: Sequence[int] = SIZES) -> None:
    """Take what is there, and measure what is missing."""
    store.records |= taken(ResultStore(store.path.with_name("dcsvm.json")))
    store.save()
    for n in sizes:
        for name in SETTINGS:
            key = f"{name}, {n} rows"
            if not store.has(key, any_commit=True) and n <= _most(name):
                store.add(key, measure(name, n))


def _most(name: str) -> int:
    return len(load_libsvm(name)[1]) - 5_000


def ratios(store: ResultStore) -> dict[str, list[tuple[int, float]]]:
    """Return rows and how many times faster early is, for each data set."""
    found: dict[str, list[tuple[int, float]]] = {}
    for record in store.records.values():
        ratio = record["exact seconds"] / record["early seconds"]
        found.setdefault(record["data"], []).append((record["rows"], ratio))
    return {name: sorted(points) for name, points in found.items()}


def threshold(store: ResultStore, asked: float = ASKED) -> dict[str, float]:
    """Return the rows at which each data set reaches that ratio.

    A straight line through the logarithms of rows and ratios, since both times are
    about powers of the number of rows; it is extrapolated where the largest subset has
    not reached it.
    """
    reached = {}
    for name, points in ratios(store).items():
        if len(points) < 2:
            continue
        rows, values = np.log(np.array(points)).T
        slope, level = np.polyfit(rows, values, 1)
        if slope > 0:
            reached[name] = float(np.exp((np.log(asked) - level) / slope))
    return reached


def as_rst(store: ResultStore) -> str:
    """Return the table, and where the ratio of ten is reached."""
    header = ["data", "rows", "exact s", "early s", "faster", "exact %", "early %"]
    records = sorted(store.records.values(), key=lambda r: (r["data"], r["rows"]))
    rows = [
        [
            r["data"],
            f"{r['rows']:,}",
            f"{r['exact seconds']:.2f}",
            f"{r['early seconds']:.2f}",
            f"{r['exact seconds'] / r['early seconds']:.1f}x",
            f"{100 * r['exact accuracy']:.2f}",
            f"{100 * r['early accuracy']:.2f}",
        ]
        for r in records
    ]
    lines = ", ".join(
        f"{name} at about {float(f'{n:.2g}'):,.0f} rows"
        for name, n in threshold(store).items()
    )
    return (
        f"{rst_table(header, rows)}\n{ASKED:.0f} times faster (fitted line): {lines}."
    )

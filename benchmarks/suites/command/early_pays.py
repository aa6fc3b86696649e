"""From how many support vectors on early prediction is ten times faster than exact.

``widemargin train`` says so in a hint; the number in that hint is what was measured:
subsets of growing size, each fitted exactly by ``SVC`` and early by
``DivideConquerSVC``, in processor seconds of one thread. An exact fit evaluates about
n times (support vectors) kernel entries, an early one about n times (those of one
cluster): so it is the number of support vectors that decides, and not n, which reaches
the ratio of ten at very different sizes on different data.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from widemargin import SVC, DivideConquerSVC
from widemargin_papers.harness.datasets import load_libsvm, scale_to_interval, subsample
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.timing import processor_seconds

from ..record_tables import records_table

#: data set -> C and gamma, as in the table of ratios (features in [0, 1])
SETTINGS = {
    "a9a": (32.0, 0.05),
    "cod-rna": (10.0, 0.5),
    "covtype.binary": (32.0, 32.0),
    "ijcnn1": (32.0, 2.0),
}
SIZES = (3_000, 6_000, 12_000, 25_000, 50_000)
ASKED = 10.0


def measure(name: str, n: int) -> dict[str, Any]:
    """Fit n rows both ways; accuracies are on at most 10,000 other rows."""
    C, gamma = SETTINGS[name]
    X, y = load_libsvm(name)
    X, y = subsample(X, y, min(n + 10_000, len(y)), seed=0)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = np.ascontiguousarray(scale_to_interval(X)[order]), y[order]
    train, test = slice(0, n), slice(n, None)
    common: dict[str, Any] = {"C": C, "gamma": gamma, "n_jobs": 1, "random_state": 0}
    found: dict[str, Any] = {"data": name, "rows": n}
    for way, model in (
        ("early", DivideConquerSVC(prediction="early", **common)),
        ("exact", SVC(**common)),
    ):
        repeats = 3 if n <= 12_000 else 1
        found[f"{way} seconds"], _ = processor_seconds(
            partial(model.fit, X[train], y[train]), repeats
        )
        found[f"{way} accuracy"] = float(model.score(X[test], y[test]))
        found[f"{way} support"] = int(np.sum(model.n_support_))
    return found


def work() -> Iterator[Measurement]:
    """Yield every size; at least 2,000 rows of each file are left to test on."""
    for n, name in product(SIZES, SETTINGS):
        if n <= len(load_libsvm(name)[1]) - 2_000:
            yield f"{name}, {n} rows", partial(measure, name, n)


def line(store: ResultStore) -> tuple[float, float, float]:
    """Fit log(times faster) = level + slope log(support); returns also the deviation.

    A straight line through the logarithms, since both times are about powers of the
    number of support vectors.
    """
    records = store.records.values()
    faster = np.log([r["exact seconds"] / r["early seconds"] for r in records])
    support = np.log([r["exact support"] for r in records])
    slope, level = np.polyfit(support, faster, 1)
    deviation = np.std(faster - level - slope * support)
    return float(level), float(slope), float(deviation)


def pays_from(store: ResultStore, asked: float = ASKED) -> int:
    """Return where the line reaches that ratio: the hint's number, to one digit."""
    level, slope, _ = line(store)
    return int(float(f"{np.exp((np.log(asked) - level) / slope):.0e}"))


def as_rst(store: ResultStore) -> str:
    """Return the table, and where the ratio of ten is reached."""
    records = sorted(store.records.values(), key=lambda r: (r["data"], r["rows"]))
    table = records_table(
        records,
        {
            "data": "{data}",
            "rows": "{rows:,}",
            "support": "{exact support:,}",
            "exact s": "{exact seconds:.2f}",
            "early s": "{early seconds:.2f}",
            "faster": lambda r: f"{r['exact seconds'] / r['early seconds']:.1f}x",
            "exact %": lambda r: f"{100 * r['exact accuracy']:.2f}",
            "early %": lambda r: f"{100 * r['early accuracy']:.2f}",
        },
    )
    _, slope, deviation = line(store)
    return (
        f"{table}\nThe line through all of these: times faster grow "
        f"like support vectors to the power {slope:.2f}\n(within a factor of "
        f"{np.exp(deviation):.1f}, one deviation), and reach {ASKED:.0f} at "
        f"{pays_from(store):,} of them: the hint's number."
    )

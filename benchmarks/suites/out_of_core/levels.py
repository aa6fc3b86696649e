"""Whether a level of clusters before an exact solve pays, and whether "auto" knows.

Each data set is solved without levels and after one level, with little and with much
cache, in processor seconds of one thread, in turn. The rule of "auto" (rows, and kernel
mass between clusters) was chosen on covtype, ijcnn1, letter, cod-rna and a9a.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from widemargin import DivideConquerSVC
from widemargin.multilevel.driver import levels_pay
from widemargin_papers.harness.datasets import load_libsvm, scale_to_interval, subsample
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.timing import processor_seconds

from ..record_tables import records_table

#: data set -> C, gamma (features in [0, 1]) and rows
SETTINGS: dict[str, tuple[float, float, int]] = {
    "covtype.binary": (32.0, 32.0, 40_000),
    "ijcnn1": (32.0, 2.0, 40_000),
    "cod-rna": (10.0, 0.5, 40_000),
    "a9a": (32.0, 0.05, 25_000),
}
CACHES = (100, 2000)  # megabytes


def measure(name: str, megabytes: int) -> Record:
    """Solve without a level and after one; say what "auto" would do."""
    C, gamma, n = SETTINGS[name]
    X, y = load_libsvm(name)
    X, y = subsample(X, y, min(n, len(y)), seed=0)
    X = np.ascontiguousarray(scale_to_interval(X))
    common: dict[str, Any] = {
        "C": C, "gamma": gamma, "cache_size": megabytes, "n_jobs": 1,
    }  # fmt: skip
    plain = DivideConquerSVC(n_levels=0, **common)
    without, _ = processor_seconds(partial(plain.fit, X, y))
    with tempfile.TemporaryDirectory(prefix="widemargin-") as folder:
        path = Path(folder) / "level"  # with a checkpoint one level is always solved
        one = DivideConquerSVC(checkpoint=os.fspath(path), **common)
        after, _ = processor_seconds(partial(one.fit, X, y))
    kernel = plain._kernel
    return {
        "data": name,
        "rows": len(y),
        "cache": megabytes,
        "without": without,
        "after a level": after,
        "auto takes it": bool(levels_pay(X, kernel)),
        "objective ratio": one.certificate_.objective / plain.certificate_.objective,
    }


def work() -> Iterator[Measurement]:
    """Yield every data set with little and with much cache."""
    for name, megabytes in product(SETTINGS, CACHES):
        yield f"{name}, {megabytes} MB", partial(measure, name, megabytes)


def table(store: ResultStore) -> str:
    """Return one row per measurement."""
    return records_table(
        store.records.values(),
        {
            "data": "{data}",
            "rows": "{rows:,}",
            "cache MB": "{cache}",
            "without s": "{without:.1f}",
            "after a level s": "{after a level:.1f}",
            "level / without": lambda r: f"{r['after a level'] / r['without']:.2f}",
            '"auto" takes': lambda r: "the level" if r["auto takes it"] else "none",
        },
    )

"""How often the range that a progress bar gives for the time left holds the truth.

One solve a data set, in processor seconds of one thread; at every report of the solver
the range is noted, and judged once the solve has ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.base.time_left import TimeLeft
from widemargin_papers.harness.datasets import load_libsvm, scale_to_interval, subsample
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import rst_table

from ..record_tables import Column, record_rows

#: data set -> rows, C, gamma (features in [0, 1]); the first half was chosen on
SETTINGS = {
    "a9a": (12_000, 32.0, 0.05),
    "cod-rna": (50_000, 1_000.0, 4.0),
    "covtype.binary": (10_000, 32.0, 32.0),
    "ijcnn1": (45_000, 100.0, 2.0),
    "letter.scale": (15_000, 100.0, 8.0),
    "magic04": (15_000, 1_000.0, 4.0),
    "mnist.t": (10_000, 10.0, 0.02),
    "w5a": (9_000, 100.0, 1.0),
}
CHOSEN_ON = tuple(SETTINGS)[: len(SETTINGS) // 2]
AFTER = 0.2  # share of the time after which the range is asked
TOL = 1e-3


def measure(name: str) -> dict[str, Any]:
    """Solve the problem of a data set; judge what was foreseen at each report."""
    n, C, gamma = SETTINGS[name]
    X, labels = subsample(*load_libsvm(name), n, seed=0)
    y = np.where(labels > np.median(labels), 1.0, -1.0)
    if np.unique(labels).size == 2:
        y = np.where(labels == labels.max(), 1.0, -1.0)
    foreseen: list[tuple[float, tuple[float, float] | None]] = []
    left = TimeLeft(TOL)
    gram = Gram(np.ascontiguousarray(scale_to_interval(X)), Gaussian(gamma), threads=1)
    problem = classification_problem(gram, y, np.full(len(y), C))
    started = time.process_time()

    def monitor(_steps: int, violation: float, _active: int) -> bool:
        passed = time.process_time() - started
        foreseen.append((passed, left.observe(passed, violation)))
        return True

    solve(problem, SolveOptions(tol=TOL, monitor=monitor))
    whole = time.process_time() - started
    asked = [(at, span) for at, span in foreseen if at >= AFTER * whole]
    known = [(whole - at, span) for at, span in asked if span is not None]
    return {
        "data": name,
        "rows": len(y),
        "seconds": whole,
        "asked": len(asked),
        "known": len(known),
        "right": sum(low <= truth <= high for truth, (low, high) in known),
    }


def work() -> Iterator[Measurement]:
    """Yield every data set."""
    for name in SETTINGS:
        yield name, partial(measure, name)


def as_rst(store: ResultStore) -> str:
    """Return the table, and the mean of each half."""
    columns: dict[str, Column] = {
        "data": "{data}",
        "rows": "{rows:,}",
        "seconds": "{seconds:.1f}",
        "asked": "{asked}",
        "unknown": lambda r: str(r["asked"] - r["known"]),
        "right": "{right}",
        "share right": lambda r: (
            f"{r['right'] / r['known']:.0%}" if r["known"] else "-"
        ),
    }
    rows = []
    for half, chosen in (("choosing half", True), ("checking half", False)):
        records = [
            r
            for r in sorted(store.records.values(), key=lambda r: r["data"])
            if (r["data"] in CHOSEN_ON) is chosen
        ]
        rows += record_rows(records, columns)
        shares = [r["right"] / r["known"] for r in records if r["known"]]
        if shares:
            mean = f"{np.mean(shares):.0%}"
            rows.append([f"{half}, mean", "", "", "", "", "", mean])
    return rst_table(list(columns), rows)

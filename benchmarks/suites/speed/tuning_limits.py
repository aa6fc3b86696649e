"""The exact curve, leave-one-out and the memory of a search, in units of plain fits.

The units are fits of our own, in the same run and with as many threads.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from suites.child_process import in_child
from widemargin import SVC, SharedGridSearchCV, c_path, leave_one_out
from widemargin_papers.bench.problems import covtype
from widemargin_papers.harness import datasets
from widemargin_papers.harness.missing_runs import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.worker import status_megabytes

from ..record_tables import records_table

THREADS = 2
ROWS = 2000
DECADES = (1e-3, 1e3)
GAMMAS = (0.1, 1.0)  # of the curve
LEFT_OUT = ((1.0, 1.0), (10.0, 4.0), (100.0, 10.0))  # C and gamma
REFITS = 10  # timed, of as many as there are rows
MEMORY_ROWS, CACHE_MB = 5000, 120
NEEDS = "covtype.binary"


def work() -> Iterator[Measurement]:
    """Yield what is not a grid."""
    if not datasets.available(NEEDS):
        return
    for gamma in GAMMAS:
        yield f"c_path, gamma={gamma:g}", partial(_curve, gamma)
    for C, gamma in LEFT_OUT:
        yield f"leave_one_out, C={C:g}, gamma={gamma:g}", partial(_left_out, C, gamma)
    yield f"memory, n={MEMORY_ROWS}", _memory


def table(store: ResultStore) -> str:
    """Return what is stored of it."""
    columns = {
        "what": "{what}",
        "seconds": "{seconds:.1f}",
        "a fit": "{unit}",
        "figure": "{figure}",
        "target": "{asked}",
    }
    kept = [record for record in store.records.values() if "what" in record]
    return records_table(kept, columns) if kept else ""


def _seconds(work: Callable[..., Any], *given: Any) -> float:
    began = time.perf_counter()
    work(*given)
    return time.perf_counter() - began


def _curve(gamma: float) -> Record:
    """Time the curve over six decades, in exact fits: their mean over C."""
    X, y = covtype(ROWS)
    fits = []
    for C in np.geomspace(*DECADES, 7):
        model = SVC(C=C, gamma=gamma, polish=True, n_jobs=THREADS)
        fits.append(min(_seconds(model.fit, X, y) for _ in range(2)))
    own = SVC(gamma=gamma, n_jobs=THREADS)
    taken = _seconds(partial(c_path, cv=5), own, X, y, *DECADES)
    unit = float(np.mean(fits))
    return {
        "what": f"c_path, n={ROWS}, gamma={gamma:g}, C from {DECADES[0]:g} to "
        f"{DECADES[1]:g}",
        "seconds": taken, "unit": f"{unit:.3f} s", "figure": f"{taken / unit:.0f} fits",
        "asked": "at most 50 fits",
    }  # fmt: skip


def _left_out(C: float, gamma: float) -> Record:
    """Time leave-one-out beside as many fits as there are rows."""
    X, y = covtype(ROWS)
    model = SVC(C=C, gamma=gamma, n_jobs=THREADS)
    fits = [
        _seconds(model.fit, np.delete(X, k, 0), np.delete(y, k)) for k in range(REFITS)
    ]
    kept = SVC(C=C, gamma=gamma, n_jobs=THREADS, keep_rows=True).fit(X, y)
    taken = _seconds(leave_one_out, kept)
    unit = float(np.mean(fits))
    return {
        "what": f"leave_one_out, n={ROWS}, C={C:g}, gamma={gamma:g}",
        "seconds": taken, "unit": f"{unit:.3f} s",
        "figure": f"{ROWS * unit / taken:.0f}x refits", "asked": "at least 20x",
    }  # fmt: skip


def _memory() -> Record:
    """Measure what a search adds to the memory of a process, beside one fit."""
    began = time.perf_counter()
    fit, search = in_child(added_memory)
    return {
        "what": f"memory of a search, n={MEMORY_ROWS}, cache_size={CACHE_MB}",
        "seconds": time.perf_counter() - began, "unit": f"{fit:.0f} MB",
        "figure": f"{search:.0f} MB", "asked": f"at most {CACHE_MB + fit:.0f} MB",
    }  # fmt: skip


def added_memory() -> list[float]:
    """Return the MB that a fit and a search add at most; Linux, in a new process."""
    X, y = (part.copy() for part in covtype(MEMORY_ROWS))
    model = SVC(C=10.0, gamma=2.0, n_jobs=THREADS, cache_size=CACHE_MB)
    grid = {"C": np.geomspace(0.1, 100, 4), "gamma": np.geomspace(0.5, 8, 4)}
    search = SharedGridSearchCV(model, grid, refit=False, n_jobs=THREADS)
    found = []
    for work in (model, search):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak
        before = status_megabytes("VmRSS") or 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work.fit(X, y)
        found.append((status_megabytes("VmHWM") or 0.0) - before)
    return found

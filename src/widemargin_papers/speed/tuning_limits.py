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

from widemargin import SVC, SharedGridSearchCV, c_path, leave_one_out
from widemargin_papers.harness import datasets
from widemargin_papers.harness.child_process import in_child
from widemargin_papers.harness.measuring import say
from widemargin_papers.harness.text_tables import layout
from widemargin_papers.harness.worker import status_megabytes

from .problems import covtype

THREADS = 2
ROWS = 2000
DECADES = (1e-3, 1e3)
GAMMAS = (0.1, 1.0)  # of the curve
LEFT_OUT = ((1.0, 1.0), (10.0, 4.0), (100.0, 10.0))  # C and gamma
REFITS = 10  # timed, of as many as there are rows
MEMORY_ROWS, CACHE_MB = 5000, 120
NEEDS = "covtype.binary"
HEADER = ("what", "seconds", "a fit", "figure", "asked")


def limits_table(only: str = "") -> str:
    """Measure what is not a grid; return the table.

    Parameters
    ----------
    only : str
        Part of a name: "c_path", "leave_one_out" or "memory"; or several with commas
        between them.
    """
    parts = {"c_path": _curve, "leave_one_out": _left_out, "memory": _memory}
    wanted = [part.strip() for part in only.split(",")]
    chosen = [f for name, f in parts.items() if any(w in name for w in wanted)]
    if not chosen or not datasets.available(NEEDS):
        return ""
    rows = []
    for work in chosen:
        for row in work():
            say("  ".join(row))
            rows.append(row)
    return layout(HEADER, rows)


def _seconds(work: Callable[..., Any], *given: Any) -> float:
    began = time.perf_counter()
    work(*given)
    return time.perf_counter() - began


def _curve() -> Iterator[list[str]]:
    """Yield the curve over six decades, in exact fits: their mean over C."""
    X, y = covtype(ROWS)
    for gamma in GAMMAS:
        fits = []
        for C in np.geomspace(*DECADES, 7):
            model = SVC(C=C, gamma=gamma, polish=True, n_jobs=THREADS)
            fits.append(min(_seconds(model.fit, X, y) for _ in range(2)))
        own = SVC(gamma=gamma, n_jobs=THREADS)
        taken = _seconds(partial(c_path, cv=5), own, X, y, *DECADES)
        unit = float(np.mean(fits))
        yield [
            f"c_path, n={ROWS}, gamma={gamma:g}, C in [{DECADES[0]:g}, {DECADES[1]:g}]",
            f"{taken:.1f}", f"{unit:.3f}", f"{taken / unit:.0f} fits", "at most 50",
        ]  # fmt: skip


def _left_out() -> Iterator[list[str]]:
    """Yield leave-one-out beside as many fits as there are rows."""
    X, y = covtype(ROWS)
    for C, gamma in LEFT_OUT:
        model = SVC(C=C, gamma=gamma, n_jobs=THREADS)
        fits = [
            _seconds(model.fit, np.delete(X, k, 0), np.delete(y, k))
            for k in range(REFITS)
        ]
        kept = SVC(C=C, gamma=gamma, n_jobs=THREADS, keep_rows=True).fit(X, y)
        taken = _seconds(leave_one_out, kept)
        unit = float(np.mean(fits))
        yield [
            f"leave_one_out, n={ROWS}, C={C:g}, gamma={gamma:g}",
            f"{taken:.1f}", f"{unit:.3f}", f"{ROWS * unit / taken:.0f}x refits",
            "at least 20x",
        ]  # fmt: skip


def _memory() -> Iterator[list[str]]:
    """Yield what a search adds to the memory of a process, beside one fit."""
    began = time.perf_counter()
    fit, search = in_child(added_memory)
    yield [
        f"memory of a search, n={MEMORY_ROWS}, cache_size={CACHE_MB}",
        f"{time.perf_counter() - began:.1f}", f"{fit:.0f} MB", f"{search:.0f} MB",
        f"at most {CACHE_MB + fit:.0f} MB",
    ]  # fmt: skip


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

"""More times of the ramp loss: the default start, the paper's tolerance, many samples.

Each in turn beside one plain `SVC` fit at the same tolerance: both starts of the
procedure on every setting of Figure 2, the four contestants at 1e-8, and covtype solved
directly and by division.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from widemargin import SVC, RampSVC
from widemargin_papers.harness.campaign import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import rst_table
from widemargin_papers.speed import problems

from . import printed
from .printed import CONTESTANTS, PAPERS_S, Setting
from .timing import fit_in_turn, measure, times_that_ended

STARTS = ("svm", "continuation")
PAPERS_TOLERANCE = 1e-8
COVTYPE_SIZE = 50_000
MOST_FITS = 3  # that a start by continuation was asked to take


def starts(setting: Setting, repeats: int, threads: int = 2) -> Record:
    """Time both starts of the procedure."""
    shared = setting.parameters(threads)
    models: dict[str, Any] = {"SVC": SVC(**shared)}
    models |= {init: RampSVC(s=PAPERS_S, init=init, **shared) for init in STARTS}
    X, y = printed.load(setting.dataset, setting.size)
    return fit_in_turn(models, X, y, repeats, threads)


def covtype(size: int, threads: int = 2) -> Record:
    """Time covtype in [0, 1], solved directly and by division."""
    X, y = problems.covtype(size)
    shared: dict[str, Any] = {"C": 32.0, "gamma": 32.0, "cache_size": 1000}
    shared["n_jobs"] = threads
    models: dict[str, Any] = {"SVC": SVC(**shared)}
    for solver in ("direct", "divide"):
        models[solver] = RampSVC(s=PAPERS_S, solver=solver, **shared)
    return fit_in_turn(models, X, y, 1, threads)


def work() -> Iterator[Measurement]:
    """Yield covtype, both starts of every setting, and all settings at 1e-8."""
    yield f"covtype, n {COVTYPE_SIZE}", partial(covtype, COVTYPE_SIZE)
    for setting in printed.settings():
        yield f"starts, {setting.key}", partial(starts, setting, 3)
    for setting in printed.settings(PAPERS_TOLERANCE):
        measurement = partial(measure, setting, repeats=1)
        yield f"tolerance, {setting.key}", measurement


def tables(store: ResultStore) -> str:
    """Return the medians over the settings, and the times on covtype."""
    parts = []
    header = ["contestant", "lower quartile", "median", "upper quartile"]
    for kind, title, names in (
        ("starts", "Whole procedure over one SVC fit, tolerance 1e-6", STARTS),
        ("tolerance", "The same at 1e-8, four contestants", tuple(CONTESTANTS)),
    ):
        records = {key: r for key, r in store.records.items() if key.startswith(kind)}
        ended = list(times_that_ended(records).values())
        if not ended:
            continue
        rows = []
        for name in names:
            ratios = [seconds[name] / seconds["SVC"] for seconds in ended]
            quartiles = np.quantile(ratios, [0.25, 0.5, 0.75])
            rows.append([name, *(f"{ratio:.2g}" for ratio in quartiles)])
        parts += [
            f"{title}, processor time, {len(ended)} settings "
            f"({len(records) - len(ended)} left out, with a fit stopped at 60 s):\n",
            rst_table(header, rows),
        ]
        if kind == "starts":
            parts.append(_continuation(ended))
    header = ["fit", "processor seconds", "status", "samples given up"]
    for key, record in store.records.items():
        if key.startswith("covtype"):
            rows = []
            for name, entry in record["contestants"].items():
                figures = f"{entry['processor']:.1f}", entry["status"]
                rows.append([name, *figures, str(entry.get("outliers", "-"))])
            title = f"{key}, C = gamma = 32, tolerance 1e-3:\n"
            parts += [title, rst_table(header, rows)]
    return "\n".join(parts)


def _continuation(fits: list[dict[str, float]]) -> str:
    """Return how often a start by continuation keeps within three fits."""
    plain, svm, continued = (
        np.array([seconds[name] for seconds in fits]) for name in ("SVC", *STARTS)
    )
    return (
        f"At most {MOST_FITS} SVC fits takes the continuation in "
        f"{np.count_nonzero(continued <= MOST_FITS * plain)} of {len(fits)} settings, "
        f"and at most {np.max(continued / svm):.2g} times a fit from the plain SVM in "
        f"all ({np.median(continued / svm):.2g} on the median).\n"
    )

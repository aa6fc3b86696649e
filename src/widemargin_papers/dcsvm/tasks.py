"""The divide-and-conquer paper's tables, as tasks: ``widemargin reproduce dcsvm``.

Accuracies are held against the printed ones; times are shown beside them (the paper's
are of another machine, ours are processor seconds, which other jobs disturb least).
Subsets are named in the row: a figure on 20,000 rows stands beside the paper's on all
rows and is not counted as reproduced or not.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from widemargin.estimators.divide_conquer import DivideConquerSVC
from widemargin.estimators.svc import SVC
from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.timing import processor_seconds

from . import printed as paper
from .curves import curve_tasks
from .methods import METHODS, bagging, committee, make_method, naive_sum
from .splits import FILES, accuracy, fit_seconds, subset
from .support_found import found_tasks

TITLE = (
    "Hsieh, Si and Dhillon: A Divide-and-Conquer Solver for Kernel Support Vector "
    "Machines (ICML 2014)"
)
WITHIN = 0.5  # points of accuracy that count as reproduced: splits are random
PATIENCE = 240.0  # seconds for one exact fit of a grid
RANKED = ("random landmarks", "random Fourier features", "LTPU")
# Exact solves and hundreds of features a row take hours on half a million rows.
RANKS = {"ijcnn1": 1000, "covtype": 300, "census": 300}
#: rows a method is given, of the data sets where that is not all of them
ROWS = {
    "SVC": {"covtype": 100_000},
    "DC exact": {"covtype": 100_000},
    "CascadeSVM": {"covtype": 50_000},
    **{method: {"covtype": 50_000, "census": 20_000} for method in RANKED},
}
GRID_ROWS = {"ijcnn1": None, "covtype": 20_000, "census": 20_000}


def tasks(quick: bool) -> list[Task]:
    """Return the tables and figures; `quick` takes subsets, and says so."""
    covtype, size = FILES["covtype"], 5000 if quick else None
    work = [
        Task(_row(f"Table 1, {k} clusters", n), partial(table_1, k, n), covtype, 6)
        for n in ((20_000,) if quick else (None, 50_000))
        for k in ((50,) if quick else (50, 100))
    ]
    for name in ("ijcnn1",) if quick else ("ijcnn1", "covtype", "census"):
        for method in METHODS:
            n = size if quick else ROWS.get(method, {}).get(name)
            run = partial(table_2, name, method, n, 100 if quick else RANKS[name])
            work.append(Task(f"Table 2, {name}, {method}", run, FILES[name], 2))
        work.append(Task(f"Table 2, {name}, quoted", partial(quoted, name)))
    levels = partial(table_5, 3000 if quick else 50_000)
    work.append(Task("Table 5, covtype", levels, covtype, 10))
    work += [
        Task(f"Table 6, {name}, k={k}", partial(table_6, name, k, n), FILES[name], 2)
        for name, n, k in (
            [("ijcnn1", 5000, 16)] if quick
            else [(*own, k) for own in (("ijcnn1", None), ("covtype", 100_000))
                  for k in (256, 64, 16)]
        )
    ]  # fmt: skip
    powers = (-6, 1, 6) if quick else (-10, -6, 1, 6, 10)
    for name, n in ({"ijcnn1": 2000} if quick else GRID_ROWS).items():
        for C, gamma in product(powers, powers):
            title = f"grid, {name}, C=2^{C} gamma=2^{gamma}"
            run = partial(grid_point, name, C, gamma, n)
            work.append(Task(title, run, FILES[name], 4))
    work += curve_tasks(quick) + found_tasks(quick)
    return work + [
        Task(f"Table 2, {name}", lambda: (), (name,), len(METHODS))
        for name in paper.UNAVAILABLE
    ]


def _row(name: str, n: int | None) -> str:
    return name if n is None else f"{name}, {n} rows"


def table_1(k: int, n: int | None) -> Iterable[Cell]:
    """Yield accuracy and milliseconds of early, naive and committee prediction."""
    data = subset("covtype", n, 20_000)
    C, gamma = paper.PARAMETERS["covtype"]
    model = DivideConquerSVC(
        C=C, gamma=gamma, fit_intercept=False, prediction="early", n_branches=k,
        early_level=1, random_state=0,
    ).fit(data.X, data.y)  # fmt: skip
    early: Any = model.early_
    ways: dict[str, Any] = {
        "early": lambda: early.decision(data.X_test)[:, 0],
        "naive sum": lambda: naive_sum(early, data.X_test),
        "BCM": lambda: committee(early, data.X, data.y, data.X_test),
    }
    for way, decide in ways.items():
        seconds, decisions = processor_seconds(decide)
        right = 100 * np.mean(np.where(decisions >= 0, 1, -1) == data.y_test)
        spent = 1e3 * seconds / len(data.y_test)
        printed, per_sample = paper.TABLE_1[way][k]
        held = WITHIN if n is None and way == "early" else None
        row = _row(f"{way}, k={k}", n)
        yield Cell("Table 1", row, "accuracy %", float(right), printed, held)
        yield Cell("Table 1", row, "ms per sample", spent, per_sample)


def table_2(name: str, method: str, n: int | None, rank: int) -> Iterable[Cell]:
    """Yield accuracy and processor seconds of one method on one data set."""
    data = subset(name, n)
    C, gamma = paper.PARAMETERS[name]
    model = make_method(method, C=C, gamma=gamma, rank=rank)
    seconds, model = fit_seconds(model, data)
    printed = paper.TABLE_2.get(method, {}).get(name, (None, None))
    ours = method.startswith(("DC", "SVC"))
    held = WITHIN if n is None and ours else None
    row = _row(f"{name}, {method}", n)
    note = f"rank {rank}, the paper's 3000" if method in RANKED else ""
    found = accuracy(model, data)
    yield Cell("Table 2", row, "accuracy %", found, printed[0], held, note)
    yield Cell("Table 2", row, "processor s", seconds, printed[1], None, note)


def quoted(name: str) -> Iterable[Cell]:
    """Yield the printed figures of the methods that are not run again."""
    for method in paper.QUOTED:
        right, seconds = paper.TABLE_2[method][name]
        row = f"{name}, {method}"
        yield Cell("Table 2", row, "accuracy %", None, right, None, "quoted")
        yield Cell("Table 2", row, "processor s", None, seconds, None, "quoted")


def table_5(n: int) -> Iterable[Cell]:
    """Yield the seconds of clustering and training on each level of an exact fit."""
    data = subset("covtype", n, 1000)
    C, gamma = paper.PARAMETERS["covtype"]
    model = DivideConquerSVC(
        C=C, gamma=gamma, fit_intercept=False, n_levels=4, random_state=0
    ).fit(data.X, data.y)
    for stage in model.history_:
        if "clusters" in stage:
            level = int(stage["stage"].split()[1])
            clustering, training = paper.TABLE_5[level]
            row = _row(f"level {level}", n)
            for kind, printed in (("clustering", clustering), ("training", training)):
                spent = stage[f"{kind}_seconds"]
                yield Cell("Table 5", row, f"{kind} s", spent, printed)
    last = sum(s["seconds"] for s in model.history_ if "clusters" not in s)
    yield Cell("Table 5", _row("level 0", n), "training s", last, paper.TABLE_5[0][1])


def table_6(name: str, k: int, n: int | None) -> Iterable[Cell]:
    """Yield the accuracy of early prediction and of bagging with k models."""
    data = subset(name, n)
    C, gamma = paper.PARAMETERS[name]
    level = {16: 2, 64: 3, 256: 4}[k]
    early = DivideConquerSVC(
        C=C, gamma=gamma, prediction="early", early_level=level, random_state=0
    ).fit(data.X, data.y)
    votes = bagging(SVC(C=C, gamma=gamma), k).fit(data.X, data.y)
    printed = paper.TABLE_6[name][k]
    held = WITHIN if n is None else None
    row = _row(f"{name}, k={k}", n)
    yield Cell("Table 6", row, "early %", accuracy(early, data), printed[0], held)
    # bagging by votes of SVMs with an intercept: close, not equal, to theirs
    yield Cell("Table 6", row, "bagging %", accuracy(votes, data), printed[1], None)


def grid_point(name: str, C: int, gamma: int, n: int | None) -> Iterable[Cell]:
    """Yield accuracy and seconds of early and exact fits at one point of the grid."""
    data = subset(name, n)
    printed = paper.GRIDS[name][C, gamma]
    # without an intercept, as in the paper: with one a small C says "majority class"
    parameters: dict[str, Any] = {
        "C": 2.0**C, "gamma": 2.0**gamma, "fit_intercept": False, "n_jobs": 2,
    }  # fmt: skip
    methods = {
        "early": DivideConquerSVC(
            prediction="early", early_level=3, random_state=0, **parameters
        ),
        "exact": DivideConquerSVC(max_time=PATIENCE, random_state=0, **parameters),
    }
    row = _row(f"C=2^{C} gamma=2^{gamma}", n)
    for (method, model), (right, seconds) in zip(
        methods.items(), printed[:2], strict=True
    ):
        spent, model = fit_seconds(model, data)
        held = WITHIN if n is None else None
        found, note = accuracy(model, data), ""
        if model.fit_status_:
            note = f"stopped after {PATIENCE:g} s, the accuracy is the early model's"
        yield Cell(f"grid {name}", row, f"{method} %", found, right, held, note)
        yield Cell(f"grid {name}", row, f"{method} s", spent, seconds, note=note)

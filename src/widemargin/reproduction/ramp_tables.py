"""The robust SVM paper's figures, as tasks: ``widemargin reproduce ramp``.

The paper prints no numbers, only curves; what can be held against it is its claim that
screening saves "almost 50%" of the time in most settings (Figure 2) and that most
samples are decided in the end (Figure 3). Beside them: how many decisions of the rule
as printed are wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from widemargin.certificate import intercept_interval
from widemargin.display import HistoryDisplay
from widemargin.gram import Gram
from widemargin.kernels import Gaussian, Kernel, Linear
from widemargin.problem import classification_problem
from widemargin.reproduction.papers import Cell, Task
from widemargin.reproduction.ramp import solve_as_printed
from widemargin.reproduction.ramp_timing import (
    CONTESTANTS,
    FIGURE_3,
    FILES,
    SIZE,
    Setting,
    load,
    measure,
    settings,
    shares,
)
from widemargin.solve import solve

TITLE = (
    "Zhai, Gu, Li and Huang: Safe Sample Screening for Robust Support Vector Machine "
    "(AAAI 2020)"
)
Panels = dict[str, dict[str, list[tuple[float, float]]]]
PRINTED_SIZE = 600  # the printed algorithm runs in numpy


def tasks(quick: bool) -> list[Task]:
    """Return the settings of Figures 2 and 3, and the printed rule on each data set."""
    chosen = list(settings(size=1000 if quick else SIZE))
    if quick:
        chosen = [s for s in chosen if s.C == 1.0]
    work = [
        Task(
            f"Figure 2, {setting.key}",
            partial(times, setting, 1 if quick else 3),
            FILES[setting.dataset],
            "Figure 2",
            len(CONTESTANTS),
        )
        for setting in chosen
    ]
    work += [
        Task(
            f"Figure 3, {setting.key}",
            partial(share_curve, setting),
            FILES[setting.dataset],
            "Figure 3",
        )
        for (kappa, C), dataset in product(FIGURE_3, FILES)
        for setting in [Setting(dataset, kappa, C, size=4000 if quick else SIZE)]
    ]
    work += [
        Task(
            f"rule (20)-(21) as printed, {name}, {'linear' if k is None else k}",
            partial(wrong_decisions, name, k),
            needs,
            "rule as printed",
            2,
        )
        for name, needs in FILES.items()
        for k in (None, 0.5)
    ]
    return work


def times(setting: Setting, repeats: int) -> Iterable[Cell]:
    """Yield the seconds of each contestant."""
    record = measure(setting, repeats=repeats)
    figures = record["contestants"]
    for name in CONTESTANTS:
        note = figures[name]["status"]
        yield Cell("Figure 2", setting.key, name, figures[name]["seconds"], note=note)


def share_curve(setting: Setting) -> Iterable[Cell]:
    """Yield the share of samples decided at each check of the first convex problem."""
    for iteration, share, _ in shares(setting)["points"]:
        yield Cell("Figure 3", setting.key, f"iteration {iteration}", share)


def wrong_decisions(name: str, kappa: float | None) -> Iterable[Cell]:
    """Yield how many samples the printed rule fixes, how many at the wrong bound."""
    X, y = load(name, PRINTED_SIZE)
    kernel: Kernel = Linear() if kappa is None else Gaussian(kappa)
    problem = classification_problem(Gram(X, kernel), y, np.full(len(y), 1.0))
    run = solve_as_printed(problem, tol=1e-6, max_iter=20_000)
    best = solve(problem, tol=1e-9)
    targets = problem.linear - best.values
    left, right = intercept_interval(
        best.values, problem.linear, problem.lower, problem.upper, 0.0
    )
    wrong = np.count_nonzero(run.fixed_low & (targets > right + 1e-6))
    wrong += np.count_nonzero(run.fixed_high & (targets < left - 1e-6))
    fixed = np.count_nonzero(run.fixed_low | run.fixed_high)
    row = f"{name}, {'linear' if kappa is None else f'kappa {kappa:g}'}, n {len(y)}"
    yield Cell("rule as printed", row, "samples fixed", float(fixed))
    note = "the rule leaves out how far the intercept moves (errata)"
    yield Cell("rule as printed", row, "fixed wrongly", float(wrong), 0.0, 0.0, note)


def figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw seconds against C (Figure 2) and shares against iterations (Figure 3)."""
    seconds: Panels = {}
    shares_: Panels = {}
    for cell in cells:
        if cell.ours is None:
            continue
        panel, _, rest = cell.row.partition(" C ")
        if cell.table == "Figure 2":
            curves = seconds.setdefault(panel, {}).setdefault(cell.column, [])
            curves.append((float(rest.split(" ")[0]), cell.ours))
        elif cell.table == "Figure 3":
            name = f"C {rest.split(' ')[0]}"
            curves = shares_.setdefault(panel, {}).setdefault(name, [])
            curves.append((float(cell.column.split(" ")[1]), cell.ours))
    drawn = {}
    if seconds:
        drawn["figure2"] = draw(seconds, "C", "seconds", log=True)
    if shares_:
        drawn["figure3"] = draw(shares_, "iteration", "share decided", log=False)
    return drawn


def draw(panels: Panels, x: str, y: str, *, log: bool) -> Any:
    """Return a figure with a panel for each entry."""
    from matplotlib.figure import Figure

    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(3.6 * columns, 3.0 * rows), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for ax, (panel, curves) in zip(axes, panels.items(), strict=False):
        series = {
            name: tuple(np.transpose(sorted(points))) for name, points in curves.items()
        }
        HistoryDisplay(series, x, y).plot(ax=ax, log=log, log_x=True)
        ax.set_title(panel, fontsize=9)
    return figure

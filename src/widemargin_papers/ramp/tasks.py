"""The robust SVM paper's figures, as tasks: ``widemargin reproduce ramp``.

The paper prints no numbers, only curves; what can be held against it is its claim that
screening saves "almost 50%" of the time in most settings (Figure 2) and that most
samples are decided in the end (Figure 3). Beside them: how many decisions of the rules
as printed are wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.intercept import intercept_interval
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.ramp.concave_convex import RampProblem
from widemargin_papers.harness.cells import Cell, Task, row_cells
from widemargin_papers.harness.results import Record

from . import printed
from .printed import CONTESTANTS, FIGURE_3, FILES, PAPERS_S, SIZE, Setting
from .printed_algorithm import propagate_as_printed, solve_as_printed
from .timing import measure, shares

Mask = NDArray[np.bool_]

TITLE = (
    "Zhai, Gu, Li and Huang: Safe Sample Screening for Robust Support Vector Machine "
    "(AAAI 2020)"
)
PRINTED_SIZE = 600  # the printed algorithm runs in numpy
ROUNDS = 50  # most convex problems in a row


def tasks(quick: bool) -> list[Task]:
    """Return the settings of Figures 2 and 3, and the printed rules on each set."""
    chosen = list(printed.settings(size=1000 if quick else SIZE))
    if quick:
        chosen = [s for s in chosen if s.C == 1.0]
    work = [
        Task(
            f"Figure 2, {setting.key}",
            partial(times, setting, 1 if quick else 3),
            FILES[setting.dataset],
            len(CONTESTANTS),
        )
        for setting in chosen
    ]
    for (kappa, C), dataset in product(FIGURE_3, FILES):
        setting = Setting(dataset, kappa, C, size=4000 if quick else SIZE)
        curve = partial(share_curve, setting)
        work.append(Task(f"Figure 3, {setting.key}", curve, FILES[dataset]))
    for (name, needs), k in product(FILES.items(), (None, 0.5)):
        title = f"rules as printed, {name}, {'linear' if k is None else k}"
        work.append(Task(title, partial(wrong_decisions, name, k), needs, 4))
    return work


def times(setting: Setting, repeats: int) -> Iterable[Cell]:
    """Yield the seconds of each contestant."""
    found = measure(setting, repeats=repeats)["contestants"]
    seconds = {n: (found[n]["seconds"], found[n]["status"]) for n in CONTESTANTS}
    return row_cells("Figure 2", setting.key, seconds)


def share_curve(setting: Setting) -> Iterable[Cell]:
    """Yield the share of samples decided at each check of the first convex problem."""
    return share_cells(shares(setting))


def share_cells(record: Record) -> list[Cell]:
    """Return the points of one stored curve of Figure 3."""
    points = {f"iteration {step}": share for step, share, _ in record["points"]}
    return row_cells("Figure 3", record["setting"], points)


def wrong_decisions(name: str, kappa: float | None) -> Iterable[Cell]:
    """Yield how many samples the printed rules fix, how many at the wrong bound.

    Rule (20)-(21) inside the first convex problem, then (26)-(27) between each convex
    problem and the next, until the clipped set repeats.
    """
    X, y = printed.load(name, PRINTED_SIZE)
    kernel = Setting(name, kappa, 1.0).kernel
    ramp = RampProblem(Gram(X, kernel), y, np.ones(len(y)), PAPERS_S)
    row = f"{name}, {'linear' if kappa is None else f'kappa {kappa:g}'}, n {len(y)}"
    clipped = np.zeros(len(y), bool)
    best = solve(ramp.convex(clipped), SolveOptions(tol=1e-9))
    run = solve_as_printed(best.problem, tol=1e-6, max_iter=20_000)
    counts = _count(best, run.fixed_low, run.fixed_high)
    note = "the rule leaves out how far the intercept moves (errata)"
    yield from _counted("rule (20)-(21) as printed", row, counts, note)
    counts = np.zeros(2, int)
    for _ in range(ROUNDS):
        after = ramp.clips(best)
        if np.array_equal(after, clipped):
            break
        clipped = after
        low, high = propagate_as_printed(best, ramp.convex(clipped))
        best = solve(ramp.convex(clipped), SolveOptions(tol=1e-9))
        counts += _count(best, low, high)
    note = "two terms have the wrong sign, and the intercept is left out (errata)"
    yield from _counted("rule (26)-(27) as printed", row, counts, note)


def _count(best: Solution, low: Mask, high: Mask) -> NDArray[np.int_]:
    """Return how many samples were fixed, and how many of them wrongly."""
    problem = best.problem
    targets = problem.linear - best.values
    box = problem.lower, problem.upper
    left, right = intercept_interval(best.values, problem.linear, *box, 0.0)
    wrong = (low & (targets > right + 1e-6)) | (high & (targets < left - 1e-6))
    return np.array([np.count_nonzero(low | high), np.count_nonzero(wrong)])


def _counted(
    table: str, row: str, counts: NDArray[np.int_], note: str
) -> Iterable[Cell]:
    fixed, wrong = counts.astype(float)
    yield Cell(table, row, "samples fixed", fixed)
    yield Cell(table, row, "fixed wrongly", wrong, 0.0, 0.0, note)

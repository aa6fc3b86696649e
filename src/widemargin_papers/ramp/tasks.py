"""The robust SVM paper's figures, as tasks: ``widemargin reproduce ramp``.

The paper prints no numbers, only curves; what can be held against it is its claim that
screening saves "almost 50%" of the time in most settings (Figure 2) and that most
samples are decided in the end (Figure 3). Figure 2's four contestants are `RampSVC`
with screening on or off and shrinking on or off; beside them stands one plain `SVC`
fit, which the whole procedure is measured against. Beside the figures: how many
decisions of the rules as printed are wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, RampSVC
from widemargin.engine.gram import Gram
from widemargin.engine.intercept import intercept_interval
from widemargin.engine.problem import classification_problem
from widemargin.engine.screening.rules import screen
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.ramp.concave_convex import RampProblem
from widemargin.runtime.deadline import Deadline
from widemargin_papers.harness.cells import Cell, Task, row_cells
from widemargin_papers.harness.results import Record
from widemargin_papers.harness.timing import fastest_in_turn, processor_seconds

from . import printed
from .printed import (
    CONTESTANTS,
    FIGURE_3,
    FILES,
    LONGEST,
    PAPERS_S,
    SIZE,
    Setting,
    Vector,
)
from .printed_rules import fixed_on_the_way, propagate_as_printed

Mask = NDArray[np.bool_]

TITLE = (
    "Zhai, Gu, Li and Huang: Safe Sample Screening for Robust Support Vector Machine "
    "(AAAI 2020)"
)
RULES = "Rules as printed"
PRINTED_SIZE = 600  # samples on which the printed rules are judged
ROUNDS = 50  # most convex problems in a row
LONG = 15.0  # seconds from which one run is a measurement: no repeats
ROUNDINGS = 8.0  # times the estimate for float32 rows: a bound on what they leave


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
            len(CONTESTANTS) + 3,
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
    """Yield the processor seconds of SVC and of each contestant, and what was done."""
    models = contestants(setting, threads=2)
    X, y = printed.load(setting.dataset, setting.size)
    for name, run in fit_in_turn(models, X, y, repeats).items():
        note = "stopped" if run["status"] == "max_time" else ""
        yield Cell("Figure 2", setting.key, name, run["processor"], note=note)
    history = models["safe+shrink"].history_
    shares = [check["share"] for stage in history for check in stage["screened"]]
    done = {"convex problems": len(history), "share decided": max(shares, default=0.0)}
    yield from row_cells("Figure 2", setting.key, done)


def contestants(setting: Setting, threads: int) -> dict[str, Any]:
    """Return SVC and Figure 2's four contestants, unfitted."""
    shared = setting.parameters(threads)
    models: dict[str, Any] = {"SVC": SVC(**shared)}
    for name, choice in CONTESTANTS.items():
        models[name] = RampSVC(s=PAPERS_S, init="svm", **shared, **choice)
    return models


def fit_in_turn(
    models: Mapping[str, Any], X: Any, y: Vector, repeats: int
) -> dict[str, Record]:
    """Fit every model in turn and keep each one's fastest run by processor time.

    A run that was stopped is kept only where none ended.
    """

    def fit(model: Any) -> Record:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds, _ = processor_seconds(partial(model.fit, X, y))
        return {"processor": seconds, "status": model.certificate_.status}

    runs = {name: partial(fit, model) for name, model in models.items()}
    order = lambda run: (run["status"] == "max_time", run["processor"])  # noqa: E731
    return fastest_in_turn(runs, repeats, long=LONG, order=order)


def share_curve(setting: Setting) -> Iterable[Cell]:
    """Yield the share of samples decided, against the iteration.

    The first convex problem, the plain SVM, is solved from a cold start: the rule is
    evaluated wherever the largest violation has halved. What it has decided once is
    decided.
    """
    X, y = printed.load(setting.dataset, setting.size)
    gram = Gram(X, setting.kernel, cache_mb=1000, threads=1)
    problem = classification_problem(gram, y, np.full(len(y), setting.C))
    halvings = int(np.ceil(-np.log2(setting.tol)))
    solution: Solution | None = None
    steps, points = 0, {}
    decided = np.zeros(len(y), bool)
    for tol in [*np.ldexp(1.0, -np.arange(halvings)), setting.tol]:
        options = SolveOptions(tol=tol, deadline=Deadline.after(LONGEST))
        solution = solve(problem, options, start=solution)
        steps += solution.n_iter
        error = 0.0 if solution.exact else ROUNDINGS * gram.float32_error(solution.beta)
        found = screen(problem, solution.beta, solution.values, rank=False, error=error)
        decided |= found.at_lower | found.at_upper
        points[f"iteration {steps}"] = float(decided.mean())
        if solution.status == "max_time":
            break
    return row_cells("Figure 3", setting.key, points)


def wrong_decisions(name: str, kappa: float | None) -> Iterable[Cell]:
    """Yield how many samples the printed rules fix, how many at the wrong bound.

    Rule (20)-(21) along the first convex problem, then (26)-(27) between each convex
    problem and the next, until the clipped set repeats.
    """
    X, y = printed.load(name, PRINTED_SIZE)
    kernel = Setting(name, kappa, 1.0).kernel
    ramp = RampProblem(Gram(X, kernel), y, np.ones(len(y)), PAPERS_S)
    row = f"{name}, {'linear' if kappa is None else f'kappa {kappa:g}'}"
    clipped = np.zeros(len(y), bool)
    best = solve(ramp.convex(clipped), SolveOptions(tol=1e-9))
    inside = count_wrong(best, *fixed_on_the_way(best.problem))
    between = np.zeros(2, int)
    for _ in range(ROUNDS):
        after = ramp.clips(best)
        if np.array_equal(after, clipped):
            break
        clipped = after
        low, high = propagate_as_printed(best, ramp.convex(clipped))
        best = solve(ramp.convex(clipped), SolveOptions(tol=1e-9))
        between += count_wrong(best, low, high)
    for rule, counts, note in (
        ("(20)-(21)", inside, "it leaves out how far the intercept moves (errata)"),
        ("(26)-(27)", between, "two terms have the wrong sign (errata)"),
    ):
        fixed, wrong = counts.astype(float)
        yield Cell(RULES, row, f"{rule}: fixed", fixed)
        yield Cell(RULES, row, f"{rule}: wrongly", wrong, 0.0, 0.0, note)


def count_wrong(best: Solution, low: Mask, high: Mask) -> NDArray[np.int_]:
    """Return how many samples were fixed, and how many of them wrongly."""
    problem = best.problem
    targets = problem.linear - best.values
    box = problem.lower, problem.upper
    left, right = intercept_interval(best.values, problem.linear, *box, 0.0)
    wrong = (low & (targets > right + 1e-6)) | (high & (targets < left - 1e-6))
    return np.array([np.count_nonzero(low | high), np.count_nonzero(wrong)])

"""Figures 2 and 3 of the robust SVM paper: times, and the share of samples decided.

Figure 2's four contestants are `RampSVC` with screening on or off and shrinking on or
off; beside them stands one plain `SVC` fit, which the whole procedure is measured
against. One setting is measured in one process, contestants in turn, repeat by repeat,
so that a ratio compares neighbours in time. Figure 3 asks the rule along one solve.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, RampSVC
from widemargin.engine.gram import Gram
from widemargin.engine.problem import classification_problem
from widemargin.engine.screening.rules import screen
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.runtime.deadline import Deadline
from widemargin_papers.harness.campaign import Measurement
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.timing import fastest_in_turn, spending

from . import printed
from .printed import (
    CONTESTANTS,
    DATASETS,
    FIGURE_3,
    LONGEST,
    PAPERS_S,
    Setting,
    Vector,
)

ROUNDINGS = 8.0  # times the estimate for float32 rows: a bound on what they leave
LONG = 15.0  # seconds from which one run is a measurement: no repeats


def measure(setting: Setting, *, repeats: int = 3, threads: int = 2) -> Record:
    """Fit SVC and Figure 2's four contestants."""
    shared = setting.parameters(threads)
    models: dict[str, Any] = {"SVC": SVC(**shared)}
    for name, choice in CONTESTANTS.items():
        models[name] = RampSVC(s=PAPERS_S, init="svm", **shared, **choice)
    X, y = printed.load(setting.dataset, setting.size)
    return {"setting": setting.key} | fit_in_turn(models, X, y, repeats, threads)


def fit_in_turn(
    models: dict[str, Any], X: Any, y: Vector, repeats: int, threads: int
) -> Record:
    """Fit every model in turn and keep each one's fastest run by processor time.

    A run that was stopped is kept only where none ended.
    """
    runs = {name: partial(_fit, model, X, y) for name, model in models.items()}
    figures = fastest_in_turn(
        runs,
        repeats,
        long=LONG,
        order=lambda run: (run["status"] == "max_time", run["processor"]),
    )
    shape = {"n": len(y), "d": int(X.shape[1]), "threads": threads}
    return shape | {"contestants": figures}


def _fit(model: Any, X: Any, y: Vector) -> Record:
    with warnings.catch_warnings(), spending() as spent:
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    return outcome(model) | {"seconds": spent.wall, "processor": spent.processor}


def shares(setting: Setting, *, threads: int = 1) -> Record:
    """Return Figure 3's curve: the share of samples decided, against the iteration.

    The first convex problem, the plain SVM, is solved from a cold start: the rule is
    evaluated wherever the largest violation has halved. What it has decided once is
    decided.
    """
    X, y = printed.load(setting.dataset, setting.size)
    gram = Gram(X, setting.kernel, cache_mb=1000, threads=threads)
    problem = classification_problem(gram, y, np.full(len(y), setting.C))
    halvings = int(np.ceil(-np.log2(setting.tol)))
    solution: Solution | None = None
    steps, points = 0, []
    decided = np.zeros(len(y), bool)
    for tol in [*np.ldexp(1.0, -np.arange(halvings)), setting.tol]:
        options = SolveOptions(tol=tol, deadline=Deadline.after(LONGEST))
        solution = solve(problem, options, start=solution)
        steps += solution.n_iter
        error = 0.0 if solution.exact else ROUNDINGS * gram.float32_error(solution.beta)
        found = screen(problem, solution.beta, solution.values, rank=False, error=error)
        decided |= found.at_lower | found.at_upper
        points.append([steps, float(decided.mean()), found.gap])
        if solution.status == "max_time":
            break
    assert solution is not None
    return {
        "setting": setting.key,
        "n": len(y),
        "points": points,
        "status": solution.status,
    }


def share_work() -> Iterator[Measurement]:
    """Yield the panels of Figure 3."""
    for (kappa, C), dataset in product(FIGURE_3, DATASETS):
        setting = Setting(dataset, kappa, C)
        yield setting.key, partial(shares, setting)


def outcome(model: Any) -> Record:
    """Return what a fitted model reached: objective, gap, rounds, outliers, curve.

    The curve has Figure 3's points of each convex problem: iteration, seconds, share.
    """
    certificate = model.certificate_
    names = ("status", "gap", "kkt_violation", "objective")
    record: Record = {name: getattr(certificate, name) for name in names}
    record["support"] = len(model.support_)
    if isinstance(model, RampSVC):
        record["objective"] = model.objective_
        record["outliers"] = len(model.outliers_)
        record["rounds"] = len(model.history_)
        record["curve"] = [
            [[p["n_iter"], p["seconds"], p["share"]] for p in stage.get("screened", [])]
            for stage in model.history_
        ]
    return record


def work() -> Iterator[Measurement]:
    """Yield the settings of Figure 2."""
    for setting in printed.settings():
        yield setting.key, partial(measure, setting)


def times_that_ended(records: Mapping[str, Record]) -> dict[str, dict[str, float]]:
    """Return the processor seconds of all settings in which no fit was stopped.

    Wall times of a busy machine say little; those are stored beside.
    """
    ended = {}
    for key, record in records.items():
        figures = record["contestants"]
        if all(entry["status"] != "max_time" for entry in figures.values()):
            ended[key] = {name: entry["processor"] for name, entry in figures.items()}
    return ended


def best_of_four(seconds: dict[str, float]) -> float:
    """Return the time of the fastest contestant."""
    return min(seconds[name] for name in CONTESTANTS)


def within_reach(seconds: dict[str, float]) -> bool:
    """Whether safe+shrink takes at most 1.25 times the best plus 0.1 s."""
    return seconds["safe+shrink"] <= 1.25 * best_of_four(seconds) + 0.1


def ratios(store: ResultStore) -> dict[str, float]:
    """Return the medians over the settings in which every fit ended."""
    ended = [
        times | {"fastest of the four": best_of_four(times), "shrink (the default)":
                 times["shrink"]}
        for times in times_that_ended(store.records).values()
    ]  # fmt: skip
    pairs = [
        ("none", "safe+shrink"),
        ("safe+shrink", "SVC"),
        ("shrink (the default)", "SVC"),
        *((name, "fastest of the four") for name in CONTESTANTS),
        ("fastest of the four", "SVC"),
    ]
    return {
        "settings": len(ended),
        "settings left out, with a fit that was stopped": len(store.records)
        - len(ended),
        **{
            f"median of {a} / {b}": float(np.median([t[a] / t[b] for t in ended]))
            for a, b in pairs
        },
        "share within 1.25x the best plus 0.1 s": float(
            np.mean([within_reach(times) for times in ended])
        ),
    }

"""The chance-constrained paper's tables, as tasks: ``widemargin reproduce chance``.

Tables 2, 3 and 4: time and test accuracy of the interior point (one cone for each
sample), of the published method after 2, 10 and 50 epochs, of the refined one and of
the Newton solver, over random partitions. Table 1: time to accuracy of the batch and
the stochastic method. "Above the optimum" is ``f / f* - 1``, f* certified by the Newton
solver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.chance_constrained.proven_solution import ChanceSolution
from widemargin.estimators.chance_constrained.smoothed_newton import newton
from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.datasets import standardise

from .methods import (
    METHODS,
    Run,
    batch_subgradient,
    class_problem,
    dense_data,
    deviation,
    mean_accuracy,
    partition,
    run_method,
    run_stochastic,
)
from .printed import DATA, EPOCHS, PAPER, SEDUMI

Floats = NDArray[np.float64]

TITLE = (
    "Wang, Fan and Pardalos: Stochastic subgradient descent method for large-scale "
    "robust chance-constrained support vector machines (2016)"
)
RUNS, QUICK_RUNS = 20, 2
COSTS = (0.01, 0.1, 1.0, 10.0)


def tasks(quick: bool) -> list[Task]:
    """Return the partitions of Tables 2 to 4, the curves of Table 1, and the grids."""
    runs, few, steps = (QUICK_RUNS, 2, 256) if quick else (RUNS, 5, 4096)
    work = []
    for table, (name, shares) in PAPER.items():
        for share in shares:
            title = f"{table}, {name}, {share:.0%} training"
            run = partial(partitions, table, name, share, runs)
            work.append(Task(title, run, (name,), 5 * len(METHODS)))
    for name in DATA:
        for title, run, cells in (
            ("Table 1, curves", partial(curves, name, steps), 12),
            ("scaled data", partial(scaled, name, few), len(EPOCHS) * 2),
            ("grid over C", partial(grid, name, runs), len(COSTS) * 3),
        ):
            work.append(Task(f"{title}, {name}", run, (name,), cells))
    return work


def partitions(table: str, name: str, share: float, runs: int) -> Iterable[Cell]:
    """Run all methods on random partitions.

    In a quick run the interior point runs once only on thousands of samples.
    """
    most = runs if runs > QUICK_RUNS else 1
    X, y = dense_data(name)
    results: dict[str, list[Run]] = {method: [] for method in METHODS}
    for seed in range(runs):
        train, test = partition(len(y), share, seed)
        problem = class_problem(X[train], y[train])
        for method, done in results.items():
            slow = method == SEDUMI and len(train) > 2000
            if not (slow and len(done) >= most):
                done.append(run_method(method, problem, X[test], y[test], seed))
    best = [run.objective for run in results["newton"]]
    for method, done in results.items():
        yield from _cells(table, share, method, done, best)


def _cells(
    table: str, share: float, method: str, done: Sequence[Run], best: Sequence[float]
) -> Iterable[Cell]:
    """Yield seconds, accuracy, their deviations, objective above the optimum."""
    printed = PAPER[table][1][share].get(method)
    paper: dict[str, float] = {} if printed is None else asdict(printed)
    title = f"{table}, {share:.0%} training"
    note = f"mean of {len(done)} runs"
    seconds = np.array([run.seconds for run in done])
    right = 100.0 * np.array([run.accuracy for run in done])
    spread, printed_deviation = paper.get("spread"), paper.get("deviation")
    for column, ours, figure, tolerance in (
        ("seconds", float(seconds.mean()), paper.get("seconds"), None),
        ("deviation of seconds", deviation(seconds), spread, None),
        ("accuracy %", float(right.mean()), paper.get("accuracy"), printed_deviation),
        ("deviation of accuracy", deviation(right), printed_deviation, None),
    ):
        yield Cell(title, method, column, ours, figure, tolerance, note)
    excess = [run.objective / f - 1.0 for run, f in zip(done, best, strict=False)]
    note = f"from {min(excess):.3g} to {max(excess):.3g}"
    yield Cell(title, method, "above the optimum", float(np.mean(excess)), note=note)
    gaps = [run.relative_gap for run in done if run.relative_gap is not None]
    if gaps:
        yield Cell(title, method, "largest relative gap", max(gaps), note="certified")


def curves(name: str, iterations: int) -> Iterable[Cell]:
    """Time to reach 1, 0.1 and 0.01 above the optimum, on standardised data."""
    X, y = dense_data(name)
    problem = class_problem(standardise(X), y)
    best = newton(problem).objective
    found = {
        "batch subgradient": [
            (seconds, value)
            for _, seconds, value in batch_subgradient(problem, iterations)
        ],
        "SSGD, published": _curve(partial(run_stochastic, problem, refine=False)),
        "SSGD, refined": _curve(partial(run_stochastic, problem)),
        "newton": _curve(partial(newton, problem)),
    }
    for label, curve in found.items():
        row = f"{name}, {label}"
        above = np.array([value / best - 1.0 for _, value in curve])
        lowest = np.maximum(np.minimum.accumulate(above), 0.0)
        for (seconds, _), value in zip(curve, lowest, strict=True):
            yield Cell("Table 1, curve", row, f"{seconds:.9g}", float(value))
        for target in (1.0, 0.1, 0.01):
            reached = [s for (s, _), v in zip(curve, above, strict=True) if v <= target]
            spent, note = (min(reached), "") if reached else (None, "not reached")
            column = f"seconds to {target:g} above"
            yield Cell("Table 1", row, column, spent, note=note)


def _curve(solve: Callable[[], ChanceSolution]) -> list[tuple[float, float]]:
    """Return (processor seconds, objective) after each stage of a solver."""
    started = time.process_time()
    solution = solve()
    share = (time.process_time() - started) / solution.seconds
    return [(share * s["seconds"], s["objective"]) for s in solution.history]


def scaled(name: str, runs: int) -> Iterable[Cell]:
    """How far above the optimum the published and the refined method end, scaled."""
    X, y = dense_data(name)
    problem = class_problem(standardise(X), y)
    exact = newton(problem).objective
    for refine in (False, True):
        for epochs in EPOCHS:
            solve = partial(run_stochastic, problem, epochs=epochs, refine=refine)
            ends = [solve(seed=k).objective for k in range(runs)]
            above = np.array(ends) / exact - 1.0
            asked = "; asked: at most 0.01" if refine and epochs == 50 else ""
            yield Cell(
                "Above the optimum, scaled",
                name,
                f"{'refined' if refine else 'published'} {epochs}m",
                float(above.mean()),
                note=f"largest of {runs}: {above.max():.3g}{asked}",
            )


def grid(name: str, runs: int) -> Iterable[Cell]:
    """Test accuracy for several C, 80 % training: exact, and published."""
    X, y = dense_data(name)
    variants = {
        "newton": ("newton", X),
        "SSGD 50m": ("SSGD 50m", X),
        "SSGD 50m, standardised": ("SSGD 50m", standardise(X)),
    }
    for label, (method, samples) in variants.items():
        for cost in COSTS:
            mean, note = mean_accuracy(method, samples, y, 0.8, cost, runs)
            row, column = f"{name}, {label}", f"C = {cost:g}"
            yield Cell("Grid over C", row, column, mean, note=note)

"""Figures 1 to 4 of the divide-and-conquer paper: bounds, support vectors, curves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import dual_objective
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Kernel, Polynomial
from widemargin.engine.problem import DualProblem, classification_problem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.divide_conquer.early import early_model
from widemargin.estimators.svc import SVC
from widemargin.multilevel.driver import Plan, conquer, precision_recall, run_levels
from widemargin.multilevel.level import Division, Level, Limits, solve_level
from widemargin.multilevel.partition import divide
from widemargin.runtime.deadline import Deadline
from widemargin_papers.harness.cells import Cell, Task, row_cells
from widemargin_papers.harness.timing import processor_seconds

from . import printed as paper
from .methods import Cascade, make_method
from .splits import FILES, accuracy, fit_seconds, subset

Vector = NDArray[np.float64]
SPENT = "processor s"
TOLERANCES = (0.3, 0.1, 1e-2, 1e-3)  # at 1 the point 0 is a solution: nothing to draw
CUBIC = ("covtype", 2.0, Polynomial(3, 1.0, 0.0))  # Figure 4's setting


def curve_tasks(quick: bool) -> list[Task]:
    """Return the tasks of Figures 1 to 4."""
    covtype = FILES["covtype"]
    few, many, ranks, names = (
        (2000, 5000, (100,), ("ijcnn1",))
        if quick
        else (10_000, 20_000, (100, 300), ("ijcnn1", "covtype"))
    )
    work = [
        Task(f"Figure 1, k={k}", partial(figure_1, k, few), covtype, 6)
        for k in ((8,) if quick else (8, 16, 32, 64, 128))
    ]
    for name in names:
        curves = partial(figure_3, name, many, ranks)
        work += [
            Task(f"Figure 2, {name}", partial(figure_2, name, many), FILES[name], 18),
            Task(f"Figure 3, {name}", curves, FILES[name], 30),
        ]
    return [*work, Task("Figure 4, covtype", partial(figure_4, few), covtype)]


def dual_problem(
    X: Any, y: Vector, C: float, kernel: Kernel, *, intercept: bool = False
) -> DualProblem:
    """Return the problem of some rows; the paper's has no intercept."""
    gram = Gram(X, kernel, cache_mb=2000.0, threads=2)
    return classification_problem(gram, y, np.full(len(y), C), intercept)


def figure_1(k: int, n: int) -> Iterable[Cell]:
    """Yield the bound of Theorem 1 and the true difference, clustered and random."""
    data = subset("covtype", n, 10)
    C, gamma = paper.PARAMETERS["covtype"]
    problem = dual_problem(data.X, data.y, C, Gaussian(gamma))
    best = solve(problem, SolveOptions(tol=1e-4))
    lowest = dual_objective(best.beta, best.values, problem.linear)
    for way in ("kernel", "input", "random"):
        parts = divide(data.X, Gaussian(gamma), k, clustering=way, seed=0)
        whole, options = Division.of(problem), SolveOptions(tol=1e-4)
        level = solve_level(1, parts, whole, [np.zeros(n)], options, Limits())
        beta = level.betas[0]
        value = dual_objective(beta, problem.gram.times(beta), problem.linear)
        bound = 0.5 * C**2 * mass_between(problem.gram, parts.labels)
        row = f"{way} clustering, k={k}, {n} rows"
        yield Cell("Figure 1", row, "difference", value - lowest)
        note = "" if value - lowest <= bound else "BOUND VIOLATED"
        yield Cell("Figure 1", row, "bound C^2 D / 2", bound, note=note)


def mass_between(gram: Gram, labels: NDArray[np.intp], rows: int = 1000) -> float:
    """D(pi) of Theorem 1: the sum of |K| over ordered pairs in different clusters."""
    total = 0.0
    for start in range(0, gram.n, rows):
        chosen = np.arange(start, min(start + rows, gram.n))
        block = np.abs(gram.rows(chosen, dtype=np.float32))
        total += float(block[labels[chosen][:, None] != labels].sum(dtype=np.float64))
    return total


def timed_levels(
    problem: DualProblem, depth: int, options: SolveOptions
) -> list[tuple[Level, float]]:
    """Return each level of a divided solve, and the seconds when it was complete."""
    clock = time.process_time()
    seen: list[tuple[Level, float]] = []
    run_levels(
        Division.of(problem), Plan(depth, seed=0), options,
        Limits(n_jobs=problem.gram.threads), record=lambda _: None,
        completed=lambda done: seen.append((done, time.process_time() - clock)),
    )  # fmt: skip
    return seen


def figure_2(name: str, n: int) -> Iterable[Cell]:
    """Yield precision and recall of the support vectors by level, and of a cascade."""
    data = subset(name, n, 10)
    C, gamma = paper.PARAMETERS[name]
    problem = dual_problem(data.X, data.y, C, Gaussian(gamma))
    final = solve(problem, SolveOptions(tol=1e-3)).support
    found = [
        (f"DC, {level.partition.n_clusters} clusters", np.flatnonzero(level.betas[0]))
        for level, _ in timed_levels(problem, 4, SolveOptions())
    ]
    plain = SVC(C=C, gamma=gamma, fit_intercept=False)
    rounds = Cascade(plain, 16).fit(data.X, data.y).rounds_
    found += [
        (f"cascade, {16 >> i} parts", support) for i, support in enumerate(rounds)
    ]
    for label, support in found:
        for measure, value in precision_recall(support, final).items():
            yield Cell("Figure 2", f"{name}, {n} rows, {label}", measure, value)


def figure_3(name: str, n: int, ranks: Sequence[int]) -> Iterable[Cell]:
    """Yield seconds spent, relative error, accuracy: of levels, tolerances, ranks."""
    C, gamma = paper.PARAMETERS[name]
    yield from _exact_curves("Figure 3", name, n, C, Gaussian(gamma))
    data = subset(name, n)
    for method in ("random landmarks", "random Fourier features", "LTPU"):
        for rank in ranks:
            model = make_method(method, C=C, gamma=gamma, rank=rank)
            spent, model = fit_seconds(model, data)
            row = f"{name}, {n} rows, {method} rank {rank}"
            found = {SPENT: spent, "accuracy %": accuracy(model, data)}
            yield from row_cells("Figure 3", row, found)


def figure_4(n: int) -> Iterable[Cell]:
    """Yield the curves for the cubic kernel."""
    name, C, kernel = CUBIC
    yield from _exact_curves("Figure 4", name, n, C, kernel)


def _exact_curves(
    table: str, name: str, n: int, C: float, kernel: Kernel
) -> Iterable[Cell]:
    data = subset(name, n)
    problem = dual_problem(data.X, data.y, C, kernel)
    best = solve(problem, _within(1e-4))
    lowest = dual_objective(best.beta, best.values, problem.linear)

    def point(label: str, spent: float, beta: Vector, decisions: Vector) -> list[Cell]:
        value = dual_objective(beta, problem.gram.times(beta), problem.linear)
        right = 100 * np.mean(np.where(decisions >= 0, 1, -1) == data.y_test)
        error = (value - lowest) / abs(lowest)
        found = {SPENT: spent, "relative error": error, "accuracy %": float(right)}
        return row_cells(table, f"{name}, {n} rows, {label}", found)

    def whole(label: str, spent: float, solution: Solution) -> list[Cell]:
        used = solution.support
        decisions = Gram(data.X[used], kernel, threads=2).cross(
            data.X_test, solution.beta[used], np.float32
        )
        return point(label, spent, solution.beta, decisions)

    problem_of = partial(dual_problem, data.X, data.y, C, kernel)
    for label, spent, found in solved_ways(problem_of, SolveOptions(), _within):
        if isinstance(found, Level):
            model = early_model(found, data.X, kernel, [np.arange(n)])
            decisions = model.decision(data.X_test)[:, 0]
            yield from point(label, spent, found.betas[0], decisions)
        else:
            yield from whole(label, spent, found)


def solved_ways(
    problem_of: Callable[[], DualProblem],
    options: SolveOptions,
    within: Callable[[float], SolveOptions],
) -> Iterator[tuple[str, float, Level | Solution]]:
    """Yield what divide and conquer, then direct solves have after some seconds.

    That is the levels, the whole problem from the last of them, and cold solves to
    each of `TOLERANCES`; `within` returns the options of a solve to a tolerance.
    """
    divided = problem_of()
    levels = timed_levels(divided, 4, options)
    for level, spent in levels:
        yield f"DC {level.partition.n_clusters} clusters", spent, level
    last, before = levels[-1]
    start, record = last.betas[0], lambda _: None
    finish = partial(conquer, divided, start, within(1e-3), refine=True, record=record)
    spent, solution = processor_seconds(finish)
    yield "DC exact", before + spent, solution
    for tol in TOLERANCES:
        spent, solution = processor_seconds(partial(solve, problem_of(), within(tol)))
        yield f"SVC tol {tol:g}", spent, solution


def _within(tol: float) -> SolveOptions:
    return SolveOptions(tol=tol, deadline=Deadline.after(300.0))

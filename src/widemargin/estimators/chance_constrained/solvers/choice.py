"""Which solver an estimator asks for, and how it is watched."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from widemargin.estimators.base.progress import Progress
from widemargin.estimators.base.validation import effective_threads
from widemargin.estimators.chance_constrained.data.chance_problem import ChanceProblem

from .cone_programs import sample_cones, semidefinite, shared_cones
from .outcome import ChanceSolution, Stage
from .smoothed_newton import newton
from .stochastic import stochastic

Monitor = Callable[[Stage], None] | None
Seconds = float | None
Solver = Callable[
    [Any, ChanceProblem, np.random.Generator, Seconds, Monitor], ChanceSolution
]


def _newton(
    estimator: Any,
    problem: ChanceProblem,
    _rng: np.random.Generator,
    max_time: Seconds,
    monitor: Monitor,
) -> ChanceSolution:
    return newton(
        problem,
        tol=estimator.tol,
        max_iter=estimator.max_iter,
        max_time=max_time,
        monitor=monitor,
    )


def _stochastic(
    estimator: Any,
    problem: ChanceProblem,
    rng: np.random.Generator,
    max_time: Seconds,
    monitor: Monitor,
) -> ChanceSolution:
    jobs = estimator.n_jobs
    return stochastic(
        problem,
        epochs=estimator.epochs,
        sampling=estimator.sampling,
        refine=estimator.refine,
        rng=rng,
        workers=1 if jobs is None else effective_threads(jobs),
        max_time=max_time,
        monitor=monitor,
    )


def _cones(
    estimator: Any,
    problem: ChanceProblem,
    _rng: np.random.Generator,
    max_time: Seconds,
    _monitor: Monitor,
) -> ChanceSolution:
    shared = problem.uncertainty.groups is not None
    solve = shared_cones if shared else sample_cones
    return solve(problem, tol=estimator.tol, max_time=max_time)


def _semidefinite(
    estimator: Any,
    problem: ChanceProblem,
    _rng: np.random.Generator,
    max_time: Seconds,
    _monitor: Monitor,
) -> ChanceSolution:
    return semidefinite(problem, tol=estimator.tol, max_time=max_time)


SOLVERS: dict[str, Solver] = {
    "newton": _newton,
    "ssgd": _stochastic,
    "socp": _cones,
    "sdp": _semidefinite,
}


def solve_all(
    estimator: Any, problems: list[ChanceProblem], rng: np.random.Generator
) -> list[ChanceSolution]:
    """Solve the binary problems one after the other, with a progress bar if wanted.

    All have one time limit. Ctrl-C in the last one leaves a model (``ended`` says it);
    in one before it there is none.
    """
    solve = SOLVERS[estimator.solver]
    started, solutions = time.perf_counter(), []
    with Progress(estimator.verbose, estimator.tol, "ChanceConstrainedSVC") as progress:

        def monitor(stage: Stage) -> None:
            gap = stage["gap"]  # the stochastic method has none: show its epochs
            ends = estimator.tol ** (stage["size"] / estimator.epochs)
            share = ends if gap is None else gap / max(abs(stage["objective"]), 1e-300)
            progress(stage["size"], share, len(problems))

        watch = monitor if estimator.verbose else None
        for problem in problems:
            left = estimator.max_time
            if left is not None:
                left = max(0.0, left - (time.perf_counter() - started))
            solutions.append(solve(estimator, problem, rng, left, watch))
            if solutions[-1].ended == "interrupted" and problem is not problems[-1]:
                raise KeyboardInterrupt
    return solutions

"""The methods that the chance-constrained paper compares, and ours, on one footing.

Every method gets the same training means and class covariances and returns a model,
its time and its objective; all run on one thread. Times are processor time, which on
one thread is what a clock on an idle machine would show. The interior point has one
cone for each sample, as the paper gave the problem to SeDuMi; beside it stands the same
solver with one cone for each class, which is the best that can be done with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from widemargin.estimators.chance_constrained import ChanceConstrainedSVC
from widemargin.estimators.chance_constrained.block_sources import Block, in_memory
from widemargin.estimators.chance_constrained.chance_problem import (
    ChanceProblem,
    objective,
    shortfalls,
)
from widemargin.estimators.chance_constrained.cone_programs import (
    sample_cones,
    shared_cones,
)
from widemargin.estimators.chance_constrained.first_pass import (
    BlockProblems,
    first_pass,
)
from widemargin.estimators.chance_constrained.proven_solution import ChanceSolution
from widemargin.estimators.chance_constrained.smoothed_newton import newton
from widemargin.estimators.chance_constrained.stochastic import stochastic
from widemargin.numerics.row_blocks import times, transpose_times
from widemargin_papers.harness.datasets import load_dense
from widemargin_papers.harness.timing import processor_seconds

from .printed import COVARIANCE_SCALE, EPOCHS, RISK, SEDUMI, C

Floats = NDArray[np.float64]
Method = Callable[[ChanceProblem, int], ChanceSolution]  # of a problem and a seed


def dense_data(name: str) -> tuple[Floats, Floats]:
    """Return a data set of the paper as it is: unscaled, labels -1 and +1."""
    X, y = load_dense(name)
    return X, np.sign(y)


def class_problem(X: Floats, y: Floats, cost: float = C) -> ChanceProblem:
    """Return the paper's problem: a hundredth of each class's covariance."""
    model = ChanceConstrainedSVC(cost, risk=RISK, covariance_scale=COVARIANCE_SCALE)
    rows = Block(X, y)
    return first_pass(in_memory([rows]), model).problems(rows).given[0]


def run_stochastic(
    problem: ChanceProblem, *, epochs: int = 50, refine: bool = True, seed: int = 0
) -> ChanceSolution:
    """Run the stochastic method, published or refined, on one problem."""
    rng = np.random.default_rng(seed)
    blocks = in_memory([BlockProblems.of([problem])])
    (found,) = stochastic(blocks, epochs=epochs, refine=refine, rng=rng)
    return found


def partition(n: int, share: float, seed: int) -> tuple[NDArray[np.intp], ...]:
    """Return the rows of a random partition: training, test."""
    order = np.random.default_rng(seed).permutation(n)
    cut = round(share * n)
    return order[:cut], order[cut:]


def _stochastic(epochs: int, refine: bool) -> Method:
    return lambda problem, seed: run_stochastic(
        problem, epochs=epochs, refine=refine, seed=seed
    )


METHODS: dict[str, Method] = {
    SEDUMI: lambda problem, _: sample_cones(problem, tol=1e-8),
    "interior point, 2 cones": lambda problem, _: shared_cones(problem, tol=1e-8),
    **{f"SSGD {epochs}m": _stochastic(epochs, False) for epochs in EPOCHS},
    "refined SSGD 50m": _stochastic(50, True),
    "newton": lambda problem, _: newton(problem, tol=1e-6),
}


def timed(method: str, problem: ChanceProblem, seed: int) -> tuple[float, Any]:
    """Return the processor seconds of a method on one thread, and its solution."""
    with threadpool_limits(1):
        return processor_seconds(partial(METHODS[method], problem, seed))


@dataclass(frozen=True)
class Run:
    """One method on one partition."""

    seconds: float
    accuracy: float
    objective: float
    relative_gap: float | None


def run_method(
    method: str, problem: ChanceProblem, X_test: Floats, y_test: Floats, seed: int
) -> Run:
    """Time a method on one thread and judge its model."""
    seconds, solution = timed(method, problem, seed)
    predicted = np.where(times(X_test, solution.w) + solution.b > 0.0, 1.0, -1.0)
    return Run(
        seconds,
        float(np.mean(predicted == y_test)),
        objective(problem, solution.w, solution.b),
        solution.proof.relative,
    )


def mean_accuracy(
    method: str, X: Floats, y: Floats, share: float, cost: float, runs: int
) -> tuple[float, str]:
    """Return the mean test accuracy in % over random partitions, and its deviation."""
    right = np.empty(runs)
    for seed in range(runs):
        train, test = partition(len(y), share, seed)
        problem = class_problem(X[train], y[train], cost)
        right[seed] = 100 * run_method(method, problem, X[test], y[test], seed).accuracy
    return float(right.mean()), f"± {deviation(right):.2g}, {runs} runs"


def deviation(values: Floats) -> float:
    """Return the standard deviation of a sample, 0 of one value."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def batch_subgradient(
    problem: ChanceProblem, iterations: int
) -> list[tuple[int, float, float]]:
    """Run the batch method of Table 1: all samples in every step, step ``C m / t``.

    Returns (iteration, seconds, objective) at iterations 1, 2, 4, 8, ... The time of
    evaluating the objective is not counted.
    """
    w, b = np.zeros(problem.shape[1]), 0.0
    uncertainty, spent, curve = problem.uncertainty, 0.0, []
    for t in range(1, iterations + 1):
        started = time.process_time()
        violated = np.where(shortfalls(problem, w, b) > 0.0, problem.costs, 0.0)
        spread = uncertainty.table.spread(w)
        pull = transpose_times(problem.X, violated * problem.signs)
        masses = uncertainty.collect(violated)
        weights = np.divide(
            masses, spread, out=np.zeros_like(masses), where=spread > 0.0
        )
        pull -= problem.kappa * (weights @ uncertainty.table.images(w))
        w = (1.0 - 1.0 / t) * w + pull / t
        b += float(violated @ problem.signs) / t
        spent += time.process_time() - started
        if t & (t - 1) == 0 or t == iterations:
            curve.append((t, spent, objective(problem, w, b)))
    return curve

"""Divide and conquer on any dual problem.

The problem, ``min 1/2 beta'K beta - linear'beta`` over a box, with or without
``sum(beta) = total``, costs more than n^2 to solve. Cut the samples into k clusters,
ignore the kernel between clusters, and it splits into k independent problems of n / k
samples whose solutions, concatenated, solve the whole with the block-diagonal kernel
(Lemma 1 of Hsieh, Si and Dhillon 2014). That point is a model of its own (early
prediction) and a warm start for the level above, which has fewer and larger clusters,
up to the whole problem.

With an equality constraint the cluster sums must be chosen: they are those of a
feasible start (all zero for a classifier), and the clusters of one level are unions of
those of the level below, so that every concatenation stays feasible (mathematics
4.5). Without one, each level clusters anew on the support vectors of the level below,
as in the paper.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.feasible import project
from widemargin.engine.interrupted import Interrupted
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution, stage_record, summary
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions

from .level import (
    ClusterMonitor,
    Division,
    Level,
    Limits,
    PartSolution,
    solve_level,
)
from .partition import Partition, coarsen, divide, mass_between_clusters
from .router import Samples

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
Record = Callable[[dict[str, Any]], None]

SMALLEST_CLUSTER = 700  # average size below which a level would be too fine (4.3)
DEEPEST = 5  # deepest level that "auto" chooses; deeper ones must be requested
LEVELS_FROM = 20_000  # samples from which levels may pay, and
LOCAL = 0.1  # share of kernel mass between clusters up to which they do


@dataclass(frozen=True)
class Plan:
    """How to divide: everything about the levels that is not the problem itself.

    Parameters
    ----------
    n_levels : int
        Finest level; level l has up to ``n_branches**l`` clusters. 0 solves directly.
    n_branches : int
        Factor between the numbers of clusters of two levels.
    clustering : {"auto", "input", "kernel", "random"}
        See :func:`widemargin.multilevel.partition.divide`.
    sample_size : int or None
        Points that are clustered; None takes the default of the clustering.
    refine : bool
        Solve on the support vectors of level 1 before the whole problem.
    seed : int
        Seed of the clustering.
    partition : Partition or None
        Clusters of the finest level, where they are known.
    """

    n_levels: int
    n_branches: int = 4
    clustering: str = "auto"
    sample_size: int | None = None
    refine: bool = True
    seed: int = 0
    partition: Partition | None = None


def automatic_levels(n: int, n_branches: int = 4) -> int:
    """Finest level with ``SMALLEST_CLUSTER`` samples or more per cluster on average."""
    level = 0
    while level < DEEPEST and n >= SMALLEST_CLUSTER * n_branches ** (level + 1):
        level += 1
    return level


def levels_pay(samples: Samples, kernel: Kernel, seed: int = 0) -> bool:
    """Whether a level before the whole problem was measured to save time.

    With the block solver it does so only where the kernel hardly reaches across
    clusters and the rows are many: covtype at 20,000 rows took two thirds of a direct
    solve's processor time, ijcnn1, letter, cod-rna and a9a took more than a direct
    solve (1.1 to 3 times). The former has 1% of its kernel mass between clusters, the
    latter 26 to 93%.
    """
    if samples.shape[0] < LEVELS_FROM:
        return False
    return mass_between_clusters(samples, kernel, seed=seed) < LOCAL


def level_record(
    number: int,
    sizes: Indices,
    parts: Iterable[Sequence[PartSolution]],
    n_support: int,
    seconds: tuple[float, float],
) -> dict[str, Any]:
    """Stage record of a level; objective and gap are those of the block kernel.

    `parts` are the local solutions of each problem, `seconds` those of clustering and
    of training.
    """
    return stage_record(
        f"level {number}",
        int(sizes.sum()),
        sum(seconds),
        chain.from_iterable(parts),
        clusters=len(sizes),
        sizes=sizes.tolist(),
        smallest_cluster=int(sizes.min()),
        largest_cluster=int(sizes.max()),
        clustering_seconds=seconds[0],
        training_seconds=seconds[1],
        n_support=n_support,
    )


def run_levels(
    division: Division,
    plan: Plan,
    options: SolveOptions,
    limits: Limits,
    *,
    stop_at: int = 1,
    starts: Sequence[Vector] | None = None,
    resume: Level | None = None,
    record: Record,
    progress: ClusterMonitor | None = None,
    completed: Callable[[Level], None] | None = None,
) -> Level | None:
    """Solve the levels from the finest up to `stop_at`; return the last complete one.

    Parameters
    ----------
    division, plan : Division, Plan
        What to divide, and how.
    options, limits : SolveOptions, Limits
        Options of every solve; memory and clusters at a time.
    stop_at : int
        Coarsest level to solve.
    starts : sequence of arrays, optional
        Feasible points to start from; by default the projections of 0.
    resume : Level, optional
        A level solved before; the loop goes on above it.
    record, progress, completed : callables
        Called after every stage, every cluster, and every complete level
        (checkpoints, early models); not after a level cut short by the deadline.
    """
    # parts are plain solves in other threads: no screening, and only the thread that
    # waits observes them (`solve_cluster`)
    plain = replace(options, screen=None, every_value=False, monitor=None, certify=True)
    nested = any(problem.total is not None for problem in division.problems)
    current = _feasible(division.problems) if starts is None else list(starts)
    if resume is not None:
        current = resume.betas
    level = resume
    finest = plan.n_levels if resume is None else resume.number - 1
    for number in range(finest, stop_at - 1, -1):
        clock = time.perf_counter()
        partition = _partition_of(number, level, division, plan, nested)
        clustered = time.perf_counter()
        own = replace(plain, exact=False) if partition.n_clusters > 1 else plain
        solved = solve_level(
            number, partition, division, current, own, limits, progress
        )
        if options.deadline.passed:
            break
        level, current = solved, solved.betas
        trained = time.perf_counter()
        n_support = sum(int(np.count_nonzero(beta)) for beta in level.betas)
        seconds = (clustered - clock, trained - clustered)
        record(level_record(number, partition.sizes, level.parts, n_support, seconds))
        if completed is not None:
            completed(level)
    return level


def _feasible(problems: Sequence[DualProblem]) -> list[Vector]:
    return [project(np.zeros(p.n), p.lower, p.upper, p.total) for p in problems]


def _partition_of(
    number: int, below: Level | None, division: Division, plan: Plan, nested: bool
) -> Partition:
    """Clusters of a level: unions of those below, or made anew on its support."""
    n_clusters = plan.n_branches**number
    if below is None and plan.partition is not None:
        return plan.partition
    if below is not None and nested:
        return coarsen(below.partition, n_clusters, seed=plan.seed)
    candidates = None
    if below is not None:
        pairs = zip(division.rows, below.betas, strict=True)
        candidates = np.unique(np.concatenate([own[beta != 0] for own, beta in pairs]))
        if len(candidates) < n_clusters:  # too few to cluster: use all samples (4.3)
            candidates = None
    return divide(
        division.samples,
        division.kernel,
        n_clusters,
        clustering=plan.clustering,
        sample_size=plan.sample_size,
        candidates=candidates,
        seed=plan.seed,
    )


def conquer(
    problem: DualProblem,
    beta: Vector | None,
    options: SolveOptions,
    *,
    refine: bool,
    record: Record,
) -> Solution:
    """Solve the whole problem from a level's point, to the tolerance of a direct solve.

    With `refine`, first on the support vectors of the point alone, the others fixed.
    """
    if refine and beta is not None and beta.any():
        active = np.flatnonzero(beta)
        reduced = problem.reduced(active, beta)
        rough = replace(options, exact=False, certify=False)
        beta = beta.copy()
        try:
            solution = solve(reduced, rough, start=beta[active])
        except Interrupted as stop:
            beta[active] = stop.beta
            raise Interrupted(problem, beta, stop.n_iter, stop.seconds) from stop
        beta[active] = solution.beta
        record(summary(solution, "refine"))
    return solve(problem, options, start=beta)


def solve_divided(
    problem: DualProblem,
    plan: Plan,
    options: SolveOptions,
    limits: Limits | None = None,
    *,
    start: Vector | Solution | None = None,
    record: Record | None = None,
    progress: ClusterMonitor | None = None,
) -> Solution:
    """Solve a problem through its levels, exactly: same tolerance as a direct solve.

    `record` receives the levels and the refinement; the last stage is the solution
    itself. Ctrl-C between or within levels leaves the point of the last complete one.
    """
    limits = limits or Limits(problem.gram.cache_mb)
    if start is not None:  # of this problem or a similar one
        point = start.beta if isinstance(start, Solution) else start
        start = project(point, problem.lower, problem.upper, problem.total)
    stages: list[dict[str, Any]] = []
    supports: list[Indices] = []
    level: Level | None = None
    steps = 0

    def completed(done: Level) -> None:
        nonlocal level, steps
        level = done
        steps += sum(part.n_iter for part in done.parts[0])
        supports.append(np.flatnonzero(done.betas[0]))

    try:
        run_levels(
            Division.of(problem),
            plan,
            options,
            limits,
            starts=None if start is None else [start],
            record=stages.append,
            progress=progress,
            completed=completed,
        )
    except KeyboardInterrupt as stop:
        if level is None:
            raise
        seconds = sum(stage["seconds"] for stage in stages)
        raise Interrupted(problem, level.betas[0], steps, seconds) from stop
    beta = start if level is None else level.betas[0]
    solution = conquer(problem, beta, options, refine=plan.refine, record=stages.append)
    for stage, support in zip(stages, supports, strict=False):
        stage.update(precision_recall(support, solution.support))
    if record is not None:
        for stage in stages:
            record(stage)
    return solution


def precision_recall(support: Indices, final: Indices) -> dict[str, float]:
    """How well a level's support vectors predict the final ones (Figure 2)."""
    common = len(np.intersect1d(support, final, assume_unique=True))
    return {
        "precision": common / max(1, len(support)),
        "recall": common / max(1, len(final)),
    }

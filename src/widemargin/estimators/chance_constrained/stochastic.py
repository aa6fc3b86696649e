"""The stochastic solver: epochs over all blocks, then the best scale and intercept.

In memory, on disk and in dask chunks the passes are the same: one for the numbers of
the step, one for each epoch, and one or two that project the samples on the direction
found. All binary problems are solved at once and see the samples in the same order. A
direction is good long before its length and the intercept are. Along it the
problem is a chance-constrained SVM with one feature, which the Newton solver solves
exactly; it depends on a sample only through its sign, ``w'mu`` and ``||L'w||``. Where
even these exceed the memory budget, samples of one sign with nearly equal values share
a cell that carries their cost and their mean, which changes the objective by second
order in the cell's width.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.status import Status
from widemargin.numerics.row_blocks import times
from widemargin.runtime.deadline import NEVER, Deadline
from widemargin.uncertainty.covariance_tables import DiagonalTable, Uncertainty

from .block_sources import Source, identity, in_memory
from .chance_problem import ChanceProblem, objective
from .descent import (
    PERMUTATION,
    Descent,
    Rule,
    averaged,
    cost_sums,
    draw_order,
    make_rule,
    visited,
)
from .first_pass import BlockProblems, Scaling
from .proven_solution import ChanceSolution, Proof, Stage, loss_above
from .smoothed_newton import newton

Floats = NDArray[np.float64]
Problems = Source[BlockProblems]
Model = tuple[Floats, float]
Scores = Floats  # of shape (4, n): samples seen along one direction, see scores_of

ALONG, ACROSS = 4096, 8  # cells at most for w'mu, and cells for ||L'w||
_BYTES_PER_SCORE = 390  # four numbers kept, and the solver's work on them (353 seen)


def stochastic(
    blocks: Problems,
    *,
    epochs: int = 50,
    sampling: str = PERMUTATION,
    refine: bool = True,
    rng: np.random.Generator,
    workers: int = 1,
    memory_mb: float = np.inf,
    deadline: Deadline = NEVER,
    monitor: Callable[[Stage], None] | None = None,
) -> list[ChanceSolution]:
    """Run the stochastic subgradient method on all binary problems of the blocks.

    With several workers each epoch is run on that many parts of data in memory at the
    same time and the results are averaged. ``memory_mb`` is for the projections of the
    samples; after the deadline no new epoch is begun; ``monitor`` is called with the
    record of each stage, of the first of the problems.
    """
    started = time.perf_counter()
    rules, n_features = _rules(blocks, refine)
    descents = [Descent.start(n_features) for _ in rules]
    visits = blocks
    if workers > 1 and blocks.resident:
        (parts,) = blocks.map(lambda item: item.split(workers))
        visits = in_memory(parts)
    histories: list[list[Stage]] = [[] for _ in rules]
    record = partial(_record, blocks, histories, started, monitor)
    status = Status.EPOCHS
    for epoch in range(1, epochs + 1):
        try:
            descents = _epoch(visits, rules, descents, sampling, rng)
        except KeyboardInterrupt:  # where the last epoch ended there is a model
            if epoch == 1:
                raise
            status = Status.INTERRUPTED
            break
        models = [descent.model(refine) for descent in descents]
        if not blocks.resident or _is_reported(epoch, epochs):
            record("epoch", epoch, models)
        if deadline.passed and epoch < epochs:
            status = Status.MAX_TIME
            break
    if refine:
        models = _refitted(blocks, rules, models, memory_mb)
        record("refit", epoch, models)
    seconds = time.perf_counter() - started
    return [
        ChanceSolution(
            w=w,
            b=b,
            dual=None,
            evidence=partial(_evidence, blocks, k, w, b),
            ended=status,
            n_iter=descents[k].steps,
            seconds=seconds,
            history=histories[k],
        )
        for k, (w, b) in enumerate(models)
    ]


def _record(
    blocks: Problems,
    histories: list[list[Stage]],
    started: float,
    monitor: Callable[[Stage], None] | None,
    stage: str,
    epoch: int,
    models: list[Model],
) -> None:
    """Add a record to every history; ``monitor`` is called with that of the first."""
    for k, ((w, b), history) in enumerate(zip(models, histories, strict=True)):
        value = None  # rows outside of memory are not read for it
        if blocks.resident:
            (item,) = blocks.map(identity)
            value = objective(item.scaled[k], w, b)
        seconds = time.perf_counter() - started
        figures = {"seconds": seconds, "objective": value, "gap": None}
        history.append({"stage": stage, "size": epoch} | figures)
    if monitor is not None:
        monitor(histories[0][-1])


def _evidence(blocks: Problems, k: int, w: Floats, b: float) -> Proof:
    """Prove the objective of a model in the units in which it was found."""
    losses = blocks.map(lambda item: loss_above(item.scaled[k], w, b))
    return Proof.of(list(losses), Scaling.identity(len(w)), w, None)


def _rules(blocks: Problems, refine: bool) -> tuple[list[Rule], int]:
    """Return the numbers of the step of each problem, and the number of features."""

    def seen(item: BlockProblems) -> tuple[float, bool, int, Floats]:
        first, sums = item.scaled[0], [cost_sums(problem) for problem in item.scaled]
        return first.kappa, first.fit_intercept, first.shape[1], np.stack(sums)

    parts = list(blocks.map(seen))
    kappa, fit_intercept, n_features, _ = parts[0]
    sums = reduce(np.add, (sums for *_, sums in parts))
    return [make_rule(own, kappa, fit_intercept, refine) for own in sums], n_features


def _epoch(
    blocks: Problems,
    rules: list[Rule],
    descents: list[Descent],
    sampling: str,
    rng: np.random.Generator,
) -> list[Descent]:
    """Visit every row once: block after block, or all blocks at once and averaged.

    Blocks worked on at once have each its own order, drawn by its place: it is the same
    on any number of threads and processes.
    """
    seed = int(rng.integers(np.iinfo(np.int32).max)) if blocks.parallel else None

    def visit(item: BlockProblems) -> tuple[int, list[Descent]]:
        draws = rng if seed is None else np.random.default_rng([seed, item.first])
        order = draw_order(len(item.rows), sampling, draws)
        todo = zip(item.scaled, rules, descents, strict=True)
        return len(order), [visited(p, order, rule, start) for p, rule, start in todo]

    results = blocks.map(visit, rng)
    if not blocks.parallel:
        for _, moved in results:
            descents = moved  # where the next block starts
        return descents
    sizes, ends = zip(*results, strict=True)
    return [averaged(list(own), list(sizes)) for own in zip(*ends, strict=True)]


def _is_reported(epoch: int, epochs: int) -> bool:
    """Keep the history short: epochs 1, 2, 5, 10, 20, 50, ... and the last."""
    return epoch == epochs or str(epoch).rstrip("0") in {"1", "2", "5"}


# ---- the best multiple of a direction with the best intercept ---------------------


def scores_of(problem: ChanceProblem, w: Floats) -> Scores:
    """Project the samples on w: ``w'mu_i``, ``||L_i'w||``, sign and cost, as rows."""
    spread = problem.uncertainty.spread(w)
    return np.stack([times(problem.X, w), spread, problem.signs, problem.costs])


def refit(
    scores: Scores, w: Floats, kappa: float, fit_intercept: bool
) -> tuple[Floats, float]:
    """Return the best multiple of w with the best b, exactly.

    In the coordinate ``a = scale ||w||`` the samples have one feature
    ``w'mu_i / ||w||`` of standard deviation ``||L_i'w|| / ||w||``. Samples of one
    covariance, as those of a class, share it.
    """
    length = float(np.linalg.norm(w)) or 1.0
    along, spread, signs, costs = scores
    spreads, groups = np.unique(spread, return_inverse=True)
    problem = ChanceProblem(
        (along / length)[:, None],
        signs,
        costs,
        Uncertainty(DiagonalTable(np.square(spreads / length)[:, None]), groups),
        kappa,
        fit_intercept,
    )
    solved = newton(problem, tol=1e-9)
    return w * (solved.w[0] / length), solved.b


def _refitted(
    blocks: Problems, rules: list[Rule], models: list[Model], memory_mb: float
) -> list[Model]:
    """Return the best multiples of the directions with their best intercepts."""
    directions = [w for w, _ in models]

    def project(item: BlockProblems) -> Floats:
        return np.stack(list(map(scores_of, item.scaled, directions)))

    rows = int(rules[0].rows_total)
    scores = gather_scores(blocks.prepared(project), rows, len(rules), memory_mb)
    return [
        refit(along, w, rule.kappa, rule.fit_intercept)
        for along, w, rule in zip(scores, directions, rules, strict=True)
    ]


def gather_scores(
    projected: Source[Floats], rows: int, count: int, memory_mb: float
) -> list[Scores]:
    """Collect the projections of all blocks, of shape (count, 4, n) each.

    If those of all ``rows`` exceed the budget they are gathered in cells.
    """
    if rows * count * _BYTES_PER_SCORE <= memory_mb * 1e6:
        return list(np.concatenate(list(projected.map(identity)), axis=2))
    least, most = zip(*projected.map(_ranges), strict=True)
    low, high = np.min(least, axis=0), np.max(most, axis=0)
    cells = cells_along(count, memory_mb)
    sums = reduce(np.add, projected.map(lambda part: _summed(part, low, high, cells)))
    return [_cells(own) for own in sums]


def cells_along(count: int, memory_mb: float) -> int:
    """Return how many cells for w'mu fit a quarter of the budget, at least 512."""
    affordable = memory_mb * 2.5e5 / (count * 2 * ACROSS * _BYTES_PER_SCORE)
    return int(min(max(affordable, 512.0), ALONG))


def _ranges(scores: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest projection and spread of each problem."""
    seen = scores[:, :2]
    return seen.min(axis=2, initial=np.inf), seen.max(axis=2, initial=-np.inf)


def _summed(scores: Floats, low: Floats, high: Floats, cells: int) -> Floats:
    """Return cost, cost times projection and cost times spread of every cell."""
    out = np.zeros((len(scores), 3, 2 * cells * ACROSS))
    for k, (along, spread, signs, costs) in enumerate(scores):
        width = np.maximum(high[k] - low[k], np.finfo(float).tiny)
        column = np.minimum((along - low[k, 0]) / width[0] * cells, cells - 1)
        across = np.minimum((spread - low[k, 1]) / width[1] * ACROSS, ACROSS - 1)
        cell = (signs > 0.0) * cells * ACROSS
        cell = cell + column.astype(np.intp) * ACROSS + across.astype(np.intp)
        for j, values in enumerate((costs, costs * along, costs * spread)):
            out[k, j] = np.bincount(cell, values, minlength=out.shape[2])
    return out


def _cells(sums: Floats) -> Scores:
    """Return the occupied cells as samples."""
    used = np.flatnonzero(sums[0] > 0.0)
    costs = sums[0, used]
    signs = np.where(used >= sums.shape[1] // 2, 1.0, -1.0)
    return np.stack([sums[1, used] / costs, sums[2, used] / costs, signs, costs])

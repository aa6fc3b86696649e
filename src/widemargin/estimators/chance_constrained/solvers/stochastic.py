"""Stochastic subgradient descent: as published, and repaired.

Published (Wang, Fan and Pardalos, eq. 17): one sample a step, step ``m c_i / t``, last
iterate. It ends far above the optimum: b takes steps as large as those of w without
ever being shrunk back, and the first steps are as large as ``m C``.

Refined: the clock starts at ``delay = 4 sum_i c_i ||mu_i||^2``, so that a sample's own
margin moves by at most a quarter in its first visit; w is projected on the ball
``||w||^2 <= 2 min(cost of a class)`` that contains the optimum; b has steps ``1 /
sqrt(t)``; late iterates are averaged; and in the end the best scale of the average and
the best b are found exactly (:mod:`refit`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse

from widemargin import _core
from widemargin.estimators.chance_constrained.data.chance_problem import (
    ChanceProblem,
    objective,
)
from widemargin.numerics.products import inner

from .outcome import ChanceSolution, Stage, as_found
from .refit import refit, scores_of

Floats = NDArray[np.float64]

PERMUTATION = "permutation"


@dataclass(frozen=True)
class Rule:
    """The numbers of the step, the same for every visit.

    ``rows_total`` is the m of the step ``m c_i / t``; the last four concern the
    refined method only.
    """

    kappa: float
    rows_total: float
    fit_intercept: bool
    refined: bool
    radius: float = np.inf
    delay: float = 0.0
    unit_of_cost: float = 1.0


@dataclass
class Descent:
    """Where a descent stands: the iterate, its average, and the number of steps."""

    w: Floats
    mean_w: Floats
    b: float = 0.0
    mean_b: float = 0.0
    steps: int = 0

    @classmethod
    def start(cls, n_features: int) -> Descent:
        """Return the published start, w = 0 and b = 0."""
        return cls(np.zeros(n_features), np.zeros(n_features))

    def copy(self) -> Descent:
        """Return an independent copy."""
        return Descent(
            self.w.copy(), self.mean_w.copy(), self.b, self.mean_b, self.steps
        )

    def model(self, refined: bool) -> tuple[Floats, float]:
        """Return the last iterate (published) or the average (refined)."""
        return (self.mean_w, self.mean_b) if refined else (self.w, self.b)


@dataclass(frozen=True)
class CostSummary:
    """What the rule must know of all samples: costs by sign, and their size."""

    rows: float = 0.0
    positive: float = 0.0
    negative: float = 0.0
    squared: float = 0.0

    def __add__(self, other: CostSummary) -> CostSummary:
        """Add up two parts of the data."""
        return CostSummary(
            self.rows + other.rows,
            self.positive + other.positive,
            self.negative + other.negative,
            self.squared + other.squared,
        )


def summarise(problem: ChanceProblem) -> CostSummary:
    """Return the sums of a problem, or of one block of it."""
    positive = problem.signs > 0.0
    return CostSummary(
        float(len(problem.signs)),
        float(problem.costs[positive].sum()),
        float(problem.costs[~positive].sum()),
        inner(problem.costs, squared_norms(problem.X)),
    )


def squared_norms(X: Any) -> Floats:
    """Return ``||mu_i||^2`` for every row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def make_rule(
    summary: CostSummary, kappa: float, fit_intercept: bool, refined: bool
) -> Rule:
    """Return the step's numbers for data with these sums.

    ``||w*||^2 <= sum_i alpha_i``, and the multipliers of the two classes balance when
    there is an intercept (mathematics 2.3): that is the radius.
    """
    total = summary.positive + summary.negative
    smaller = min(summary.positive, summary.negative)
    mass = 2.0 * smaller if fit_intercept and smaller > 0.0 else total
    return Rule(
        kappa=kappa,
        rows_total=summary.rows,
        fit_intercept=fit_intercept,
        refined=refined,
        radius=float(np.sqrt(mass)),
        delay=4.0 * summary.squared,
        unit_of_cost=max(total / max(summary.rows, 1.0), np.finfo(float).tiny),
    )


def visit(
    problem: ChanceProblem, order: NDArray[np.int64], rule: Rule, descent: Descent
) -> None:
    """Take one subgradient step for each sample in ``order``; compiled."""
    kind, table = problem.uncertainty.table.layout()
    groups = problem.uncertainty.groups
    X = problem.X
    samples: tuple[Any, Any, Any] = (np.ascontiguousarray(X), None, None)
    if sparse.issparse(X):
        samples = (X.data, X.indices, X.indptr.astype(X.indices.dtype, copy=False))
    descent.b, descent.mean_b, descent.steps = _core.subgradient_pass(
        *samples,
        np.ascontiguousarray(table, dtype=np.float64),
        kind,
        None if groups is None else groups.astype(np.int64, copy=False),
        problem.signs,
        problem.costs,
        order.astype(np.int64, copy=False),
        descent.w,
        descent.mean_w,
        descent.b,
        descent.mean_b,
        descent.steps,
        kappa=rule.kappa,
        rows_total=rule.rows_total,
        fit_intercept=rule.fit_intercept,
        refined=rule.refined,
        radius=rule.radius,
        delay=rule.delay,
        unit_of_cost=rule.unit_of_cost,
    )


def draw_order(
    n_samples: int, sampling: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return one epoch's visits: a permutation, or draws with replacement."""
    if sampling == PERMUTATION or n_samples == 0:
        return rng.permutation(n_samples)
    return rng.integers(n_samples, size=n_samples)


@dataclass
class _Clock:
    """Stage records and the time limit of one run."""

    limit: float | None
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    @property
    def over(self) -> bool:
        return self.limit is not None and self.seconds > self.limit


def shards(problem: ChanceProblem, count: int) -> list[ChanceProblem]:
    """Deal the samples out to ``count`` workers."""
    rows = problem.shape[0]
    return [problem.take(np.arange(first, rows, count)) for first in range(count)]


def visited(
    problem: ChanceProblem, order: NDArray[np.int64], rule: Rule, descent: Descent
) -> Descent:
    """Return where a descent ends after these visits; the given one is not changed."""
    moved = descent.copy()
    visit(problem, order, rule, moved)
    return moved


def averaged(descents: list[Descent], sizes: list[int]) -> Descent:
    """Merge the descents of one round, each counted by its samples.

    All workers took their steps at the same time, so the clock is the longest one.
    """
    share = np.asarray(sizes, dtype=np.float64) / sum(sizes)

    def mean(values: list[Any]) -> Any:
        return np.tensordot(share, np.asarray(values), axes=1)

    return Descent(
        mean([d.w for d in descents]),
        mean([d.mean_w for d in descents]),
        float(mean([d.b for d in descents])),
        float(mean([d.mean_b for d in descents])),
        max(d.steps for d in descents),
    )


def stochastic(
    problem: ChanceProblem,
    *,
    epochs: int = 50,
    sampling: str = PERMUTATION,
    refine: bool = True,
    rng: np.random.Generator,
    workers: int = 1,
    max_time: float | None = None,
    monitor: Callable[[Stage], None] | None = None,
) -> ChanceSolution:
    """Run the stochastic subgradient method on samples in memory.

    Parameters
    ----------
    problem : ChanceProblem
        What to minimise.
    epochs : int
        Passes over the data; 2, 10 and 50 in the paper.
    sampling : {"permutation", "replacement"}
        A new permutation every epoch (the paper's experiments) or independent draws
        (its algorithm box).
    refine : bool
        False for the published method.
    rng : numpy.random.Generator
        Source of the order of visits.
    workers : int
        With more than one, each epoch is run on that many parts of the data at the
        same time and the results are averaged.
    max_time : float, optional
        Seconds after which no new epoch is begun.
    monitor : callable, optional
        Called with each stage's record.
    """
    clock = _Clock(max_time)
    n, d = problem.shape
    rule = make_rule(summarise(problem), problem.kappa, problem.fit_intercept, refine)
    descent, status = Descent.start(d), "epochs"
    parts = [problem] if workers == 1 else shards(problem, min(workers, n))
    history: list[Stage] = []
    with Parallel(n_jobs=len(parts), prefer="threads") as parallel:
        for epoch in range(1, epochs + 1):
            orders = [draw_order(part.shape[0], sampling, rng) for part in parts]
            try:
                moved = parallel(
                    delayed(visited)(part, order, rule, descent)
                    for part, order in zip(parts, orders, strict=True)
                )
            except KeyboardInterrupt:  # where the last epoch ended there is a model
                if epoch == 1:
                    raise
                status = "interrupted"
                break
            descent = averaged(moved, [part.shape[0] for part in parts])
            if _is_reported(epoch, epochs):
                w, b = descent.model(refine)
                history.append(_record(epoch, clock, objective(problem, w, b)))
                if monitor is not None:
                    monitor(history[-1])
            if clock.over and epoch < epochs:
                status = "max_time"
                break
    w, b = descent.model(refine)
    if refine:
        w, b = refit(scores_of(problem, w), w, problem.kappa, problem.fit_intercept)
        record = _record(epoch, clock, objective(problem, w, b))
        history.append({**record, "stage": "refit"})
    evidence = as_found(problem, w, b, None)
    return ChanceSolution(
        w, b, None, evidence, status, descent.steps, clock.seconds, history
    )


def _is_reported(epoch: int, epochs: int) -> bool:
    """Keep the history short: epochs 1, 2, 5, 10, 20, 50, ... and the last."""
    return epoch == epochs or str(epoch).rstrip("0") in {"1", "2", "5"}


def _record(epoch: int, clock: _Clock, value: float) -> Stage:
    return {
        "stage": "epoch",
        "size": epoch,
        "seconds": clock.seconds,
        "objective": value,
        "gap": None,
    }

"""Stochastic subgradient steps: the published rule, the repaired one, and the descent.

Published (Wang, Fan and Pardalos, eq. 17): a sample per step, step ``m c_i / t``, last
iterate. It ends far above the optimum: b takes steps as large as those of w without
ever being shrunk back, and the first steps are as large as ``m C``.

Refined: the clock starts at ``delay = 4 sum_i c_i ||mu_i||^2``, so that a sample's own
margin moves by at most a quarter in its first visit; w is projected on the ball
``||w||^2 <= 2 min(cost of a class)`` that contains the optimum; b has steps ``1 /
sqrt(t)``; late iterates are averaged (:mod:`.stochastic` then finds the best scale of
the average and the best b exactly).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin import _core
from widemargin.estimators.base.validation import class_weights
from widemargin.numerics.products import inner
from widemargin.uncertainty.covariance_tables import FullTable
from widemargin.uncertainty.risk_bounds import safety_factor

from .block_sources import Block
from .chance_problem import ChanceProblem
from .first_pass import ProblemBuilder, Scaling, Settings

Floats = NDArray[np.float64]

PERMUTATION = "permutation"


@dataclass(frozen=True)
class Rule:
    """The numbers of the step, the same for every visit.

    ``rows_total`` is the m of the step ``m c_i / t``; the last three concern the
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

    def model(self, refined: bool) -> tuple[Floats, float]:
        """Return the last iterate (published) or the average (refined)."""
        return (self.mean_w, self.mean_b) if refined else (self.w, self.b)


def cost_sums(problem: ChanceProblem) -> Floats:
    """Return what the rule must know of samples; parts of the data add up.

    Their number, the costs of the positive and of the negative ones, and
    ``sum_i c_i ||mu_i||^2``.
    """
    positive, costs, X = problem.signs > 0.0, problem.costs, problem.X
    if sparse.issparse(X):
        norms = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    else:
        norms = np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    by_sign = costs[positive].sum(), costs[~positive].sum()
    return np.array([len(costs), *by_sign, inner(costs, norms)])


def extrapolated(sums: Floats, rows: int | None) -> Floats:
    """Return the sums of `rows` rows like those seen."""
    if rows is None:
        return sums
    factor = rows / max(sums[0], 1.0)
    return np.array([rows, *(sums[1:] * factor)])


def make_rule(sums: Floats, kappa: float, fit_intercept: bool, refined: bool) -> Rule:
    """Return the step's numbers for data with these `cost_sums`.

    ``||w*||^2 <= sum_i alpha_i``, and the multipliers of the two classes balance when
    there is an intercept (mathematics 2.3): that is the radius.
    """
    rows, positive, negative, squared = sums.tolist()
    total, smaller = positive + negative, min(positive, negative)
    mass = 2.0 * smaller if fit_intercept and smaller > 0.0 else total
    return Rule(
        kappa=kappa,
        rows_total=rows,
        fit_intercept=fit_intercept,
        refined=refined,
        radius=float(np.sqrt(mass)),
        delay=4.0 * squared,
        unit_of_cost=max(total / max(rows, 1.0), np.finfo(float).tiny),
    )


def visited(
    problem: ChanceProblem, order: NDArray[np.int64], rule: Rule, descent: Descent
) -> Descent:
    """Return where a descent ends after a step for each sample in ``order``."""
    table, groups = problem.uncertainty.table, problem.uncertainty.groups
    X = problem.X
    samples: tuple[Any, Any, Any] = (np.ascontiguousarray(X), None, None)
    if sparse.issparse(X):
        samples = (X.data, X.indices, X.indptr.astype(X.indices.dtype, copy=False))
    moved = replace(descent, w=descent.w.copy(), mean_w=descent.mean_w.copy())
    moved.b, moved.mean_b, moved.steps = _core.subgradient_pass(
        *samples,
        np.ascontiguousarray(table.entries, dtype=np.float64),
        table.letter,
        None if groups is None else groups.astype(np.int64, copy=False),
        problem.signs,
        problem.costs,
        order.astype(np.int64, copy=False),
        moved.w,
        moved.mean_w,
        descent.b,
        descent.mean_b,
        descent.steps,
        **asdict(rule),
    )
    return moved


def draw_order(
    n_samples: int, sampling: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return one epoch's visits: a permutation, or draws with replacement."""
    if sampling == PERMUTATION or n_samples == 0:
        return rng.permutation(n_samples)
    return rng.integers(n_samples, size=n_samples)


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


@dataclass(frozen=True)
class OnlineDescent:
    """The state behind ``partial_fit``, as arrays and numbers that a model file holds.

    Descents of all binary problems: ``w`` and ``mean_w`` of shape (k, d), ``b`` with
    the intercepts of both as columns; ``summaries`` are the `cost_sums` of
    the rows seen so far; ``visits`` counts the steps of the whole history, those of
    `fit` included.
    """

    classes: NDArray[Any]
    w: Floats
    mean_w: Floats
    b: Floats
    steps: int
    summaries: Floats
    covariances: Floats | None
    seed: int
    visits: int

    @classmethod
    def start(
        cls,
        classes: NDArray[Any],
        n_features: int,
        covariances: Floats | None,
        seed: int,
    ) -> OnlineDescent:
        """Return the descents of data of which no row was seen."""
        k = 1 if len(classes) == 2 else len(classes)
        w, b, sums = np.zeros((k, n_features)), np.zeros((k, 2)), np.zeros((k, 4))
        return cls(classes, w, w, b, 0, sums, covariances, seed, 0)

    def models(self, refined: bool) -> tuple[Floats, Floats]:
        """Return coefficients and intercepts."""
        w, column = (self.mean_w, 1) if refined else (self.w, 0)
        return w, self.b[:, column].copy()

    def stepped(
        self, block: Block, settings: Settings, n_samples_total: int | None
    ) -> OnlineDescent:
        """Return the state after one visit of each row."""
        weights = block.weights[block.weights > 0.0]
        present = block.y[block.weights > 0.0]
        unknown = np.setdiff1d(present, self.classes)
        if len(unknown):
            raise ValueError(
                f"y has the labels {unknown.tolist()}, which are not in classes "
                f"{self.classes.tolist()}."
            )
        if n_samples_total is not None and n_samples_total < 1:
            raise ValueError(
                f"n_samples_total must be at least 1, got {n_samples_total}: it is "
                "the number of rows there will be in all."
            )
        kappa = safety_factor(settings.risk, settings.bound)
        labels = np.searchsorted(self.classes, present)
        factors = class_weights(settings.class_weight, self.classes, labels, weights)
        builder = ProblemBuilder(
            self.classes,
            None if self.covariances is None else FullTable(self.covariances),
            Scaling.identity(block.X.shape[1]),
            settings.C * factors,
            kappa,
            settings.fit_intercept,
        )
        problems = builder.problems(block).given
        rng = np.random.default_rng([self.seed, self.steps])
        order = draw_order(len(present), settings.sampling, rng)
        descents, summaries = [], []
        for k, problem in enumerate(problems):
            seen = self.summaries[k] + cost_sums(problem)
            whole = extrapolated(seen, n_samples_total)
            rule = make_rule(whole, kappa, settings.fit_intercept, settings.refine)
            b, mean_b = self.b[k].tolist()
            start = Descent(self.w[k], self.mean_w[k], b, mean_b, self.steps)
            descents.append(visited(problem, order, rule, start))
            summaries.append(seen)
        return replace(
            self,
            w=np.stack([descent.w for descent in descents]),
            mean_w=np.stack([descent.mean_w for descent in descents]),
            b=np.array([(descent.b, descent.mean_b) for descent in descents]),
            steps=descents[0].steps,
            summaries=np.stack(summaries),
            visits=self.visits + len(order),
        )

"""Data larger than memory: the stochastic method over blocks of rows.

A first pass collects the moments of every class (labels, counts, covariances, scales,
the numbers of the step); every epoch reads the blocks once more; a last one projects
the samples on the average iterate, for the exact refit of scale and intercept. At any
time one block is in memory, plus the projections; where those exceed the budget they
are gathered in cells (:mod:`~widemargin.estimators.chance_constrained.solvers.cells`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.estimators.base.validation import class_weights
from widemargin.estimators.chance_constrained.data.block_sources import (
    Block,
    BlockSource,
    checked,
    floating,
)
from widemargin.estimators.chance_constrained.data.chance_problem import (
    ChanceProblem,
    shortfalls,
)
from widemargin.estimators.chance_constrained.data.covariance_tables import (
    FullTable,
    Uncertainty,
)
from widemargin.estimators.chance_constrained.data.covariances import (
    CLASS,
    Moments,
    given_covariances,
    moments_of,
    sample_covariance,
)
from widemargin.estimators.chance_constrained.data.samples import (
    Scaling,
    binary_problems,
    one_vs_rest,
    own_covariances,
    refuse_one_class,
    scaled,
    weighted_rows,
)
from widemargin.numerics.compensated import sum_above

from .cells import gather_scores
from .outcome import ChanceSolution, Stage
from .proof import Proof, loss_above, objective_above
from .refit import refit, scores_of
from .stochastic import (
    CostSummary,
    Descent,
    Rule,
    averaged,
    draw_order,
    make_rule,
    visit,
    visited,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """The estimator's parameters that concern training on blocks."""

    C: float
    kappa: float
    covariance: Any
    covariance_scale: float
    standardize: bool
    fit_intercept: bool
    class_weight: Any
    refine: bool
    epochs: int
    sampling: str
    max_time: float | None
    memory_mb: float

    @classmethod
    def of(cls, estimator: Any, kappa: float) -> Settings:
        """Read them off the estimator."""
        names = cls.__dataclass_fields__.keys() - {"kappa"}
        return cls(kappa=kappa, **{name: getattr(estimator, name) for name in names})


@dataclass(frozen=True)
class BlockFit:
    """Models trained on blocks, in the units of X."""

    classes: NDArray[Any]
    scaling: Scaling
    solutions: list[ChanceSolution]
    summaries: list[CostSummary]
    covariances: Floats | None
    bounded_share: Any


@dataclass(frozen=True)
class _Plan:
    """All that must be known of the data before the first step."""

    classes: NDArray[Any]
    covariances: Floats | None
    scaling: Scaling
    factors: Floats  # cost of a unit of weight, for each class
    summaries: list[CostSummary]
    rules: list[Rule]
    settings: Settings

    def problems(self, block: Block) -> list[ChanceProblem]:
        """Return the binary problems on one block, in the units of X."""
        data = weighted_rows(floating(block.X), block.y, block.weights, self.classes)
        if self.covariances is None:
            uncertainty = own_covariances(
                data, block.covariance, block.covariance_factor, block.first
            )
        else:
            uncertainty = Uncertainty(FullTable(self.covariances), data.labels)
        return binary_problems(
            data,
            self.factors[data.labels] * data.weights,
            uncertainty,
            self.settings.kappa,
            self.settings.fit_intercept,
        )

    def scaled(self, block: Block) -> list[ChanceProblem]:
        """Return them as they are solved."""
        return scaled(self.problems(block), self.scaling)


@dataclass(frozen=True)
class _Description:
    """Moments by label, rows that count, features, and the form of the rows.

    ``own``: whether they bring covariances; ``sparse``: whether any are sparse.
    """

    moments: dict[Any, Moments]
    rows: int
    features: int
    own: bool
    sparse: bool


def _describe(block: Block) -> _Description:
    """Describe one block, in the only pass in which the samples are checked."""
    block = checked(block)
    own = block.covariance is not None or block.covariance_factor is not None
    weights, found = block.weights, {}
    for label in np.unique(block.y):
        rows = np.flatnonzero(block.y == label)
        found[label] = moments_of(block.X[rows], weights[rows])
    counted = int(np.count_nonzero(weights))
    return _Description(found, counted, block.X.shape[1], own, sparse.issparse(block.X))


def _merge(left: _Description, right: _Description) -> _Description:
    if left.features != right.features:
        raise ValueError(
            f"blocks have {left.features} and {right.features} features: all must have "
            "the same."
        )
    if left.own != right.own:
        raise ValueError(
            "some blocks bring covariance or covariance_factor and others do not: give "
            "it with all of them, or with none."
        )
    merged = dict(left.moments)
    for label, moments in right.moments.items():
        merged[label] = merged[label].merged(moments) if label in merged else moments
    return _Description(
        merged,
        left.rows + right.rows,
        left.features,
        left.own,
        left.sparse or right.sparse,
    )


def _plan(source: BlockSource, settings: Settings) -> _Plan:
    """Make the first pass."""
    descriptions = iter(source.map(_describe))
    first = next(descriptions, None)
    if first is None:
        raise ValueError("blocks is empty: there are no samples to learn from.")
    seen = reduce(_merge, descriptions, first)
    moments = seen.moments
    classes = np.array(sorted(label for label in moments if moments[label].mass > 0.0))
    refuse_one_class(classes)
    by_class = [moments[label] for label in classes]
    d = seen.features
    covariances = None
    if not seen.own:
        if isinstance(settings.covariance, str) and settings.covariance == CLASS:
            scale = settings.covariance_scale
            estimated = [
                sample_covariance(m, scale, label)
                for m, label in zip(by_class, classes, strict=True)
            ]
            covariances = np.stack(estimated)
        else:
            covariances = given_covariances(settings.covariance, classes, d).matrices
    scaling = Scaling.identity(d)
    if settings.standardize:
        scaling = Scaling.of(reduce(Moments.merged, by_class), centre=not seen.sparse)
    masses = np.array([m.mass for m in by_class])
    labels = np.arange(len(classes))
    factors = settings.C * class_weights(settings.class_weight, classes, labels, masses)
    squared = [_squared(m, scaling) for m in by_class]
    summaries = [
        CostSummary(
            float(seen.rows),
            float(factors[signs > 0.0] @ masses[signs > 0.0]),
            float(factors[signs < 0.0] @ masses[signs < 0.0]),
            float(factors @ np.array(squared)),
        )
        for signs in one_vs_rest(labels, len(classes))
    ]
    rules = [
        make_rule(summary, settings.kappa, settings.fit_intercept, settings.refine)
        for summary in summaries
    ]
    return _Plan(classes, covariances, scaling, factors, summaries, rules, settings)


def _squared(moments: Moments, scaling: Scaling) -> float:
    """Return ``sum_i weight_i ||scaled mu_i||^2`` of one class."""
    centred = (moments.mean - scaling.mean) / scaling.scale
    scatter = float((np.diag(moments.scatter) / np.square(scaling.scale)).sum())
    return scatter + moments.mass * float(centred @ centred)


def fit_blocks(
    source: BlockSource, settings: Settings, rng: np.random.Generator
) -> BlockFit:
    """Train on blocks of rows."""
    started = time.perf_counter()
    plan = _plan(source, settings)
    d = len(plan.scaling.scale)
    descents = [Descent.start(d) for _ in plan.rules]
    history: list[Stage] = []
    status = "epochs"
    for epoch in range(1, settings.epochs + 1):
        try:
            descents = _epoch(source, plan, descents, rng)
        except KeyboardInterrupt:  # where the last epoch ended there is a model
            if epoch == 1:
                raise
            status = "interrupted"
            break
        seconds = time.perf_counter() - started
        history.append(
            {
                "stage": "epoch",
                "size": epoch,
                "seconds": seconds,
                "objective": None,
                "gap": None,
            }
        )
        if settings.max_time is not None and seconds > settings.max_time:
            status = "max_time" if epoch < settings.epochs else status
            break
    models = [descent.model(settings.refine) for descent in descents]
    if settings.refine:
        scores = gather_scores(
            source.map,
            lambda block: [
                scores_of(problem, w)
                for problem, (w, _) in zip(plan.scaled(block), models, strict=True)
            ],
            settings.memory_mb,
        )
        models = [
            refit(along, w, settings.kappa, settings.fit_intercept)
            for along, (w, _) in zip(scores, models, strict=True)
        ]
    models = [plan.scaling.restore(w, b) for w, b in models]
    parts = np.array(list(source.map(lambda block: _evaluate(plan, block, models))))
    solutions = []
    for k, ((w, b), descent) in enumerate(zip(models, descents, strict=True)):
        value = objective_above(sum_above(parts[:, k, 0]), plan.scaling, w)
        solutions.append(
            ChanceSolution(
                w,
                b,
                None,
                partial(Proof.of, value, None),
                status,
                descent.steps,
                time.perf_counter() - started,
                history,
            )
        )
    _, bounded, rows = parts.sum(axis=0).T
    shares = bounded / rows
    return BlockFit(
        plan.classes,
        plan.scaling,
        solutions,
        plan.summaries,
        plan.covariances,
        float(shares[0]) if len(shares) == 1 else shares,
    )


def _epoch(
    source: BlockSource, plan: _Plan, descents: list[Descent], rng: np.random.Generator
) -> list[Descent]:
    """Visit every row once: block after block, or all blocks at once and averaged."""
    sampling = plan.settings.sampling
    if not source.parallel:
        descents = [descent.copy() for descent in descents]
        for block in source.shuffled(rng):
            problems = plan.scaled(block)
            order = draw_order(problems[0].shape[0], sampling, rng)
            for k, problem in enumerate(problems):
                visit(problem, order, plan.rules[k], descents[k])
        return descents
    seed = int(rng.integers(np.iinfo(np.int32).max))

    def work(block: Block) -> tuple[int, list[Descent]]:
        problems = plan.scaled(block)
        rows = problems[0].shape[0]
        # by the block's place: a permutation of its own, whoever works on it
        order = draw_order(rows, sampling, np.random.default_rng([seed, block.first]))
        return rows, [
            visited(problem, order, rule, descent)
            for problem, rule, descent in zip(
                problems, plan.rules, descents, strict=True
            )
        ]

    results = list(source.map(work))
    sizes = [rows for rows, _ in results]
    return [
        averaged([moved[k] for _, moved in results], sizes)
        for k in range(len(descents))
    ]


def _evaluate(plan: _Plan, block: Block, models: list[tuple[Floats, float]]) -> Floats:
    """Return loss, rows with slack below one, and rows, for each binary problem."""
    out = []
    for problem, (w, b) in zip(plan.problems(block), models, strict=True):
        bounded = np.sum(shortfalls(problem, w, b) < 1.0)
        out.append((loss_above(problem, w, b), bounded, problem.shape[0]))
    return np.array(out, dtype=np.float64)

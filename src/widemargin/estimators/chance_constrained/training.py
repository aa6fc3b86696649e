"""How models are trained: passes over all rows, or a step for each new row.

A fit is a first pass, a solver, and a last pass, wherever the rows come from.

Data in memory is one block, for which every binary problem is solved on its own; other
blocks are read for all binary problems at once, which only the stochastic solver can.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from widemargin.estimators.base.progress import Progress
from widemargin.estimators.base.validation import effective_threads
from widemargin.runtime.deadline import Deadline
from widemargin.uncertainty.covariances import given_covariances
from widemargin.uncertainty.gaussian_features import NOT_NORMAL, drawn_frequencies
from widemargin.uncertainty.risk_bounds import GAUSSIAN

from .block_sources import Block, Source, identity
from .chance_problem import shortfalls
from .cone_programs import sample_cones, semidefinite, shared_cones
from .descent import OnlineDescent, StepSettings, cost_sums
from .feature_blocks import FeatureMap, scale_gamma
from .first_pass import BlockProblems, ProblemBuilder, first_pass
from .proven_solution import (
    GOOD,
    ChanceSolution,
    Proof,
    Stage,
    loss_above,
    optimum_below,
)
from .smoothed_newton import newton
from .stochastic import stochastic
from .uncertain_model import FittedModel

Floats = NDArray[np.float64]
Monitor = Callable[[Stage], None] | None

_GOOD = (*GOOD, "epochs")


class Settings(StepSettings, Protocol):
    """The estimator's parameters."""

    solver: str
    gamma: Any
    n_components: int
    epochs: int
    tol: float
    max_iter: int
    max_time: float | None
    memory_mb: float
    n_jobs: int | None
    verbose: bool


@dataclass(frozen=True)
class Trained:
    """A model, and how its solvers ended."""

    model: FittedModel
    solutions: list[ChanceSolution]

    def raise_or_warn(self, tol: float) -> None:
        """Let Ctrl-C go on, now that the model is kept; warn if it is not optimal."""
        if any(solution.ended == "interrupted" for solution in self.solutions):
            raise KeyboardInterrupt
        bad = [s for s in self.solutions if s.status not in _GOOD]
        if bad:
            relative = bad[0].proof.relative
            gap = "none" if relative is None else f"{relative:.1e}"
            warnings.warn(
                f"ChanceConstrainedSVC stopped early (status {bad[0].status!r}, "
                f"relative gap {gap}, tol {tol:g}): raise max_iter or max_time, "
                "or set standardize=True.",
                ConvergenceWarning,
                stacklevel=3,
            )


def train(
    source: Source[Block], settings: Settings, rng: np.random.Generator
) -> Trained:
    """Fit to all rows of the source."""
    deadline = Deadline.after(settings.max_time)
    builder = first_pass(source, settings)
    blocks = source.prepared(builder.problems)
    found = _solved(blocks, builder.n_problems, settings, rng, deadline)
    return _evaluated(blocks, builder, found)


def train_on_features(
    source: Source[Block], settings: Settings, rng: np.random.Generator
) -> Trained:
    """Fit to the random Fourier features of all rows, taken as normal samples.

    Covariances and scales are those of the samples: a first pass tells them.
    """
    if settings.bound == GAUSSIAN:
        raise ValueError(NOT_NORMAL)
    builder = first_pass(source, settings)
    scale = builder.scaling.scale
    gamma = settings.gamma
    if isinstance(gamma, str):
        gamma = scale_gamma(source, scale)
    W = drawn_frequencies(gamma, scale, settings.n_components, rng)
    feature_map = FeatureMap(W, builder)
    if source.resident:
        for n in source.map(lambda block: block.X.shape[0]):
            feature_map.check_memory(n, settings.memory_mb)
    in_features = copy(settings)
    in_features.standardize = False  # the frequencies have the scale already
    trained = train(source.prepared(feature_map.lifted), in_features, rng)
    covariances = None if builder.table is None else builder.table.dense()
    model = replace(trained.model, covariances=covariances, frequencies=W, seen=None)
    return replace(trained, model=model)


def _solved(
    blocks: Source[BlockProblems],
    n_problems: int,
    settings: Settings,
    rng: np.random.Generator,
    deadline: Deadline,
) -> list[ChanceSolution]:
    """Solve the binary problems, with a progress bar if wanted.

    All have one time limit. Ctrl-C in the last one leaves a model (``ended`` says it);
    in one before it there is none.
    """
    rounds: list[Sequence[int]] = [range(n_problems)]
    if blocks.resident:
        rounds = [[k] for k in range(n_problems)]
    solutions: list[ChanceSolution] = []
    with Progress(settings.verbose, settings.tol, "ChanceConstrainedSVC") as progress:

        def monitor(stage: Stage) -> None:
            gap = stage["gap"]  # the stochastic method has none: show its epochs
            ends = settings.tol ** (stage["size"] / settings.epochs)
            share = ends if gap is None else gap / max(abs(stage["objective"]), 1e-300)
            progress(stage["size"], share, n_problems)

        watch = monitor if settings.verbose else None
        for numbers in rounds:
            solutions += _solve(blocks, numbers, settings, rng, deadline, watch)
            ended_early = solutions[-1].ended == "interrupted"
            if ended_early and len(solutions) < n_problems:
                raise KeyboardInterrupt
    return solutions


def _solve(
    blocks: Source[BlockProblems],
    numbers: Sequence[int],
    settings: Settings,
    rng: np.random.Generator,
    deadline: Deadline,
    monitor: Monitor,
) -> list[ChanceSolution]:
    """Solve some of the binary problems; all solvers but "ssgd" take one in memory."""
    tol = settings.tol
    if settings.solver == "ssgd":
        jobs = settings.n_jobs
        return stochastic(
            blocks,
            numbers,
            epochs=settings.epochs,
            sampling=settings.sampling,
            refine=settings.refine,
            rng=rng,
            workers=1 if jobs is None else effective_threads(jobs),
            memory_mb=np.inf if blocks.resident else settings.memory_mb,
            deadline=deadline,
            monitor=monitor,
        )
    (number,) = numbers
    (problem,) = blocks.map(lambda item: item.scaled[number])
    if settings.solver == "newton":
        steps = settings.max_iter
        return [
            newton(problem, tol=tol, max_iter=steps, deadline=deadline, monitor=monitor)
        ]
    if settings.solver == "sdp":
        return [semidefinite(problem, tol=tol, deadline=deadline)]
    shared = problem.uncertainty.groups is not None
    cones = shared_cones if shared else sample_cones
    return [cones(problem, tol=tol, deadline=deadline)]


@dataclass(frozen=True)
class _Evaluation:
    """One model evaluated on one block."""

    loss: float
    rows: int
    bounded: int  # rows with slack below one
    seen: Floats  # cost_sums
    slack: Floats | None  # of all rows given, for data in memory


def _evaluated(
    blocks: Source[BlockProblems], builder: ProblemBuilder, found: list[ChanceSolution]
) -> Trained:
    """Make the last pass: what is proved of the models in the units of X; slacks."""
    scaling, resident = builder.scaling, blocks.resident
    models = [scaling.restore(solution.w, solution.b) for solution in found]

    def evaluate(item: BlockProblems) -> list[_Evaluation]:
        out = []
        for problem, (w, b) in zip(item.given, models, strict=True):
            shortfall = shortfalls(problem, w, b)
            slack = np.full(item.n_given, np.nan) if resident else None
            if slack is not None:
                slack[item.rows] = np.maximum(shortfall, 0.0)
            loss, bounded = loss_above(problem, w, b), np.count_nonzero(shortfall < 1.0)
            seen = cost_sums(problem)
            out.append(_Evaluation(loss, len(item.rows), int(bounded), seen, slack))
        return out

    by_problem = list(zip(*blocks.map(evaluate), strict=True))
    solutions = []
    for k, (solution, (w, b)) in enumerate(zip(found, models, strict=True)):
        bound, dual = None, solution.dual
        if dual is not None:  # of a solver that had all rows in memory
            dual = dual.restored(scaling)
            (item,) = blocks.map(identity)
            bound = optimum_below(item.given[k], scaling, dual)
        proof = Proof.of([part.loss for part in by_problem[k]], scaling, w, bound)
        evidence = partial(identity, proof)
        solutions.append(replace(solution, w=w, b=b, dual=dual, evidence=evidence))
    return Trained(_stored(builder, solutions, by_problem), solutions)


def _stored(
    builder: ProblemBuilder,
    solutions: list[ChanceSolution],
    by_problem: list[tuple[_Evaluation, ...]],
) -> FittedModel:
    """Return the models as the estimator stores them."""
    certificates = [solution.certificate for solution in solutions]
    shares = np.array(
        [sum(p.bounded for p in own) / sum(p.rows for p in own) for own in by_problem]
    )
    slacks = [own[0].slack for own in by_problem if own[0].slack is not None]
    single = len(solutions) == 1
    slack = None
    if slacks:
        slack = slacks[0] if single else np.column_stack(slacks)
    return FittedModel(
        classes=builder.classes,
        coef=np.stack([solution.w for solution in solutions]),
        intercept=np.array([solution.b for solution in solutions]),
        scale=builder.scaling.scale,
        covariances=None if builder.table is None else builder.table.dense(),
        n_iter=max(1, *(solution.n_iter for solution in solutions)),
        solved=all(solution.status in _GOOD for solution in solutions),
        seen=np.stack([sum(p.seen for p in own) for own in by_problem]),
        certificate=certificates[0] if single else certificates,
        history=[record for solution in solutions for record in solution.history],
        slack=slack,
        bounded_share=float(shares[0]) if single else shares,
    )


# ---- a step for each new row --------------------------------------------------------


def stepped(
    former: FittedModel | None,
    rows: Block,
    settings: StepSettings,
    classes: Any,
    n_samples_total: int | None,
    generator: Callable[[], np.random.Generator],
) -> FittedModel:
    """Return the model after one stochastic step for each row (``partial_fit``)."""
    if former is not None and former.online is not None:
        online = OnlineDescent(**former.online)
    else:
        online = _begun(former, rows.X.shape[1], settings, classes, generator)
    online = online.stepped(rows, settings, n_samples_total)
    coef, intercept = online.models(settings.refine)
    return FittedModel(
        classes=online.classes,
        coef=coef,
        intercept=intercept,
        scale=np.ones(coef.shape[1]),
        covariances=online.covariances,
        n_iter=online.visits,
        online=asdict(online),
        seen=None if former is None else former.seen,
    )


def _begun(
    former: FittedModel | None,
    n_features: int,
    settings: StepSettings,
    classes: Any,
    generator: Callable[[], np.random.Generator],
) -> OnlineDescent:
    """Start from w = 0, or go on from a fitted model and the rows it has seen."""
    if settings.standardize or settings.class_weight == "balanced":
        raise ValueError(
            "partial_fit cannot see all rows, so standardize=True and "
            "class_weight='balanced' are not available: scale X and the "
            "covariances beforehand and give the class weights as a dict."
        )
    if former is not None and classes is None:
        classes = former.classes
    if classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    known = np.unique(classes)
    if len(known) < 2:
        raise ValueError(
            "classes must hold at least two labels; the number of classes has to "
            f"be greater than one; got {len(known)} class"
        )
    if former is not None and not np.array_equal(known, former.classes):
        raise ValueError(
            f"classes={known.tolist()} are not those of the fitted model, "
            f"{former.classes.tolist()}."
        )
    covariances = None if former is None else former.covariances
    if not isinstance(settings.covariance, str):
        table = given_covariances(settings.covariance, known, n_features)
        covariances = table.entries
    seed = int(generator().integers(2**31))
    new = OnlineDescent.start(known, n_features, covariances, seed)
    if former is None or former.seen is None:
        return new
    return new.going_on(
        former.coef, former.intercept, former.seen, former.n_iter, settings.refine
    )

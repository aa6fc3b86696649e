"""How models are trained: passes over all rows, or a step for each new row.

A fit is a first pass, a solver, and a last pass, wherever the rows come from.

Data in memory is one block. Only the stochastic solver takes several.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from widemargin.engine.status import Status
from widemargin.estimators.base.progress import Progress
from widemargin.estimators.base.validation import class_weights, effective_threads
from widemargin.estimators.incremental.new_classes import first_classes, later_classes
from widemargin.runtime.deadline import Deadline
from widemargin.uncertainty.covariance_tables import FullTable
from widemargin.uncertainty.covariances import given_covariances
from widemargin.uncertainty.risk_bounds import safety_factor

from .block_sources import Block, Source, identity
from .chance_problem import shortfalls
from .cone_programs import sample_cones, semidefinite, shared_cones
from .descent import (
    Descent,
    cost_sums,
    draw_order,
    extrapolated,
    make_rule,
    visited,
)
from .feature_blocks import features, frequencies
from .first_pass import (
    BlockProblems,
    ProblemBuilder,
    Scaling,
    Settings,
    first_pass,
)
from .proven_solution import (
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

_GOOD = (Status.POLISHED, Status.CONVERGED, Status.EPOCHS)


class Trained(NamedTuple):
    """A model, and how its solvers ended."""

    model: FittedModel
    solutions: list[ChanceSolution]

    def raise_or_warn(self, tol: float) -> None:
        """Raise Ctrl-C again, now that the model is kept; warn if it is not optimal."""
        if any(solution.ended is Status.INTERRUPTED for solution in self.solutions):
            raise KeyboardInterrupt
        bad = [s for s in self.solutions if s.status not in _GOOD]
        if bad:
            relative = bad[0].proof.relative
            gap = "none" if relative is None else f"{relative:.1e}"
            remedy = "raise max_iter or max_time"
            if bad[0].ended in _GOOD:  # but of rounding more is left than it saw
                remedy = (
                    "lower C, as rounding leaves that much, or give singular "
                    "covariances as covariance_factor"
                )
            warnings.warn(
                f"ChanceConstrainedSVC stopped early (status {bad[0].status!r}, "
                f"relative gap {gap}, tol {tol:g}): set standardize=True, or {remedy}.",
                ConvergenceWarning,
                stacklevel=5,
            )


def train(
    source: Source[Block], settings: Settings, rng: np.random.Generator
) -> Trained:
    """Fit to all rows of the source.

    With kernel="rbf" to their random Fourier features, as normal samples: covariances
    and scales are those of the samples, and the frequencies have the scales.
    """
    deadline = Deadline.after(settings.max_time)
    builder = first_pass(source, settings)
    covariances, W = builder.matrices, None
    if settings.kernel == "rbf":
        W = frequencies(builder, settings, rng)
        source = features(source, W, builder, settings.memory_mb)
        builder = first_pass(source, settings, in_features=True)
    blocks = source.prepared(builder.problems)
    found = _solved(blocks, builder.n_problems, settings, rng, deadline)
    model, solutions = _evaluated(blocks, builder, found)
    return Trained(replace(model, covariances=covariances, frequencies=W), solutions)


def _solved(
    blocks: Source[BlockProblems],
    n_problems: int,
    settings: Settings,
    rng: np.random.Generator,
    deadline: Deadline,
) -> list[ChanceSolution]:
    """Solve the binary problems, with a progress bar if wanted.

    All have one time limit. "ssgd" solves all at once, the others, in memory, one after
    the other. Ctrl-C in the last one leaves a model (``ended`` says it); in one before
    it there is none.
    """
    with Progress(settings.verbose, settings.tol, "ChanceConstrainedSVC") as progress:

        def monitor(stage: Stage) -> None:
            gap = stage["gap"]  # the stochastic method has none: show its epochs
            ends = settings.tol ** (stage["size"] / settings.epochs)
            share = ends if gap is None else gap / max(abs(stage["objective"]), 1e-300)
            progress(stage["size"], share, n_problems)

        watch = monitor if settings.verbose else None
        if settings.solver == "ssgd":
            jobs = settings.n_jobs
            return stochastic(
                blocks,
                epochs=settings.epochs,
                sampling=settings.sampling,
                refine=settings.refine,
                rng=rng,
                workers=1 if jobs is None else effective_threads(jobs),
                memory_mb=np.inf if blocks.resident else settings.memory_mb,
                deadline=deadline,
                monitor=watch,
            )
        (item,) = blocks.map(identity)
        solutions: list[ChanceSolution] = []
        for problem in item.scaled:
            solve: Callable[..., ChanceSolution]
            if settings.solver == "newton":
                solve = partial(newton, max_iter=settings.max_iter, monitor=watch)
            elif settings.solver == "sdp":
                solve = semidefinite
            else:
                shared = problem.uncertainty.groups is not None
                solve = shared_cones if shared else sample_cones
            solutions.append(solve(problem, tol=settings.tol, deadline=deadline))
            ended_early = solutions[-1].ended is Status.INTERRUPTED
            if ended_early and len(solutions) < n_problems:
                raise KeyboardInterrupt
    return solutions


def _evaluated(
    blocks: Source[BlockProblems], builder: ProblemBuilder, found: list[ChanceSolution]
) -> Trained:
    """Make the last pass: what is proved of the models in the units of X; slacks."""
    scaling, slacks = builder.scaling, []
    models = [scaling.restore(solution.w, solution.b) for solution in found]

    def evaluate(item: BlockProblems) -> list[tuple[float, Floats, int]]:
        """Return loss, sums and number of rows with slack below one, by problem."""
        out = []
        for problem, (w, b) in zip(item.given, models, strict=True):
            shortfall = shortfalls(problem, w, b)
            if blocks.resident:  # all rows are in this block
                slacks.append(np.full(item.n_given, np.nan))
                slacks[-1][item.rows] = np.maximum(shortfall, 0.0)
            bounded = int(np.count_nonzero(shortfall < 1.0))
            out.append((loss_above(problem, w, b), cost_sums(problem), bounded))
        return out

    solutions: list[ChanceSolution] = []
    shares, seen = np.empty(len(found)), np.empty((len(found), 4))
    by_problem = zip(*blocks.map(evaluate), strict=True)
    for k, (solution, own) in enumerate(zip(found, by_problem, strict=True)):
        losses, sums, bounded = zip(*own, strict=True)
        (w, b), dual, bound = models[k], solution.dual, None
        if dual is not None:  # of a solver that had all rows in memory
            dual = dual.restored(scaling)
            (item,) = blocks.map(identity)
            bound = optimum_below(item.given[k], scaling, dual)
        proof = Proof.of(list(losses), scaling, w, bound)
        evidence = partial(identity, proof)
        solutions.append(replace(solution, w=w, b=b, dual=dual, evidence=evidence))
        seen[k] = sum(sums)
        shares[k] = sum(bounded) / seen[k, 0]
    certificates: list[Any] = [solution.certificate for solution in solutions]
    single, slack = len(found) == 1, np.column_stack(slacks) if slacks else None
    model = FittedModel(
        classes=builder.classes,
        coef=np.stack([solution.w for solution in solutions]),
        intercept=np.array([solution.b for solution in solutions]),
        scale=scaling.scale,
        n_iter=max(1, *(solution.n_iter for solution in solutions)),
        solved=all(solution.status in _GOOD for solution in solutions),
        seen=seen,
        certificate=certificates[0] if single else certificates,
        history=[record for solution in solutions for record in solution.history],
        slack=slack.ravel() if single and slack is not None else slack,
        bounded_share=float(shares[0]) if single else shares,
    )
    return Trained(model, solutions)


# ---- a step for each new row --------------------------------------------------------


def stepped(
    model: FittedModel | None,
    rows: Block,
    settings: Settings,
    classes: Any,
    n_samples_total: int | None,
    generator: Callable[[], np.random.Generator],
) -> FittedModel:
    """Return the model after one stochastic step for each row (``partial_fit``).

    What it goes on from are the descents of all binary problems (``online``) and the
    `cost_sums` of the rows so far (``seen``).
    """
    if model is None or model.online is None:
        model = _begun(model, rows.X.shape[1], settings, classes, generator)
    online, seen, classes = model.online, model.seen, model.classes
    assert online is not None and seen is not None
    weights = rows.weights
    present, weights = rows.y[weights > 0.0], weights[weights > 0.0]
    unknown = np.setdiff1d(present, classes)
    if len(unknown):
        raise ValueError(
            f"y has the labels {unknown.tolist()}, which are not in classes "
            f"{classes.tolist()}."
        )
    if n_samples_total is not None and n_samples_total < 1:
        raise ValueError(
            f"n_samples_total must be at least 1, got {n_samples_total}: it is "
            "the number of rows there will be in all."
        )
    labels = np.searchsorted(classes, present)
    builder = ProblemBuilder(
        classes,
        None if model.covariances is None else FullTable(model.covariances),
        Scaling.identity(rows.X.shape[1]),
        settings.C * class_weights(settings.class_weight, classes, labels, weights),
        safety_factor(settings.risk, settings.bound),
        settings.fit_intercept,
    )
    former = [Descent(**state) for state in online["descents"]]
    rng = np.random.default_rng([online["seed"], former[0].steps])
    order = draw_order(len(present), settings.sampling, rng)
    problems = builder.problems(rows).given
    seen = seen + [cost_sums(problem) for problem in problems]
    descents = []
    for problem, sums, descent in zip(problems, seen, former, strict=True):
        whole = extrapolated(sums, n_samples_total)
        rule = make_rule(whole, problem.kappa, problem.fit_intercept, settings.refine)
        descents.append(visited(problem, order, rule, descent))
    coef, intercept = zip(*(d.model(settings.refine) for d in descents), strict=True)
    return replace(
        model,
        coef=np.stack(coef),
        intercept=np.array(intercept),
        n_iter=model.n_iter + len(order),
        online=online | {"descents": [descent._asdict() for descent in descents]},
        seen=seen,
    )


def _begun(
    former: FittedModel | None,
    n_features: int,
    settings: Settings,
    classes: Any,
    generator: Callable[[], np.random.Generator],
) -> FittedModel:
    """Start from w = 0, or go on from a fitted model and the rows it has seen."""
    if settings.standardize or settings.class_weight == "balanced":
        raise ValueError(
            "partial_fit cannot see all rows, so standardize=True and "
            "class_weight='balanced' are not available: scale X and the "
            "covariances beforehand and give the class weights as a dict."
        )
    if former is not None:
        labels = former.classes
        known = later_classes(classes, labels, labels, closed=True).labels
    elif classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    else:
        known = first_classes(classes, np.empty(0)).labels
    if former is None:
        k = 1 if len(known) == 2 else len(known)
        zeros = np.zeros((k, n_features))
        former = FittedModel(known, zeros, np.zeros(k), np.ones(n_features), 0)
    if not isinstance(settings.covariance, str):
        table = given_covariances(settings.covariance, known, n_features)
        former = replace(former, covariances=table.entries)
    # The refined method goes on as if each row of `fit` had been visited once: a new
    # row then weighs as much as one of them, however many epochs `fit` made. The
    # published one has no other clock than its steps.
    seen = np.zeros((len(former.coef), 4)) if former.seen is None else former.seen
    rows = int(seen[0, 0])
    steps = rows if settings.refine else max(rows, former.n_iter)
    descents = [
        Descent(w, w, b, b, steps)._asdict()
        for w, b in zip(former.coef, former.intercept.tolist(), strict=True)
    ]
    seed = int(generator().integers(2**31))
    online = {"descents": descents, "seed": seed}
    return replace(former, online=online, seen=seen)

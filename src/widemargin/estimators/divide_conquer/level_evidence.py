"""Whether local models are as good as larger ones, asked before they are trained.

A level of clusters is worth having where its local models predict about as well as
those of the level above. That is measured: in some clusters of the level above
(regions) part of the rows train both, one model for the region against one for each of
its clusters, and the others compare them. Rows that train have the weight of all that
they stand for: else the regulariser hides what larger clusters gain by their rows.

Two figures decide, the worse of the two: balanced accuracy and, for two classes, the
area under the ROC curve, which also sees whether the values of different clusters are
on one scale. Where hardly any kernel mass lies between clusters nothing is asked:
Theorem 1 of Hsieh, Si and Dhillon (2014) bounds the loss by it. Nor is it where the
whole problem takes about as long as the question: of few rows, and of few support
vectors (:mod:`.whole_problem`).
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.kernels import Kernel, Precomputed
from widemargin.estimators.base.multiclass import one_vs_rest_scores
from widemargin.estimators.base.validation import effective_threads
from widemargin.multilevel.partition import Partition, coarsen, divide, mass_apart
from widemargin.runtime.deadline import Deadline

from .cluster_models import models_of_clusters, settings_of_parts
from .evidence_rows import WORK, Rows, RowSource
from .level_choice import clustering_stage, early_levels
from .level_quality import EarlyWarning, Evidence, Quality, disappointing
from .whole_problem import support_growth

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

LOCAL = 0.1  # share of kernel mass between clusters below which levels need no evidence
FEW = 5_000  # rows up to which clustering takes about as long as the whole problem
AT_ONCE = 4e8  # kernel entries of all rows up to which the whole problem is solved
# Kernel entries of the largest cluster, rows times support vectors: "auto" takes no
# coarser level than that, and warns where it should.
MOST_ENTRIES = 2e9
HELD_OUT = 10_000  # held-out rows, at most,
RARE = 1_000  # but all rows of a class up to this number
FEWEST = 40  # rows of a region, and of its training part, at least


def compare_levels(
    machine: Any,
    source: RowSource,
    kernel: Kernel,
    number: int,
    levels: tuple[Partition, Partition],
    seed: int,
    deadline: Deadline,
) -> Evidence | None:
    """Compare a level with the one above; None where the rows or the time are too few.

    Parameters
    ----------
    machine : DivideConquerSVC
        Whose settings are compared; it is cloned, with the kernel's own gamma.
    source : RowSource
        All training rows.
    kernel : Kernel
        Resolved kernel.
    number : int
        Number of the finer level, at least 1.
    levels : tuple of Partition
        Clusters of the finer level, and of the one above, which are unions of them.
    seed : int
        Seed of every draw.
    deadline : Deadline
        When the fit must end.
    """
    begun, rng = time.perf_counter(), np.random.default_rng((seed, number))
    rows, members, share = source.regions(levels[1], rng)
    splits = [_split(own, rows.codes, share, rng) for own in members]
    splits = [own for own in splits if len(own[0]) >= FEWEST and len(own[1])]
    if not splits:
        return None
    training = rows.take(np.concatenate([own for own, _ in splits]))
    stand_for = np.concatenate([_stand_for(*own, rows.codes) for own in splits])
    training = training._replace(weights=training.weights * stand_for)
    pooled = np.concatenate([compared for _, compared in splits])
    tested = rows.take(_limited(pooled, rows.codes, rng))
    if training.codes.min() == training.codes.max():
        return None
    local = settings_of_parts(machine, kernel, seed, deadline)
    cells = source.cells(levels[0], training)
    models = models_of_clusters(
        local, *training[1:], [one.of_cells(cells) for one in levels]
    )
    if models is None:
        return None
    cells = source.cells(levels[0], tested)
    finer, coarser = (_values(model, tested, cells) for model in models)
    return Evidence(
        number,
        Quality.of(finer, tested.codes),
        Quality.of(coarser, tested.codes),
        tested,
        len(splits),
        len(training.codes),
        len(models[1].support_),
        time.perf_counter() - begun,
    )


def against_sample(
    evidence: Evidence,
    machine: Any,
    source: RowSource,
    kernel: Kernel,
    seed: int,
    deadline: Deadline,
) -> Evidence:
    """Add what one model of random rows reaches, at a tenth of the level's cost.

    At level 1 this is the coarser model itself. Where the time is too short for it,
    the evidence stays as it is.
    """
    begun = time.perf_counter()
    if evidence.level == 1:
        return replace(
            evidence, sampled=evidence.coarser, sampled_rows=evidence.trained
        )
    n, tested = source.n, evidence.compared
    # a model of this many rows costs about as much as the level
    size = np.sqrt(n * n / machine.n_branches**evidence.level)
    drawn = source.others(
        tested, int(np.sqrt(WORK) * size), np.random.default_rng(seed)
    )
    if drawn.codes.min() == drawn.codes.max():
        return evidence
    local = settings_of_parts(machine, kernel, seed, deadline)
    models = models_of_clusters(local, *drawn[1:], [divide(drawn.samples, kernel, 1)])
    if models is None:
        return evidence
    sampled = Quality.of(_values(models[0], tested), tested.codes)
    seconds = evidence.seconds + time.perf_counter() - begun
    return replace(
        evidence, sampled=sampled, sampled_rows=len(drawn.codes), seconds=seconds
    )


def _split(
    members: Indices, codes: Indices, share: float, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Split a region into rows that train and rows that compare, class by class."""
    training, compared = [], []
    classes = codes[members]
    for own in np.flatnonzero(np.bincount(classes)):
        shuffled = rng.permutation(members[classes == own])
        cut = int(np.ceil(share * len(shuffled)))
        training.append(shuffled[:cut])
        compared.append(shuffled[cut:])
    return np.sort(np.concatenate(training)), np.sort(np.concatenate(compared))


def _stand_for(training: Indices, compared: Indices, codes: Indices) -> Vector:
    """Return how many rows of its class and region each training row stands for."""
    own = codes[training]
    others = np.bincount(codes[compared], minlength=codes.max() + 1)
    return 1.0 + others[own] / np.bincount(own)[own]


def _limited(pooled: Indices, codes: Indices, rng: np.random.Generator) -> Indices:
    """Keep `HELD_OUT` of the rows that compare, but every row of a rare class."""
    kept = np.zeros(len(codes), dtype=bool)
    classes = codes[pooled]
    for own, count in enumerate(np.bincount(classes).tolist()):
        size = max(min(count, RARE), round(HELD_OUT * count / len(pooled)))
        members = pooled[classes == own]
        kept[rng.choice(members, size=min(size, count), replace=False)] = True
    return pooled[kept[pooled]]


def _values(model: Any, tested: Rows, cells: Indices | None = None) -> Vector:
    """Return a value of each class at each sample; of an absent class the least.

    `cells` are those of the samples, where they are known. Float32 entries will do.
    """
    threads, early = effective_threads(model.n_jobs), model.early_
    labels = early.assign(tested.samples) if cells is None else early.groups[cells]
    decisions = early.decision_of(tested.samples, labels, threads)
    n = len(model.classes_)
    given = (
        np.column_stack([-decisions, decisions]) if n == 2
        else one_vs_rest_scores(decisions, n)
    )  # fmt: skip
    n_classes = 1 + max(int(tested.codes.max()), int(model.classes_.max()))
    values = np.full((len(tested.codes), n_classes), -np.inf)
    values[:, model.classes_] = given
    return values


class Chosen(NamedTuple):
    """The finest level to solve, the one to stop at, and how that is known.

    ``stages`` are the records of ``history_``; ``partition`` are the clusters of the
    finest level, where they were made.
    """

    finest: int
    end: int
    stages: list[dict[str, Any]]
    partition: Partition | None = None


def levels_by_evidence(
    machine: Any, source: RowSource, kernel: Kernel, seed: int, deadline: Deadline
) -> Chosen:
    """Return the levels of an early fit, "auto" by evidence."""
    finest, end = early_levels(
        source.n, machine.n_levels, machine.early_level, machine.n_branches
    )
    if machine.early_level != "auto" or isinstance(kernel, Precomputed) or end == 0:
        return Chosen(finest, end, [])
    chosen = chosen_level(machine, source, kernel, end, seed, deadline)
    if machine.n_levels == "auto":
        return chosen
    return Chosen(finest, chosen.end, chosen.stages)


def chosen_level(
    machine: Any,
    source: RowSource,
    kernel: Kernel,
    finest: int,
    seed: int,
    deadline: Deadline,
) -> Chosen:
    """Return the finest level that loses no more than allowed, and how that is known.

    Where even the coarsest that "auto" takes is expected to lose more, it warns.
    """
    size, samples = source.n, source.sample.samples
    if size <= FEW:
        return Chosen(0, 0, [])
    growth = support_growth(machine, source, kernel, seed, deadline)
    stages = [] if growth is None else [growth.record(size)]
    for level in range(finest, 0, -1):
        if growth is not None:
            few = size * growth.support(size) <= AT_ONCE
            clusters = machine.n_branches**level
            if few and growth.cheap(size, clusters, again=level < finest):
                break
        if level == finest:
            begun = time.perf_counter()
            finer = source.divided(machine.n_branches**finest)
            stages.append(clustering_stage(size, time.perf_counter() - begun))
        # unions of clusters are less even than clusters made for their number
        chosen = Chosen(level, level, stages, finer if level == finest else None)
        if mass_apart(samples, kernel, finer.labels, seed=seed) < LOCAL:
            return chosen
        if size**2 <= AT_ONCE:
            break
        coarser = coarsen(finer, machine.n_branches ** (level - 1), seed=seed)
        evidence = compare_levels(
            machine, source, kernel, level, (finer, coarser), seed, deadline
        )
        if evidence is None:
            return chosen
        costs = evidence.entries(size / machine.n_branches ** (level - 1))
        enough = not evidence.exceeds(machine.early_tolerance)
        if costs > MOST_ENTRIES or evidence.may_pass(machine.early_tolerance):
            # both levels may share a cut along the boundary: random rows have none
            evidence = against_sample(evidence, machine, source, kernel, seed, deadline)
            enough = not evidence.exceeds(machine.early_tolerance)
        if costs > MOST_ENTRIES and not enough:
            warnings.warn(
                disappointing(evidence, machine, size), EarlyWarning, stacklevel=2
            )
            enough = True
        stages.append(evidence.record(size))
        if enough:
            return chosen
        finer = coarser
    return Chosen(0, 0, stages)

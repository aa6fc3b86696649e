"""Whether local models are as good as larger ones, asked before they are trained.

A level of clusters is worth having where its local models predict about as well as
those of the level above, which has fewer and larger clusters. That is measured, not
assumed: in some clusters of the level above (regions) part of the rows train both, one
model for the region against one for each of its parts, and the others compare them.
Training both on fewer rows than there will be favours the larger clusters, so that the
finer level is taken only where it deserves it.

Two figures decide, the worse of the two: balanced accuracy and, for two classes, the
area under the ROC curve, which also sees whether the values of different clusters are
on one scale. Where hardly any kernel mass lies between clusters nothing is asked:
Theorem 1 of Hsieh, Si and Dhillon (2014) bounds the loss by it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from widemargin.engine.kernels import Kernel, Precomputed
from widemargin.multilevel.partition import divide, mass_between_clusters
from widemargin.multilevel.router import Samples
from widemargin.runtime.deadline import NEVER, Deadline

from .level_choice import early_levels
from .level_quality import EarlyWarning, Evidence, Quality, disappointing

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

LOCAL = 0.1  # share of kernel mass between clusters below which nothing is asked
# Kernel entries of the largest cluster, rows times support vectors: "auto" takes no
# coarser level than that, and warns where it should.
MOST_ENTRIES = 2e9
WORK = 0.2  # of the squared cluster sizes of the level, for a comparison
SHARE = 0.55  # of a region's rows that train, at most
REGIONS = 0.4  # of the rows, in clusters of the level above
HELD_OUT = 10_000  # rows that compare, and
RARE = 1_000  # of each class all of them up to this number
FEWEST = 40  # rows of a region, and of its training part, for a comparison


class Rows(NamedTuple):
    """Training rows, each with its number, its class and its factor on C."""

    numbers: Indices
    samples: Samples
    codes: Indices
    weights: Vector

    def take(self, rows: Indices) -> Rows:
        """Return some of them."""
        numbers, samples, codes, weights = self
        return Rows(numbers[rows], samples[rows], codes[rows], weights[rows])


class Regions(NamedTuple):
    """Some clusters of a level, for the level below to be compared in.

    ``members`` are places among ``rows``, of each region; ``share`` is the part of them
    that trains.
    """

    rows: Rows
    members: list[Indices]
    share: float


class RowSource(Protocol):
    """Where training rows are: here, or on workers."""

    @property
    def n(self) -> int:
        """Number of all rows."""

    @property
    def sample(self) -> Rows:
        """Rows that stand for all where the kernel's reach is asked for."""

    def regions(self, clusters: int, rng: np.random.Generator) -> Regions:
        """Return some of so many clusters."""

    def others(self, tested: Rows, size: int, rng: np.random.Generator) -> Rows:
        """Draw random rows that were not compared."""


@dataclass(frozen=True)
class RowsInMemory:
    """All training rows, at hand; `machine` has the settings of their clusters."""

    machine: Any
    sample: Rows
    kernel: Kernel
    seed: int

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.sample.codes)

    def regions(self, clusters: int, rng: np.random.Generator) -> Regions:
        """Return clusters that hold a share of the rows."""
        parts = divide(
            self.sample.samples, self.kernel, clusters, seed=self.seed,
            clustering=self.machine.clustering, sample_size=self.machine.sample_size,
        )  # fmt: skip
        chosen = drawn_regions(parts.sizes, rng)
        share = training_share(parts.sizes, chosen, self.machine.n_branches)
        return Regions(self.sample, [parts.members(c) for c in chosen], share)

    def others(self, tested: Rows, size: int, rng: np.random.Generator) -> Rows:
        """Draw random rows that were not compared."""
        others = np.setdiff1d(np.arange(self.n), tested.numbers, assume_unique=True)
        size = min(size, len(others))
        return self.sample.take(np.sort(rng.choice(others, size=size, replace=False)))


def reaches_across(rows: Rows, kernel: Kernel, clusters: int, seed: int) -> bool:
    """Whether the kernel reaches from cluster to cluster, so that there is a question.

    Not for a kernel matrix, whose rows cannot be divided like samples.
    """
    if isinstance(kernel, Precomputed) or clusters <= 1:
        return False
    mass = mass_between_clusters(rows.samples, kernel, n_clusters=clusters, seed=seed)
    return mass >= LOCAL


def compare_levels(
    machine: Any,
    source: RowSource,
    kernel: Kernel,
    level: int,
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
    level : int
        The finer level, at least 1.
    seed : int
        Of every draw.
    deadline : Deadline
        When the fit must end.
    """
    begun, rng = time.perf_counter(), np.random.default_rng((seed, level))
    local = _settings(machine, kernel, seed)
    rows, members, share = source.regions(machine.n_branches ** (level - 1), rng)
    splits = [_split(own, rows.codes, share, rng) for own in members]
    splits = [own for own in splits if len(own[0]) >= FEWEST and len(own[1])]
    splits = list(_limited(splits, rows.codes, rng)) if splits else []
    coarser, finer, support, trained = list[Vector](), list[Vector](), 0, 0
    for training, compared in splits:
        for depth, answers in ((0, coarser), (1, finer)):
            if deadline.passed:
                return None
            model = _fitted(local, rows.take(training), depth, deadline)
            answers.append(_values(model, rows.samples[compared], rows.codes))
            if depth == 0:
                support += 0 if isinstance(model, np.integer) else len(model.support_)
                trained += len(training)
    if not splits:
        return None
    tested = rows.take(np.concatenate([compared for _, compared in splits]))
    return Evidence(
        level,
        Quality.of(np.concatenate(finer), tested.codes),
        Quality.of(np.concatenate(coarser), tested.codes),
        tested,
        len(splits),
        trained,
        support,
        time.perf_counter() - begun,
    )


def against_sample(
    evidence: Evidence, machine: Any, source: RowSource, kernel: Kernel, seed: int
) -> Evidence:
    """Add what one model of random rows reaches, at a quarter of the level's cost.

    Of level 1, the coarser model is just that.
    """
    if evidence.level == 1:
        return replace(
            evidence, sampled=evidence.coarser, sampled_rows=evidence.trained
        )
    n, tested = source.n, evidence.compared
    # a model of so many rows costs about as much as the level
    size = np.sqrt(n * n / machine.n_branches**evidence.level)
    drawn = source.others(tested, int(0.5 * size), np.random.default_rng(seed))
    model = _fitted(_settings(machine, kernel, seed), drawn, 0, NEVER)
    sampled = Quality.of(_values(model, tested.samples, tested.codes), tested.codes)
    return replace(evidence, sampled=sampled, sampled_rows=len(drawn.codes))


def _settings(machine: Any, kernel: Kernel, seed: int) -> Any:
    """Return the estimator that is fitted to regions: plain, quiet, one seed."""
    gamma = getattr(kernel, "gamma", None)
    return clone(machine).set_params(
        gamma=machine.gamma if gamma is None else gamma,
        class_weight=None, random_state=seed, verbose=False, warm_start=False,
        checkpoint=None, prediction="early", n_levels="auto",
        decision_function_shape="ovr", break_ties=False,
    )  # fmt: skip


def drawn_regions(sizes: Indices, rng: np.random.Generator) -> Indices:
    """Draw clusters of the level above, until they hold a share of the rows."""
    order = rng.permutation(len(sizes))
    count = np.searchsorted(np.cumsum(sizes[order]), REGIONS * sizes.sum()) + 1
    return np.sort(order[:count])


def training_share(sizes: Indices, chosen: Indices, branches: int) -> float:
    """Share of the rows of regions that train, so that the work stays within its limit.

    A model costs about the square of its rows: the level, whose clusters are a
    `branches`-th of these, as much as all of them together, divided by `branches`.
    """
    squares = sizes.astype(np.float64) ** 2
    level = squares.sum() / branches
    return float(min(SHARE, np.sqrt(WORK * level / squares[chosen].sum())))


def _split(
    members: Indices, codes: Indices, share: float, rng: np.random.Generator
) -> tuple[Indices, Indices]:
    """Split a region into rows that train and rows that compare, class by class."""
    training, compared = [], []
    for own in np.unique(codes[members]):
        shuffled = rng.permutation(members[codes[members] == own])
        cut = int(np.ceil(share * len(shuffled)))
        training.append(shuffled[:cut])
        compared.append(shuffled[cut:])
    return np.sort(np.concatenate(training)), np.sort(np.concatenate(compared))


def _limited(
    splits: list[tuple[Indices, Indices]], codes: Indices, rng: np.random.Generator
) -> Iterator[tuple[Indices, Indices]]:
    """Keep so many of the rows that compare, but every row of a rare class."""
    pooled = np.concatenate([compared for _, compared in splits])
    kept = np.zeros(len(codes), dtype=bool)
    classes, counts = np.unique(codes[pooled], return_counts=True)
    for own, count in zip(classes, counts, strict=True):
        size = max(min(count, RARE), round(HELD_OUT * count / len(pooled)))
        members = pooled[codes[pooled] == own]
        kept[rng.choice(members, size=min(size, count), replace=False)] = True
    for training, compared in splits:
        yield training, compared[kept[compared]]


def _fitted(local: Any, rows: Rows, depth: int, deadline: Deadline) -> Any:
    """Fit one model, or one for each of the parts; a class number where all are one."""
    if len(np.unique(rows.codes)) == 1:
        return rows.codes[0]
    seconds = deadline.seconds_left
    model = clone(local).set_params(
        early_level=depth, max_time=None if np.isinf(seconds) else max(seconds, 1e-3)
    )
    with warnings.catch_warnings():  # the fit itself will warn
        warnings.simplefilter("ignore")
        return model.fit(rows.samples, rows.codes, rows.weights)


def _values(model: Any, samples: Samples, codes: Indices) -> Vector:
    """Return a value of each class at each sample; of an absent class the least."""
    n_classes = int(codes.max()) + 1
    if isinstance(model, np.integer):
        values = np.full((samples.shape[0], n_classes), -1.0)
        values[:, model] = 1.0
        return values
    given = model.decision_function(samples) if samples.shape[0] else np.empty(0)
    if len(model.classes_) == 2:
        given = np.column_stack([-given, given])
    values = np.full((samples.shape[0], n_classes), -np.inf)
    values[:, model.classes_] = given
    return values


def levels_by_evidence(
    machine: Any, source: RowSource, kernel: Kernel, seed: int, deadline: Deadline
) -> tuple[int, int, list[Evidence]]:
    """Return the finest level to solve, the one to stop at, and how that is known.

    Only ``early_level="auto"`` is asked about.
    """
    finest, end = early_levels(
        source.n, machine.n_levels, machine.early_level, machine.n_branches
    )
    if machine.early_level != "auto":
        return finest, end, []
    end, evidence = chosen_level(machine, source, kernel, end, seed, deadline)
    return (end if machine.n_levels == "auto" else finest), end, evidence


def chosen_level(
    machine: Any,
    source: RowSource,
    kernel: Kernel,
    finest: int,
    seed: int,
    deadline: Deadline,
) -> tuple[int, list[Evidence]]:
    """Return the finest level that loses no more than allowed, and how that is known.

    Where even the coarsest level that "auto" takes is expected to lose more, a warning
    says so with the figures.
    """
    found = list[Evidence]()
    for level in range(finest, 0, -1):
        if not reaches_across(source.sample, kernel, machine.n_branches**level, seed):
            return level, found
        evidence = compare_levels(machine, source, kernel, level, seed, deadline)
        if evidence is None:
            return level, found
        found.append(evidence)
        if evidence.loss - evidence.deviation <= machine.early_tolerance:
            return level, found
        larger = source.n / machine.n_branches ** (level - 1)
        if evidence.entries(larger) > MOST_ENTRIES:
            found[-1] = against_sample(evidence, machine, source, kernel, seed)
            warnings.warn(disappointing(found[-1], machine), EarlyWarning, stacklevel=2)
            return level, found
    return 0, found

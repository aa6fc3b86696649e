"""Training rows that levels are chosen by: here, or on workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.kernels import Kernel
from widemargin.estimators.base.validation import effective_threads
from widemargin.multilevel.partition import Partition, divide
from widemargin.multilevel.router import Samples

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

WORK = 0.1  # work of a comparison, as a share of the squared cluster sizes of the level
SHARE = 0.55  # share of a region's rows used for training, at most
REGIONS = 0.4  # share of the rows compared, in clusters of the level above,
FEW_REGIONS = 4  # and in all of them up to this number, which differ among themselves


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
        """Rows that stand for all where clusters are made."""

    def divided(self, clusters: int) -> Partition:
        """Divide the sample into this number of clusters."""

    def regions(self, level: Partition, rng: np.random.Generator) -> Regions:
        """Return some clusters of a level."""

    def cells(self, level: Partition, rows: Rows) -> Indices:
        """Return the cell of each of some rows of the regions."""

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

    def divided(self, clusters: int) -> Partition:
        """Divide all rows into this number of clusters."""
        return divide(
            self.sample.samples, self.kernel, clusters, seed=self.seed,
            clustering=self.machine.clustering, sample_size=self.machine.sample_size,
            threads=effective_threads(self.machine.n_jobs),
        )  # fmt: skip

    def regions(self, level: Partition, rng: np.random.Generator) -> Regions:
        """Return clusters that hold a share of the rows."""
        chosen = drawn_regions(level.sizes, rng)
        share = training_share(level.sizes, chosen, self.machine.n_branches)
        return Regions(self.sample, [level.members(c) for c in chosen], share)

    def cells(self, level: Partition, rows: Rows) -> Indices:
        """Return the cell of each row, which is known."""
        return level.cells[rows.numbers]

    def others(self, tested: Rows, size: int, rng: np.random.Generator) -> Rows:
        """Draw random rows that were not compared."""
        untouched = np.ones(self.n, dtype=bool)
        untouched[tested.numbers] = False
        others = np.flatnonzero(untouched)
        size = min(size, len(others))
        return self.sample.take(np.sort(rng.choice(others, size=size, replace=False)))


def drawn_regions(sizes: Indices, rng: np.random.Generator) -> Indices:
    """Draw clusters of the level above, until they hold a share of the rows."""
    order = rng.permutation(len(sizes))
    count = np.searchsorted(np.cumsum(sizes[order]), REGIONS * sizes.sum()) + 1
    return np.sort(order[: max(count, FEW_REGIONS)])


def training_share(sizes: Indices, chosen: Indices, branches: int) -> float:
    """Share of the rows of regions that train, so that the work stays within its limit.

    A model costs about the square of its rows: the level, whose clusters are a
    `branches`-th of these, as much as all of them together, divided by `branches`.
    """
    squares = sizes.astype(np.float64) ** 2
    level = squares.sum() / branches
    return float(min(SHARE, np.sqrt(WORK * level / squares[chosen].sum())))

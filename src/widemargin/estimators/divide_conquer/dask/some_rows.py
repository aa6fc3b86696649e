"""Rows that come here from the workers: regions to compare levels in, and lenders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.kernels import Kernel
from widemargin.estimators.divide_conquer.blockwise.survey import Survey
from widemargin.estimators.divide_conquer.evidence_rows import (
    Regions,
    Rows,
    drawn_regions,
    training_share,
)
from widemargin.estimators.divide_conquer.level_evidence import RARE
from widemargin.estimators.divide_conquer.single_class_clusters import CANDIDATES
from widemargin.multilevel.partition import Partition, divide

from .workers import Blocks

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

GATHERED = 40_000  # rows of regions that come here, at most


@dataclass(frozen=True)
class _Wanted:
    """Which rows of a block: a share of each class, in some clusters or anywhere.

    ``factors`` are those of the classes on C.
    """

    classes: NDArray[Any]
    shares: Vector
    factors: Vector
    seed: int
    partition: Partition | None = None
    chosen: Indices | None = None


def some_rows(blocks: Blocks, wanted: _Wanted) -> tuple[Rows, Indices]:
    """Return rows of all blocks that are wanted, and the cluster of each."""
    seen = blocks.each(_of_block, wanted)
    parts = [np.concatenate(column) for column in zip(*seen, strict=True)]
    return Rows(*parts[:4]), parts[4]


def of_each_class(blocks: Blocks, seen: Survey, factors: Vector, seed: int) -> Rows:
    """Return random rows of each class, of a rare one all: clusters may borrow some."""
    masses = np.maximum(np.bincount(seen.codes, minlength=len(seen.classes)), 1)
    shares = np.minimum(1.0, CANDIDATES * len(seen.codes) / (seen.n * masses))
    return some_rows(blocks, _Wanted(seen.classes, shares, factors, seed))[0]


@dataclass(frozen=True)
class RowsOnWorkers:
    """Training rows of dask blocks, of which a survey has brought some here."""

    machine: Any
    blocks: Blocks
    seen: Survey
    factors: Vector
    kernel: Kernel
    seed: int

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.blocks.n

    @property
    def sample(self) -> Rows:
        """The rows of the survey."""
        seen = self.seen
        weights = seen.weights * self.factors[seen.codes]
        return Rows(seen.rows, seen.sample, seen.codes, weights)

    def divided(self, clusters: int) -> Partition:
        """Divide the rows of the survey into this number of clusters."""
        return divide(
            self.seen.sample, self.kernel, clusters, seed=self.seed,
            clustering=self.machine.clustering, sample_size=len(self.seen.sample),
        )  # fmt: skip

    def regions(self, level: Partition, rng: np.random.Generator) -> Regions:
        """Bring the rows of some clusters here; a share of them where they are many.

        Each has the weight of all that it stands for. Of a rare class there are all, up
        to a number.
        """
        scale = self.n / len(self.seen.sample)
        sizes = np.ceil(scale * level.sizes).astype(np.intp)
        chosen = drawn_regions(sizes, rng)
        some = np.cumsum(sizes[chosen]) <= GATHERED
        chosen = chosen[: max(1, np.count_nonzero(some))]
        share = min(1.0, GATHERED / float(sizes[chosen].sum()))
        masses = np.bincount(self.seen.codes, minlength=len(self.seen.classes))
        expected = scale * np.maximum(masses, 1)
        shares = np.minimum(1.0, np.maximum(share, RARE / expected))
        wanted = _Wanted(
            self.seen.classes, shares, self.factors, self.seed, level, chosen
        )
        rows, clusters_of = some_rows(self.blocks, wanted)
        rows = rows._replace(weights=rows.weights / shares[rows.codes])
        members = [np.flatnonzero(clusters_of == number) for number in chosen]
        held = np.array([len(own) for own in members])
        every = np.arange(len(held))
        return Regions(
            rows, members, training_share(held, every, self.machine.n_branches)
        )

    def cells(self, level: Partition, rows: Rows) -> Indices:
        """Route rows to their cells."""
        return level.router.assign(rows.samples)

    def others(self, tested: Rows, size: int, rng: np.random.Generator) -> Rows:
        """Draw rows of the survey that were not compared."""
        others = np.flatnonzero(~np.isin(self.seen.rows, tested.numbers))
        size = min(size, len(others))
        return self.sample.take(np.sort(rng.choice(others, size=size, replace=False)))


def _of_block(
    X: Any, y: Any, w: Any, offset: int, wanted: _Wanted
) -> tuple[Indices, Any, Indices, Vector, Indices]:
    """Return numbers, samples, classes, weights and clusters of rows of a block."""
    X, codes = np.asarray(X), np.searchsorted(wanted.classes, np.asarray(y))
    weights = np.ones(len(codes)) if w is None else np.asarray(w, dtype=np.float64)
    draws = np.random.default_rng([wanted.seed, offset, 1]).random(len(codes))
    kept = (draws < wanted.shares[codes]) & (weights > 0)
    places = np.flatnonzero(kept)
    part, clusters = wanted.partition, np.zeros(len(places), dtype=np.intp)
    if part is not None and len(places):
        clusters = part.groups[part.router.assign(X[places])]
        assert wanted.chosen is not None
        inside = np.isin(clusters, wanted.chosen)
        places, clusters = places[inside], clusters[inside]
    own = codes[places]
    factors = weights[places] * wanted.factors[own]
    return offset + places, X[places], own, factors, clusters

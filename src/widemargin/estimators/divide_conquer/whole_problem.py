"""How much more the whole problem costs than clusters, estimated from few rows.

Each pair step of a solve updates the gradients of all rows. Their number follows that
of the support vectors, which grows as a power of the rows: the first where the classes
overlap (Steinwart 2003), a lower one where more rows find a boundary better. Some
random rows and quarters of them show the power and the steps per support vector.

In a level each row sees the steps of its own cluster only. But rows are divided,
routed and compared besides. Where steps are few, that takes as long as to solve all
rows at once, and the exact model is the better answer.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.kernels import Kernel
from widemargin.multilevel.partition import divide
from widemargin.runtime.deadline import Deadline

from .cluster_models import models_of_clusters, settings_of_parts
from .evidence_rows import RowSource

Indices = NDArray[np.intp]

ASKED = 1_000  # random rows that are solved, at once
PARTS = 4  # and in this number of parts,
FEWEST = 20  # if each class has as many: fewer say nothing about its support vectors
# Pair steps per row, for each class, that take as long as what a level does besides its
# models; and how much more than a level the exact model may cost, at first and where a
# finer level was not good enough, as the next may not be. Seen on ijcnn1 with C=32 and
# on twelve sets of generated clouds; checked on 48 others.
BESIDES = 2_500.0
WORTH = 1.5
WORTH_AGAIN = 2.0


@dataclass(frozen=True)
class SupportGrowth:
    """How many rows become support vectors: `found` of `asked`, growing by a power.

    `steps` are the pair steps that found them, in the problems of all pairs of
    `classes`.
    """

    asked: int
    found: int
    power: float
    steps: int
    classes: int
    seconds: float

    def support(self, rows: float) -> float:
        """Return the support vectors expected of this number of rows."""
        found: float = self.found * (rows / self.asked) ** self.power
        return min(rows, found)

    def cheap(self, rows: int, clusters: int, again: bool = False) -> bool:
        """Whether the whole problem costs little more than this number of clusters.

        Asked `again`, after finer ones were not good enough, it may cost more.
        """
        level = self._effort(rows / clusters) + BESIDES * self.classes
        return self._effort(rows) <= (WORTH_AGAIN if again else WORTH) * level

    def _effort(self, rows: float) -> float:
        """Return the pair steps of a problem of this size in which a row takes part."""
        of_pair = 2 / self.classes  # the share of the rows that a pair of classes has
        return of_pair * self.steps / self.found * self.support(rows)

    def record(self, size: int) -> dict[str, Any]:
        """Return it as a stage record of ``history_``."""
        return {
            "stage": "growth of support vectors",
            "size": size,
            "seconds": self.seconds,
            "objective": None,
            "gap": None,
            "rows": self.asked,
            "support_vectors": self.found,
            "power": self.power,
            "pair_steps": self.steps,
            "expected_support_vectors": round(self.support(size)),
        }


def support_growth(
    machine: Any, source: RowSource, kernel: Kernel, seed: int, deadline: Deadline
) -> SupportGrowth | None:
    """Solve some random rows, also in parts; None where they are too few.

    Parameters
    ----------
    machine : DivideConquerSVC
        Whose settings are asked about; it is cloned, with the kernel's own gamma.
    source : RowSource
        All training rows.
    kernel : Kernel
        Resolved kernel.
    seed : int
        Seed of every draw.
    deadline : Deadline
        When the fit must end.
    """
    begun, sample = time.perf_counter(), source.sample
    every = len(sample.codes)
    drawn = np.random.default_rng(seed).choice(
        every, size=min(ASKED, every), replace=False
    )
    rows = sample.take(np.sort(drawn))
    classes = np.unique(sample.codes)
    if np.bincount(rows.codes, minlength=classes[-1] + 1)[classes].min() < FEWEST:
        return None
    local = settings_of_parts(machine, kernel, seed, deadline)
    parts = divide(rows.samples, kernel, PARTS, clustering="random", seed=seed)
    whole = replace(parts, groups=np.zeros_like(parts.groups))
    models = models_of_clusters(local, *rows[1:], [whole, parts])
    if models is None:
        return None
    found, in_parts = (len(model.support_) for model in models)
    # all parts together have found * parts / parts ** power
    many = max(parts.n_clusters, 2)  # of rows that are all the same: one part
    power = 1 - np.log(in_parts / found) / np.log(many)
    return SupportGrowth(
        len(rows.codes), found, float(np.clip(power, 0.0, 1.0)),
        int(np.sum(models[0].n_iter_)), len(classes), time.perf_counter() - begun,
    )  # fmt: skip

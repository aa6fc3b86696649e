"""Fits of several classes whose pairs share rows: how many entries, how much memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernel_table import KernelTable
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import classification_problem
from widemargin.engine.problem_batches import batch_of, joined_terms
from widemargin.engine.shared_rows import row_segments
from widemargin.estimators.base.multiclass import (
    BinaryTask,
    class_pairs,
    samples_of_classes,
)
from widemargin_papers.bench.problems import Loaded, digits
from widemargin_papers.harness import datasets

Classes = tuple[Any, NDArray[np.intp], float, float]


@dataclass(frozen=True)
class Sharing:
    """What a fit of several classes took.

    Attributes
    ----------
    rows, pairs : int
        Samples, and pairs of classes.
    share_of_union : float
        Entries evaluated, over those that the support vectors of any pair have with
        the two classes of the pair, each counted once.
    megabytes, share_of_whole : float
        Memory of rows, at most, and over that of the whole matrix.
    """

    rows: int
    pairs: int
    share_of_union: float
    megabytes: float
    share_of_whole: float


def counted(
    X: Any, labels: NDArray[np.intp], C: float, gamma: float, threads: int = 1
) -> Sharing:
    """Fit all pairs of classes over shared rows, and count."""
    gram = Gram(X, Gaussian(gamma), threads=threads)
    pairs = class_pairs(int(labels.max()) + 1)
    tasks = [
        BinaryTask(gram.subset(one.rows), one.rows, one.y,
                   np.full(one.rows.size, C), *pair)
        for pair, one in zip(pairs, samples_of_classes(labels, pairs), strict=True)
    ]  # fmt: skip
    terms = joined_terms(
        [classification_problem(task.gram, task.y, task.costs) for task in tasks]
    )
    batch = None if terms is None else batch_of(tasks, terms)
    if batch is None:
        raise ValueError("These classes are no batch of problems.")
    segments = row_segments(gram.n, batch.offsets, batch.members, threads)
    table = KernelTable(gram, segments=segments)
    beta = table.solve(batch).beta
    sizes = np.bincount(labels)
    needed = np.zeros((labels.size, sizes.size), dtype=np.bool_)
    for number, pair in enumerate(pairs):
        part = batch.part(number)
        needed[np.ix_(batch.members[part][beta[part] != 0.0], pair)] = True
    whole = 4e-6 * gram.n**2
    return Sharing(
        gram.n, len(pairs), table.entries["tables"] / int((needed * sizes).sum()),
        segments.megabytes, segments.megabytes / whole,
    )  # fmt: skip


def _numbered(data: Loaded, C: float, gamma: float) -> Classes:
    X, y = data
    return X, np.unique(y, return_inverse=True)[1], C, gamma


def _digits() -> Classes:
    return _numbered(digits(), 5.0, 0.02)


def _letters() -> Classes:
    return _numbered(datasets.load_dense("letter.scale"), 10.0, 1.0)


def _cut(name: str, count: int) -> Classes:
    """10,000 rows of a regression, targets cut into classes of about the same size."""
    X, y = datasets.load_dense(name)
    X, y = datasets.subsample(datasets.standardise(X), y, 10_000)
    cuts = np.quantile(y, np.linspace(0.0, 1.0, count + 1)[1:-1])
    return np.ascontiguousarray(X), np.searchsorted(cuts, y), 10.0, 0.1


SETS: dict[str, Callable[[], Classes]] = {
    "bike, 8 parts": partial(_cut, "bike", 8),
    "kin40k, 6 parts": partial(_cut, "kin40k", 6),
    "letter": _letters,
    "mnist.t": _digits,
    "protein, 8 parts": partial(_cut, "protein", 8),
}

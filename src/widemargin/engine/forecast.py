"""Whether a problem will need few rows of its kernel matrix: a first stage tells.

Of some thousand samples the whole matrix takes longer to evaluate than all else in a
fit. A problem with few support vectors reads few of its rows, but rows evaluated one
by one take three times as long each: it has to be known before. The same problem on an
eighth of the samples takes a sixty-fourth of the entries; if few of these are support
vectors, fewer still are of all samples, and its solution is where to start.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .gram import Gram
from .kernel_table import BatchOptions, BatchSolution, KernelTable, ProblemBatch
from .shared_rows import RowSegments

Vector = NDArray[np.float64]

SAMPLES = 1000  # from which a matrix takes longer than the rows of few
EVERY = 8  # sample of the first stage
FEW = 0.125  # share of support vectors: chosen on segment0, yeast4, checked on five


def solved_by_few_rows(
    gram: Gram, batch: ProblemBatch, options: BatchOptions
) -> BatchSolution | None:
    """Solve one problem by rows evaluated as needed; None where these may be many.

    The origin must be feasible: problems with a start, or a sum of their own, are left
    to the whole matrix.
    """
    suits = batch.count == 1 and batch.kink is None and batch.second_sum is None
    if not suits or gram.n < SAMPLES or batch.members.size < gram.n:
        return None
    first = _first_stage(gram, batch, options)
    support = np.count_nonzero(first.beta)
    if not 0 < support <= FEW * first.beta.size:  # none: it has one class only
        return None
    start = np.zeros(gram.n)
    start[::EVERY] = first.beta
    one_segment = RowSegments(
        np.arange(gram.n), np.zeros(1, dtype=np.int64), gram.n, threads=1
    )
    table = KernelTable(gram, segments=one_segment)
    solved = table.solve(batch, replace(options, threads=1), start)
    return replace(solved, n_iter=solved.n_iter + first.n_iter)


def _first_stage(
    gram: Gram, batch: ProblemBatch, options: BatchOptions
) -> BatchSolution:
    """Return the solution of the problem on some of its samples, not verified."""
    some = np.arange(0, gram.n, EVERY)
    rows = batch.members[some]
    fewer = ProblemBatch(
        np.array([0, rows.size]),
        np.arange(rows.size, dtype=np.int32),
        batch.linear[some],
        batch.lower[some],
        batch.upper[some],
        batch.totals,
    )
    table = KernelTable(gram.subset(rows, known=True))
    return table.solve(fewer, replace(options, certify=False))

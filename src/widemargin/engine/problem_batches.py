"""Problems solved together over one kernel matrix: which, and how.

Problems on rows of the same samples, few rows or many problems, are one compiled call
(:mod:`widemargin.engine.kernel_table`): the class pairs of a fit, or of a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .feasible import project
from .forecast import solved_by_few_rows
from .gram import Gram
from .kernel_table import BatchOptions, BatchSolution, KernelTable, ProblemBatch
from .kernels import CallableKernel, Kernel, Linear
from .problem import Terms
from .shared_rows import grouped_rows, row_segments
from .solve import SINGLE_PRECISION

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

SMALL = 2000  # rows up to which one problem is solved over the whole matrix
SEVERAL = 4000  # and several are; with more rows they share evaluated rows,
LARGEST = 4000  # up to this many rows a problem: beyond, shrinking saves more
GROUPED = 3  # problems from which rows of the same problems are grouped,
LONG = 256  # and rows: shorter ones fit into the cache anyway


class OnRows(Protocol):
    """A problem on some rows of the samples, and where it may start."""

    @property
    def rows(self) -> Indices:
        """Which rows."""

    @property
    def start(self) -> Vector | None:
        """A point to start from; None for the origin."""


def whole_matrix(kernel: Kernel, tol: float) -> bool:
    """Whether kernel and tolerance allow a fit over the whole matrix.

    Float32 entries must suffice; a linear kernel has faster ways, and a function of the
    user's is called for the entries that a solve needs.
    """
    return not isinstance(kernel, Linear | CallableKernel) and tol >= SINGLE_PRECISION


def is_small(gram: Gram, problems: Sequence[OnRows], tol: float) -> bool:
    """Whether problems are solved together over one matrix."""
    return (
        whole_matrix(gram.kernel, tol) and _fits(gram, problems)
        and gram.single_precision_suffices and not gram.overflows
    )  # fmt: skip


def _fits(gram: Gram, problems: Sequence[OnRows]) -> bool:
    """Whether the matrix, or the part that they need at a time, is small enough."""
    if gram.n <= (SMALL if len(problems) == 1 else SEVERAL):
        return 4e-6 * gram.n * (gram.n + 16) <= gram.cache_mb
    if len(problems) < GROUPED or max(one.rows.size for one in problems) > LARGEST:
        return False
    one_at_a_time = row_segments(gram.n, *_members(problems), threads=1)
    return one_at_a_time.megabytes <= gram.cache_mb  # whatever the number of threads


def _members(problems: Sequence[OnRows]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the concatenated rows of problems, and where each begins."""
    rows = [one.rows for one in problems]
    offsets = np.array([0, *accumulate([own.size for own in rows])])
    return offsets, np.concatenate(rows, dtype=np.int32, casting="unsafe")


def joined_terms(problems: Sequence[Any]) -> Terms | None:
    """Return the concatenated terms of problems, `DualProblem` or alike.

    None where they differ in their totals, or some have a kink and others not.
    """
    if len(problems) == 1:
        [own] = problems
        return Terms(own.linear, own.lower, own.upper, own.total, own.kink)
    total, kinks = problems[0].total, [one.kink for one in problems]
    with_kink = [kink for kink in kinks if kink is not None]
    if len(with_kink) not in (0, len(kinks)):
        return None
    if any(one.total != total for one in problems):
        return None
    return Terms(
        np.concatenate([one.linear for one in problems]),
        np.concatenate([one.lower for one in problems]),
        np.concatenate([one.upper for one in problems]),
        total,
        np.concatenate(with_kink) if with_kink else None,
    )


def batch_of(problems: Sequence[OnRows], terms: Terms) -> ProblemBatch | None:
    """Batch problems on rows of one matrix, given their terms.

    None where they cannot be batched: a problem without rows, an infinite cost, or an
    origin that is not in the box.
    """
    linear, lower, upper, total, kink = terms
    totals = None if total is None else np.full(len(problems), total)
    batch = ProblemBatch(*_members(problems), linear, lower, upper, totals, kink)
    with_rows = all(one.rows.size for one in problems)
    return batch if with_rows and batch.holds_origin else None


def start_of(
    problems: Sequence[OnRows], batch: ProblemBatch, options: BatchOptions
) -> tuple[BatchOptions, Vector | None]:
    """Return the options, and the feasible points that problems start from.

    None is the origin; where that is not feasible one without a start has the same
    share of every box, from which it goes to a vertex if all are such.
    """
    cold = all(one.start is None for one in problems)
    if cold and (batch.totals is None or not any(batch.totals.tolist())):
        return options, None
    starts = np.zeros(batch.members.size)
    for number, one in enumerate(problems):
        part = batch.part(number)
        total = None if batch.totals is None else float(batch.totals[number])
        box = batch.lower[part], batch.upper[part], total
        if one.start is not None:
            starts[part] = project(one.start, *box)
        elif total:
            width = box[1] - box[0]
            starts[part] = box[0] + (total - box[0].sum()) / width.sum() * width
    return replace(options, from_vertex=cold), starts


def solve_together(
    gram: Gram, batch: ProblemBatch, options: BatchOptions, start: Vector | None
) -> BatchSolution:
    """Solve problems in one compiled call."""
    places = batch.offsets, batch.members
    if gram.n > SEVERAL:
        segments = row_segments(gram.n, *places, options.threads, gram.cache_mb)
        options = replace(options, threads=segments.threads)
        return KernelTable(gram, segments=segments).solve(batch, options, start)
    solved = solved_by_few_rows(gram, batch, options) if start is None else None
    if solved is not None:
        return solved
    grouped = batch.count >= GROUPED and gram.n >= LONG
    order = grouped_rows(gram.n, *places)[0] if grouped else None
    return KernelTable(gram, order).solve(batch, options, start)

"""A fit of few rows or many tasks: all in one compiled call, over one kernel matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.batch_certificates import certify_batch
from widemargin.engine.certificate import Certificate
from widemargin.engine.feasible import project
from widemargin.engine.gram import Gram
from widemargin.engine.kernel_table import (
    BatchOptions,
    BatchSolution,
    KernelTable,
    ProblemBatch,
)
from widemargin.engine.kernels import CallableKernel, Kernel, Linear
from widemargin.engine.problem import DualProblem, Terms
from widemargin.engine.row_segments import grouped_rows, row_segments
from widemargin.engine.solution import Solution, stage_record, summary
from widemargin.engine.solve import SINGLE_PRECISION
from widemargin.engine.status import Status

from .task import Answer, BoxTask, Task

Vector = NDArray[np.float64]

SMALL = 2000  # rows up to which one task is solved over the whole matrix
SEVERAL = 4000  # and several tasks are; with more rows they share evaluated rows,
LARGEST = 4000  # up to this many rows per task: beyond, shrinking saves more
GROUPED = 3  # tasks from which rows of the same tasks are grouped,
LONG = 256  # and rows: shorter ones fit into the cache anyway


@dataclass(frozen=True, eq=False)
class BatchAnswer:
    """The answer of a task that was solved with others; see ``task.Answer``."""

    beta: Vector
    intercept: float
    n_iter: int
    status: Status
    certificate: Certificate
    converged: bool = True  # others are solved alone


def whole_matrix(kernel: Kernel, tol: float) -> bool:
    """Whether kernel and tolerance allow a fit over the whole matrix.

    Float32 entries must suffice; a linear kernel has faster ways, and a function of the
    user's is called for the entries that a solve needs.
    """
    return not isinstance(kernel, Linear | CallableKernel) and tol >= SINGLE_PRECISION


def is_small(gram: Gram, tasks: Sequence[Task], tol: float) -> bool:
    """Whether the tasks of a fit are solved together over one matrix."""
    return (
        whole_matrix(gram.kernel, tol) and _fits(gram, tasks)
        and gram.single_precision_suffices and not gram.overflows
    )  # fmt: skip


def _fits(gram: Gram, tasks: Sequence[Task]) -> bool:
    """Whether the matrix, or the part that tasks need at a time, is small enough."""
    if gram.n <= (SMALL if len(tasks) == 1 else SEVERAL):
        return 4e-6 * gram.n * (gram.n + 16) <= gram.cache_mb
    if len(tasks) < GROUPED or max(task.rows.size for task in tasks) > LARGEST:
        return False
    offsets, members = _members(tasks)
    return (
        row_segments(gram.n, offsets, members, gram.threads).megabytes <= gram.cache_mb
    )


def _members(tasks: Sequence[Task]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the concatenated rows of tasks, and where each task begins."""
    offsets = np.array([0, *accumulate(task.rows.size for task in tasks)])
    rows = [task.rows for task in tasks]
    return offsets, np.concatenate(rows, dtype=np.int32, casting="unsafe")


def joined_terms(problems: Sequence[DualProblem | BoxTask]) -> Terms | None:
    """Return the concatenated terms of problems, and their total.

    None where they differ in their totals, or some have a kink and others not.
    """
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


def batch_of(tasks: Sequence[Task], terms: Terms) -> ProblemBatch | None:
    """Batch the problems of tasks on rows of one matrix, given their terms.

    None where they cannot be batched: a task without rows, an infinite cost, or an
    origin that is not in the box.
    """
    linear, lower, upper, total, kink = terms
    offsets, members = _members(tasks)
    within = lower.max(initial=0.0) <= 0.0 <= upper.min(initial=0.0)
    finite = math.isfinite(lower.sum() + upper.sum())
    if not (all(task.rows.size for task in tasks) and within and finite):
        return None
    return ProblemBatch(
        offsets,
        members,
        linear,
        lower,
        upper,
        None if total is None else np.full(len(tasks), total),
        kink,
    )


def start_of(
    tasks: Sequence[Task], batch: ProblemBatch, options: BatchOptions
) -> tuple[BatchOptions, Vector | None]:
    """Return the options, and the feasible points that tasks start from.

    None is the origin; where that is not feasible a task without a start has the same
    share of every box, from which it goes to a vertex if all are such.
    """
    cold = all(task.start is None for task in tasks)
    if cold and (batch.totals is None or not batch.totals.any()):
        return options, None
    starts = np.zeros(batch.members.size)
    for number, task in enumerate(tasks):
        part = batch.part(number)
        total = None if batch.totals is None else float(batch.totals[number])
        box = batch.lower[part], batch.upper[part], total
        if task.start is not None:
            starts[part] = project(task.start, *box)
        elif total:
            width = box[1] - box[0]
            starts[part] = box[0] + (total - box[0].sum()) / width.sum() * width
    return replace(options, from_vertex=cold), starts


def solve_together(
    gram: Gram, batch: ProblemBatch, options: BatchOptions, start: Vector | None
) -> BatchSolution:
    """Solve all problems of a fit."""
    places = batch.offsets, batch.members
    if gram.n > SEVERAL:
        segments = row_segments(gram.n, *places, options.threads)
        return KernelTable(gram, segments=segments).solve(batch, options, start)
    grouped = batch.count >= GROUPED and gram.n >= LONG
    order = grouped_rows(gram.n, *places)[0] if grouped else None
    return KernelTable(gram, order).solve(batch, options, start)


def answers_together(
    gram: Gram, batch: ProblemBatch, tasks: Sequence[Task], options: BatchOptions
) -> list[Any]:
    """Solve all problems of a fit; None, with a start, for those left unsolved."""
    solved = solve_together(gram, batch, *start_of(tasks, batch, options))
    answers = answers_of(solved, tasks, keep=options.every_value)
    for number, (task, answer) in enumerate(zip(tasks, answers, strict=True)):
        if answer is None:
            task.start = solved.beta[batch.part(number)]
    return answers


def answers_of(
    solved: BatchSolution, tasks: Sequence[Task], *, keep: bool
) -> list[Any]:
    """Return the answers of the tasks, each recorded; None where one is open.

    Open are tasks that float32 entries, or 100 steps per row, did not solve.
    With `keep` they are whole solutions, from which exact updates can start.
    """
    if not all(status.solved for status in solved.status):
        return [
            _alone(solved.solution(number), task)
            if status.solved or status == Status.MAX_TIME
            else None
            for number, (status, task) in enumerate(
                zip(solved.status, tasks, strict=True)
            )
        ]
    intercepts, certificates = certify_batch(solved)
    answers: list[Any] = []
    for number, task in enumerate(tasks):
        certificate, n_iter = certificates[number], int(solved.n_iter[number])
        beta = solved.beta[solved.batch.part(number)]
        answer = BatchAnswer(
            beta, intercepts[number], n_iter, solved.status[number], certificate
        )
        task.history.append(batch_record(answer))
        answers.append(
            solved.solution(number).knowing(intercepts[number], certificate) if keep
            else answer
        )  # fmt: skip
    return answers


def batch_record(answer: Answer) -> dict[str, Any]:
    """Return the stage record of a task that was solved with others."""
    certificate, beta = answer.certificate, answer.beta
    return stage_record(
        "solve", beta.size, certificate.seconds, [certificate],
        kkt_violation=certificate.kkt_violation, n_iter=answer.n_iter,
        n_support=int(np.count_nonzero(beta)), status=certificate.status,
    )  # fmt: skip


def _alone(solution: Solution, task: Task) -> Solution:
    task.history.append(summary(solution.verified(), "solve"))
    return solution.verified()

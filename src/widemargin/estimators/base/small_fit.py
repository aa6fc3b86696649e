"""A fit of few rows or many tasks: all in one compiled call, over one kernel matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.batch_certificates import certify_batch
from widemargin.engine.certificate import Certificate
from widemargin.engine.gram import Gram
from widemargin.engine.kernel_table import BatchOptions, BatchSolution, ProblemBatch
from widemargin.engine.problem_batches import solve_together, start_of
from widemargin.engine.solution import Solution, solve_record, summary
from widemargin.engine.status import Status

from .task import Answer, Task

Vector = NDArray[np.float64]


class BatchAnswer(NamedTuple):
    """The answer of a task that was solved with others; see ``task.Answer``."""

    beta: Vector
    intercept: float
    n_iter: int
    status: Status
    certificate: Certificate
    converged: bool = True  # others are solved alone


def answers_together(
    gram: Gram,
    batch: ProblemBatch,
    tasks: Sequence[Task],
    options: BatchOptions,
    *,
    keep: bool,
    record: bool = True,
) -> list[Any]:
    """Solve all problems of a fit; None, with a start, for those left unsolved.

    `keep` and `record` are those of :func:`answers_of`.
    """
    solved = solve_together(gram, batch, *start_of(tasks, batch, options))
    answers = answers_of(solved, tasks, keep=keep, record=record)
    for number, (task, answer) in enumerate(zip(tasks, answers, strict=True)):
        if answer is None:
            task.start = solved.beta[batch.part(number)]
    return answers


def answers_of(
    solved: BatchSolution, tasks: Sequence[Task], *, keep: bool, record: bool
) -> list[Any]:
    """Return the answers of the tasks; None where one is open.

    Open are tasks that float32 entries, or 100 steps per row, did not solve.
    With `keep` they are whole solutions, from which exact updates can start; with
    `record` each solve is entered in the history of its task.
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
    for number, (task, part) in enumerate(
        zip(tasks, solved.batch.parts(), strict=True)
    ):
        certificate = certificates[number]
        answer = BatchAnswer(
            solved.beta[part], intercepts[number], certificate.n_iter,
            solved.status[number], certificate,
        )  # fmt: skip
        if record:
            task.history.append(batch_record(answer))
        answers.append(
            solved.solution(number).knowing(answer.intercept, answer.certificate)
            if keep else answer
        )  # fmt: skip
    return answers


def batch_record(answer: Answer) -> dict[str, Any]:
    """Return the stage record of a task that was solved with others."""
    certificate, beta = answer.certificate, answer.beta
    return solve_record(
        "solve", beta.size, certificate.seconds, certificate, answer.n_iter,
        int(np.count_nonzero(beta)), certificate.status,
    )  # fmt: skip


def _alone(solution: Solution, task: Task) -> Solution:
    task.history.append(summary(solution.verified(), "solve"))
    return solution.verified()

"""How NuSVC and NuSVR solve their tasks: a second sum, and its multiplier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from widemargin.engine.gram import Gram
from widemargin.engine.nu import (
    NuAnswer,
    NuProblem,
    NuSolution,
    nu_answers,
    nu_batch,
    solve_nu,
)
from widemargin.engine.problem import DualProblem
from widemargin.engine.problem_batches import is_small, solve_together
from widemargin.engine.solution import Solution, summary
from widemargin.engine.solve_options import SolveOptions

from .kernel_machine import KernelMachine
from .small_fit import batch_record
from .task import Task


def solve_nu_task(
    machine: KernelMachine[Any, Any],
    task: Task,
    origin: NuProblem,
) -> NuSolution:
    """Solve a task by the machine's own solver at each multiplier; record it."""

    def at_multiplier(
        problem: DualProblem, options: SolveOptions, start: Any
    ) -> Solution:
        return machine._solve(problem, options, start, task.history.append)

    options = machine._solve_options(origin.gram.n, task)
    found = solve_nu(
        origin, options, solver=at_multiplier, start=task.start,
        divided=machine.solver == "divide",
        record=task.history.append,
    )  # fmt: skip
    task.history.append(summary(cast(Solution, found), "finish"))  # has all it reads
    return found


def solve_nu_tasks(
    machine: KernelMachine[Any, Any],
    gram: Gram,
    tasks: Sequence[Task],
    origins: Sequence[NuProblem],
) -> tuple[list[Any], bool]:
    """Solve small tasks in compiled calls, and those left unsolved one by one.

    Return the answers, and False where Ctrl-C cut them short.
    """
    answers: list[Any] = [None] * len(tasks)
    warm = any(task.start is not None for task in tasks)
    if origins[0].fit_intercept and machine._may_solve_together() and not warm:
        answers = _solve_small_tasks(machine, gram, tasks, origins)
    return machine._solve_open(tasks, answers)


def _solve_small_tasks(
    machine: KernelMachine[Any, Any],
    gram: Gram,
    tasks: Sequence[Task],
    origins: Sequence[NuProblem],
) -> list[NuAnswer | NuSolution | None]:
    """Solve tasks on few rows, all over one matrix or each over its own.

    None where a task is left unsolved.
    """
    groups, whole = [range(len(tasks))], is_small(gram, tasks, machine.tol)
    if not whole:
        groups = [range(number, number + 1) for number in range(len(tasks))]
    options = machine._batch_options(
        tasks[0].deadline, gram.threads, from_vertex=origins[0].has_margin
    )
    answers: list[NuAnswer | NuSolution | None] = []
    for group in groups:
        own, rows = gram, [tasks[number].rows for number in group]
        part = origins[group.start : group.stop]
        small = whole
        if not whole:
            own = tasks[group[0]].gram
            rows = [np.arange(own.n)]
            small = is_small(own, tasks[group.start : group.stop], machine.tol)
        batch = nu_batch(rows, part) if small else None
        if batch is None:
            answers += [None] * len(group)
            continue
        solved = solve_together(own, batch[0], options, batch[1])
        answers += nu_answers(solved, part, machine.tol)
    for task, answer in zip(tasks, answers, strict=True):
        if answer is not None:
            task.history.append(batch_record(answer))
    return answers

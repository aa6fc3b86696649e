"""How NuSVC and NuSVR solve their tasks: a second sum, and its multiplier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from widemargin.engine.gram import Gram
from widemargin.engine.nu import NuProblem, NuSolution, nu_answers, nu_batch, solve_nu
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution, summary
from widemargin.engine.solve_options import SolveOptions

from .machine import KernelMachine
from .small_fit import is_small, solve_together
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


def solve_small_tasks(
    machine: KernelMachine[Any, Any],
    gram: Gram,
    tasks: Sequence[Task],
    origins: Sequence[NuProblem],
) -> list[NuSolution | None]:
    """Solve nu-SVC tasks on few rows, all over one matrix or each over its own.

    None where a task is left open.
    """
    groups, whole = [range(len(tasks))], is_small(gram, tasks, machine.tol)
    if not whole:
        groups = [range(number, number + 1) for number in range(len(tasks))]
    options = machine._batch_options(tasks[0].deadline, gram.threads)
    options = replace(options, from_vertex=True)
    answers: list[NuSolution | None] = []
    for group in groups:
        own, rows = gram, [tasks[number].rows for number in group]
        if not whole:
            own = tasks[group[0]].gram
            rows = [np.arange(own.n)]
            if not is_small(own, tasks[group.start : group.stop], machine.tol):
                answers.append(None)
                continue
        part = origins[group.start : group.stop]
        batch, start = nu_batch(rows, part)
        solved = solve_together(own, batch, options, start)
        answers += nu_answers(solved, part, machine.tol)
    for task, answer in zip(tasks, answers, strict=True):
        if answer is not None:
            task.history.append(summary(cast(Solution, answer), "solve"))
    return answers

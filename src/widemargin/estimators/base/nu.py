"""How NuSVC and NuSVR solve a task: the search for the multiplier of a second sum."""

from __future__ import annotations

from typing import Any, cast

from widemargin.engine.nu import NuProblem, NuSolution, solve_nu
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution, summary
from widemargin.engine.solve_options import SolveOptions

from .machine import KernelMachine
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
        record=task.history.append,
    )  # fmt: skip
    task.history.append(summary(cast(Solution, found), "finish"))  # has all it reads
    return found

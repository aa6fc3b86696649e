"""Tasks over the same rows that begin at vertices, and share what they evaluate.

Starts and proofs of all tasks evaluate each kernel entry once
(:mod:`widemargin.engine.vertex_starts`, :mod:`widemargin.engine.shared_proof`); in
between each task is solved by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.feasible import feasible, project
from widemargin.engine.gram import Gram
from widemargin.engine.problem import DualProblem
from widemargin.engine.shared_proof import proved_together
from widemargin.engine.solution import summary
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.vertex_starts import known_starts, products_pay, vertex_starts

from .task import BoxTask

Vector = NDArray[np.float64]


def begin_at_vertices(tasks: Sequence[BoxTask]) -> None:
    """Give tasks over one Gram matrix a vertex to start from, where that pays.

    Several of them leave their proof to :func:`prove`.
    """
    if any(task.begin is not None for task in tasks):
        return
    problems = [task.problem() for task in tasks]
    starts = vertex_starts(problems, tasks[0].seed, tasks[0].deadline)
    for task, start in zip(tasks, starts or (), strict=False):
        task.vertex, task.proved_later = start, len(tasks) > 1


def begin_near(tasks: Sequence[BoxTask], betas: Sequence[Vector]) -> None:
    """Give tasks over one Gram matrix feasible points near these."""
    problems = [task.problem() for task in tasks]
    points = [_feasible(one, beta) for one, beta in zip(problems, betas, strict=True)]
    if not products_pay(tasks[0].gram):
        for task, point in zip(tasks, points, strict=True):
            task.start = point
        return
    for task, start in zip(tasks, known_starts(problems, points), strict=True):
        task.vertex, task.proved_later = start, len(tasks) > 1


def _feasible(problem: DualProblem, beta: Vector) -> Vector:
    """Return a feasible point whose members at a bound stay there, if there is one."""
    free = problem.free(beta)
    if problem.total is None or not free.any():
        return feasible(beta, problem)
    lower, upper = problem.lower[free], problem.upper[free]
    rest = problem.total - float(beta[~free].sum())
    if not lower.sum() < rest < upper.sum():
        return feasible(beta, problem)
    point = beta.copy()
    point[free] = project(beta[free], lower, upper, rest)
    return point


def prove(
    gram: Gram, tasks: Sequence[BoxTask], solutions: list[Any], options: SolveOptions
) -> list[Any]:
    """Return the verified solutions of tasks over the rows of ``gram``."""
    if not all(task.proved_later for task in tasks):
        return solutions
    proved = proved_together(gram, solutions, options)
    for task, solution in zip(tasks, proved, strict=True):
        task.solution = solution
        task.history[-1] = summary(solution, task.history[-1]["stage"])
    return proved

"""Tasks over the same rows that begin at vertices, and share what they evaluate.

Starts and proofs of all tasks evaluate each kernel entry once
(:mod:`widemargin.engine.vertex_starts`, :mod:`widemargin.engine.shared_proof`); in
between each task is solved by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from widemargin.engine.gram import Gram
from widemargin.engine.shared_proof import proved_together
from widemargin.engine.solution import summary
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.vertex_starts import vertex_starts

from .task import BoxTask


def begin_at_vertices(tasks: Sequence[BoxTask]) -> None:
    """Give tasks over one Gram matrix a vertex to start from, where that pays.

    Several of them leave their proof to :func:`prove`.
    """
    if any(task.start is not None for task in tasks):
        return
    problems = [task.problem() for task in tasks]
    starts = vertex_starts(problems, tasks[0].seed, tasks[0].deadline)
    for task, start in zip(tasks, starts or (), strict=False):
        task.vertex, task.proved_later = start, len(tasks) > 1


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

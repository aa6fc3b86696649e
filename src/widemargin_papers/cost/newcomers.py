"""What a chunk could save if it knew the end of its path.

A newcomer that the old model gets wrong sets out from zero; where the others of its
chunk put it right it comes back, two events for nothing. Counted here is how many do,
and how many steps are left to a chunk with foresight, which leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from statistics import median

import numpy as np
from numpy.typing import NDArray

from widemargin.engine import updates
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin_papers.harness.cells import Cell, Task, row_cells

from . import printed
from .printed import CHUNK, KERNELS, ROWS, problem

TABLE = "Newcomers"
SIZES = (250, 500, 1000, 2000)
TRIALS = 10
COLUMNS = ("chunks", "two or more set out", "set out", "come back", "chunk",
           "with foresight")  # fmt: skip
TIE = 1e-11  # a gradient this small is rounding


def newcomer_tasks() -> list[Task]:
    """Return one task per data set."""
    count = len(COLUMNS) + 1
    return [
        Task(f"{TABLE}, {name}", partial(newcomer_cells, name), (name,), TABLE, count)
        for name in ROWS
    ]


def newcomer_cells(name: str) -> Iterable[Cell]:
    """Yield how many newcomers set out and come back, and the steps without these."""
    cells = [
        np.array([_draw(name, trial, kernel, size) for trial in range(TRIALS)])
        for size in SIZES
        if size + CHUNK <= ROWS[name]
        for kernel in KERNELS.values()
    ]
    draws = np.concatenate(cells)
    found = (
        len(draws),
        np.count_nonzero(draws[:, 0] > 1),
        *draws[:, :2].sum(axis=0),
        median(float(own[:, 2].mean()) for own in cells),
        median(float(own[:, 3].mean()) for own in cells),
    )
    figures = map(float, found)
    yield from row_cells(TABLE, name, dict(zip(COLUMNS, figures, strict=True)))
    worst = float(draws[:, 4].max())
    yield Cell("same objective", f"{name}, foresight", "largest difference, relative",
               worst, 0.0, 1e-8)  # fmt: skip


def _draw(name: str, trial: int, kernel: Kernel, size: int) -> tuple[float, ...]:
    """Return set out, come back, steps, steps with foresight, difference."""
    X, y = printed.samples(name, trial)
    base, _ = updates.fresh(problem(X, y, kernel, size))
    target = problem(X, y, kernel, size + CHUNK)
    moved, account = updates.add(base, target, updates.Aim(route="path"))
    out = sets_out(base, target)
    back = out[moved.beta[out] == 0.0]
    keep = np.delete(np.arange(size + CHUNK), back)
    fewer = problem(X[keep], y[keep], kernel, keep.size)
    same, foresight = updates.add(base, fewer, updates.Aim(route="path"))
    whole, part = moved.certificate.objective, same.certificate.objective
    difference = abs(whole - part) / max(abs(whole), 1e-300)
    return (out.size, back.size, account.steps, foresight.steps, difference)


def sets_out(base: Solution, target: DualProblem) -> NDArray[np.intp]:
    """Return the newcomers that the model before them gets wrong."""
    old = base.problem.n
    new = np.arange(old, target.n)
    beta = np.concatenate([base.beta, np.zeros(new.size)])
    values = target.gram.times(beta, indices=new)
    gradient = values + base.intercept - target.linear[new]
    wrong = np.where(target.upper[new] > 0, -gradient, gradient)
    return new[wrong > TIE * float(np.abs(target.linear).max())]

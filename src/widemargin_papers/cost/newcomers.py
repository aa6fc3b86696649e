"""What a chunk could save if it knew the end of its path.

A newcomer that the old model gets wrong sets out from zero; where the others of its
chunk put it right it comes back, two events for nothing. Counted here is how many do,
and how many steps are left to a chunk with foresight, which leaves them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from statistics import median

import numpy as np
from numpy.typing import NDArray

from widemargin.engine import updates
from widemargin.engine.kernels import Kernel
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin_papers.harness.reproduction import Cell, Task

TABLE = "Newcomers"
SIZES = (250, 500, 1000, 2000)
TRIALS = 10
CHUNK = 50
COLUMNS = ("chunks", "two or more set out", "set out", "come back", "chunk",
           "with foresight")  # fmt: skip
TIE = 1e-11  # a gradient this small is rounding

Vector = NDArray[np.float64]
Samples = Callable[[str, int], tuple[Vector, Vector]]
Problems = Callable[[Vector, Vector, Kernel, int], DualProblem]


def newcomer_tasks(
    rows: dict[str, int],
    samples: Samples,
    problem: Problems,
    kernels: dict[str, Kernel],
) -> list[Task]:
    """Return one task per data set."""
    return [
        Task(
            f"{TABLE}, {name}",
            partial(newcomer_cells, name, count, samples, problem, kernels),
            (name,),
            TABLE,
            len(COLUMNS) + 1,
        )
        for name, count in rows.items()
    ]


def newcomer_cells(
    name: str,
    count: int,
    samples: Samples,
    problem: Problems,
    kernels: dict[str, Kernel],
) -> Iterable[Cell]:
    """Yield how many newcomers set out and come back, and the steps without these."""
    sizes = [size for size in SIZES if size + CHUNK <= count]
    cells = [
        np.array([
            _draw(samples(name, trial), kernel, size, problem)
            for trial in range(TRIALS)
        ])
        for size in sizes
        for kernel in kernels.values()
    ]  # fmt: skip
    draws = np.concatenate(cells)
    found = (
        len(draws),
        np.count_nonzero(draws[:, 0] > 1),
        *draws[:, :2].sum(axis=0),
        median(float(own[:, 2].mean()) for own in cells),
        median(float(own[:, 3].mean()) for own in cells),
    )
    for column, figure in zip(COLUMNS, found, strict=True):
        yield Cell(TABLE, name, column, float(figure))
    worst = float(draws[:, 4].max())
    yield Cell("same objective", f"{name}, foresight", "largest difference, relative",
               worst, 0.0, 1e-8)  # fmt: skip


def _draw(
    data: tuple[Vector, Vector], kernel: Kernel, size: int, problem: Problems
) -> tuple[float, ...]:
    """Return set out, come back, steps, steps with foresight, difference."""
    X, y = data
    base, _ = updates.fresh(problem(X, y, kernel, size))
    target = problem(X, y, kernel, size + CHUNK)
    moved, account = updates.add(base, target, route="path")
    out = sets_out(base, target)
    back = out[moved.beta[out] == 0.0]
    keep = np.delete(np.arange(size + CHUNK), back)
    fewer = problem(X[keep], y[keep], kernel, keep.size)
    same, foresight = updates.add(base, fewer, route="path")
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

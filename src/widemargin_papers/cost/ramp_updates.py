"""Ramp-loss updates by the path and by a warm start, timed side by side.

Between two rounds of the concave-convex procedure the boxes of some samples move
(mathematics 5.4), and the path engine could follow them exactly. Timed here is the
first such update, from the plain SVM to the problem in which misclassified samples no
longer pull: along the path, by the warm start that `RampSVC` takes, to its tolerance,
and by the same start solved as exactly as the path ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from widemargin.engine import updates
from widemargin.engine.gram import Gram
from widemargin.engine.solve import solve
from widemargin.estimators.ramp.concave_convex import RampProblem, carry
from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.timing import processor_seconds
from widemargin_papers.ramp.printed import PAPERS_S

from . import printed
from .printed import KERNELS

SETS = ("svmguide3", "page-blocks0", "ijcnn1", "covtype.binary")
MOST_ROWS = 5000
REPEATS = 3
WAYS = ("path", "warm start, tol 1e-3", "warm start, exact")


def ramp_tasks() -> list[Task]:
    """Return one task per data set and kernel."""
    return [
        Task(f"Ramp update, {name}, {kernel}", partial(update_cells, name, kernel),
             (name,), "Ramp update", len(WAYS) + 2)
        for name in SETS
        for kernel in KERNELS
    ]  # fmt: skip


def update_cells(name: str, kernel: str) -> Iterable[Cell]:
    """Yield processor seconds of the three ways, path steps and clipped samples."""
    X, y = printed.samples(name, 0)
    X, y = X[:MOST_ROWS], y[:MOST_ROWS]
    gram = Gram(X, KERNELS[kernel], threads=1)
    ramp = RampProblem(gram, y, np.ones(len(y)), PAPERS_S)
    plain, _ = updates.fresh(ramp.convex(np.zeros(len(y), dtype=bool)))
    clipped = ramp.clips(plain)
    row = f"{name}, {kernel}, n={len(y)}"
    yield Cell("Ramp update", row, "clipped", float(np.count_nonzero(clipped)))
    steps = 0

    def follow() -> None:
        nonlocal steps
        _, account = updates.move(
            plain, _fresh(ramp, clipped), updates.Aim(route="path")
        )
        steps = account.steps

    def warm(exact: bool) -> None:
        start = carry(ramp, plain, clipped)
        near = solve(_fresh(ramp, clipped), start=start.beta)
        if exact:
            updates.exact(near)

    runs: list[Callable[[], None]] = [follow, partial(warm, False), partial(warm, True)]
    for way, run in zip(WAYS, runs, strict=True):
        yield Cell("Ramp update", row, way, processor_seconds(run, REPEATS)[0])
    yield Cell("Ramp update", row, "steps", float(steps))


def _fresh(ramp: RampProblem, clipped: Any) -> Any:
    """Return the next convex problem with a cache of its own: no way helps another."""
    gram = Gram(ramp.gram.samples, ramp.gram.kernel, threads=1)
    return RampProblem(gram, ramp.y, ramp.costs, ramp.s).convex(clipped)

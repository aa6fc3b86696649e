"""Figure 2 c, d, g, h: the share of the final support vectors found against time.

LIBSVM (in scikit-learn) cannot be looked at on its way: it runs once for each limit of
its pair steps, and every limit is twice the last. It has an intercept, so that all that
are compared solve the problem with one, which the paper leaves out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC as LIBSVM

from widemargin.engine.kernels import make_kernel
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.multilevel.driver import precision_recall
from widemargin.multilevel.level import Level
from widemargin_papers.harness.cells import Cell, Task, row_cells
from widemargin_papers.harness.timing import processor_seconds

from . import printed as paper
from .curves import CUBIC, SPENT, dual_problem, solved_ways
from .splits import FILES, Split, subset

TABLE = "Support vectors found, Figure 2 c, d, g, h"
FIRST_STEPS = 1000  # of LIBSVM; then twice as many, until it ends or takes
LONGEST = 10.0  # processor seconds
_C, _GAMMA = paper.PARAMETERS["covtype"]
#: title -> C, and the kernel as scikit-learn's parameters state it
KERNELS: dict[str, tuple[float, dict[str, Any]]] = {
    "RBF": (_C, {"kernel": "rbf", "gamma": _GAMMA}),
    "cubic": (CUBIC[1], {"kernel": "poly", **asdict(CUBIC[2])}),
}
DEFAULTS = {"degree": 3, "coef0": 0.0}

Support = NDArray[np.intp]
Point = tuple[str, float, Support]  # label, processor seconds, found so far


def found_tasks(quick: bool) -> list[Task]:
    """Return a task a panel: both kernels, with and without shrinking."""
    n = 1000 if quick else 10_000
    return [
        Task(
            f"Figure 2, {title} kernel, {_words(shrinking)}",
            partial(found_over_time, title, shrinking, n),
            FILES["covtype"],
            50,
        )
        for title in KERNELS
        for shrinking in (True, False)
        if not quick or title == "RBF"
    ]


def _words(shrinking: bool) -> str:
    return "with shrinking" if shrinking else "without shrinking"


def found_over_time(title: str, shrinking: bool, n: int) -> Iterable[Cell]:
    """Yield what DC's levels, the engine's tolerances and LIBSVM's steps have found."""
    data = subset("covtype", n, 10)
    C, parameters = KERNELS[title]
    kernel = make_kernel(**DEFAULTS | parameters)
    problem = partial(dual_problem, data.X, data.y, C, kernel, intercept=True)
    final = solve(problem(), SolveOptions(tol=1e-4)).support
    points: list[Point] = []

    def within(tol: float) -> SolveOptions:
        return SolveOptions(tol=tol, shrinking=shrinking)

    for label, spent, found in solved_ways(problem, within(1e-3), within):
        beta = found.betas[0] if isinstance(found, Level) else found.beta
        points.append((label, spent, np.flatnonzero(beta)))
    points += by_steps(data, C, parameters, shrinking)
    panel = f"covtype {title} {_words(shrinking)}, {n} rows"
    for label, spent, support in points:
        figures = {SPENT: spent, **precision_recall(support, final)}
        yield from row_cells(TABLE, f"{panel}, {label}", figures)


def by_steps(
    data: Split, C: float, parameters: dict[str, Any], shrinking: bool
) -> Iterator[Point]:
    """Yield the support vectors of LIBSVM after ever more pair steps."""
    steps, spent, ended = FIRST_STEPS, 0.0, False
    while not ended and spent < LONGEST:
        model = LIBSVM(
            C=C, shrinking=shrinking, cache_size=1000, max_iter=steps,
            **parameters,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            spent, _ = processor_seconds(partial(model.fit, data.X, data.y))
        ended = bool(model.fit_status_ == 0)
        label = "LIBSVM to its end" if ended else f"LIBSVM {steps} steps"
        yield label, spent, np.asarray(model.support_, dtype=np.intp)
        steps *= 2

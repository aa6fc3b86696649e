"""Solve nu-SVC and nu-SVR: the one place that chooses the method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.interrupted import Interrupted
from widemargin.engine.solve_options import SolveOptions

from .both_sums import BothSums
from .multiplier_search import Record, Search, Solver, direct, forget
from .nu_problem import NuProblem
from .nu_solution import NuInterrupted, NuSolution

Vector = NDArray[np.float64]


def solve_nu(
    origin: NuProblem,
    options: SolveOptions,
    *,
    solver: Solver | None = None,
    divided: bool = False,
    start: Vector | None = None,
    record: Record = forget,
) -> NuSolution:
    """Solve a problem with a second sum and return a point that certifies itself.

    Parameters
    ----------
    origin : NuProblem
        What to solve; feasible.
    options : SolveOptions
        Options of the whole search: the tolerance is that of the engine's problem at
        the multiplier found, steps and time are those of all solves together.
    solver : callable, optional
        Solves one of the engine's problems from a start.
    divided : bool
        Whether that solver goes by levels of clusters: it then solves the engine's
        problem at a first multiplier, on fits of any size.
    start : ndarray, optional
        Coefficients of a former model.
    record : callable
        Receives a stage record of each solve.

    Raises
    ------
    ValueError
        Where the margin of nu-SVC is zero.
    """
    way = BothSums if origin.fit_intercept else Search
    search = way(origin, options, solver or direct, record, divided=divided)
    try:
        return search.run(start)
    except Interrupted as stop:
        raise NuInterrupted(origin, search.multiplier, stop) from stop

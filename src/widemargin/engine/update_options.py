"""Options of an update: what it has to reach, and the routes it may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from widemargin.runtime.deadline import NEVER, Deadline

from .held_columns import HeldColumns
from .problem import DualProblem
from .solution import Solution
from .solve import solve
from .update_routes import CREDIT

Solver = Callable[[DualProblem, Solution | None], Solution]


def _solve(problem: DualProblem, start: Solution | None) -> Solution:
    return solve(problem, start=start)


@dataclass(frozen=True)
class UpdateOptions:
    """What an update has to reach, and the routes it may take.

    Attributes
    ----------
    solver : callable
        ``solver(problem, start)``: a solve as a fit does it, from a former point or,
        with None, from nothing.
    polishes : bool
        Whether that ends exactly, as a path does.
    exact : bool
        Whether a solve that ended at its tolerance is carried on to the exact solution.
    warm : bool
        Whether a solve may begin at the former point: it may leave a trace of rows that
        are gone within the tolerance.
    compiled : bool
        Whether a solve from nothing is one compiled call, as of fits on few rows.
    route : {"auto", "path"}
        "auto" takes the least work by estimate.
    deadline : Deadline
        Past it the update raises.
    seed : int
        For the random perturbation that breaks ties.
    columns : HeldColumns or None
        What former paths have left of the kernel; it goes over to the target.
    to_come : float
        Share of the next updates that will move something, where another came before,
        as in a stream; 0 where none is expected.
    credit : float
        Refits that a path may cost beyond its own (:func:`.update_routes.credit_left`).
    """

    solver: Solver = _solve
    polishes: bool = False
    exact: bool = True
    warm: bool = True
    compiled: bool = False
    route: str = "auto"
    deadline: Deadline = NEVER
    seed: int = 0
    columns: HeldColumns | None = None
    to_come: float = 0.0
    credit: float = CREDIT


EXACTLY = UpdateOptions()

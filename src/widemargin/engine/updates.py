"""Move a solved problem exactly: new bounds, linear term, total, or members.

A sample is added as a box that opens from a point, removed as one that closes,
re-priced as one that changes width: each is a path of :mod:`widemargin.engine.path`.
Where a warm-started solve and a repair is less work, or the path gives up, that is
taken; the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.engine import path
from widemargin.engine.gram import Gram
from widemargin.engine.path import PathAccount, Start, independent, moving
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status

__all__ = ["NEW", "PathAccount", "add", "change", "exact", "fresh", "move", "remove"]

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

NEW = -1  # the origin of a variable that has none


def move(
    solution: Solution, target: DualProblem, *, route: str = "auto", seed: int = 0
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target`` from that of a problem on the same samples.

    Parameters
    ----------
    solution : Solution
        Solution of a problem over ``target.gram``; the better it is, the shorter the
        repair at the end, but any feasible point will do.
    target : DualProblem
        Other bounds, linear term or total.
    route : {"auto", "path"}
        "auto" takes a warm-started solve and repair where that is less work than the
        path; the result is the same.
    seed : int
        For the random perturbation that breaks ties.
    """
    return change(solution, np.arange(target.n), target, route=route, seed=seed)


def add(
    solution: Solution, target: DualProblem, *, route: str = "auto", seed: int = 0
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target``, whose first rows are those of ``solution``.

    The further rows enter together: their boxes open from the point 0 (3.2).
    """
    origin = np.full(target.n, NEW)
    origin[: solution.problem.n] = np.arange(solution.problem.n)
    return change(solution, origin, target, route=route, seed=seed)


def remove(
    solution: Solution,
    keep: Indices,
    target: DualProblem,
    *,
    route: str = "auto",
    seed: int = 0,
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target``, which is on the rows ``keep`` of ``solution``.

    The other rows leave together, each straight to 0 whatever its gradient (3.2).
    """

    def with_leavers(leavers: Indices) -> Gram:
        return solution.problem.gram.subset(np.concatenate([keep, leavers]))

    return change(solution, keep, target, with_leavers, route=route, seed=seed)


def change(
    solution: Solution,
    origin: Indices,
    target: DualProblem,
    with_leavers: Callable[[Indices], Gram] | None = None,
    *,
    route: str = "auto",
    seed: int = 0,
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target``: rows enter, leave and are re-priced at once.

    Parameters
    ----------
    solution : Solution
        The former solution.
    origin : ndarray of int
        For every variable of ``target`` its place in ``solution``; ``NEW`` for one that
        enters, whose box opens from the point 0 (3.2). Variables of
        ``solution`` that are no origin leave, each straight to 0 whatever its gradient.
    target : DualProblem
        Over the rows that stay and those that enter.
    with_leavers : callable
        Returns the kernel handle over the variables of ``target`` followed by the given
        variables of ``solution``. Not needed where none leaves.
    route, seed
        As in :func:`move`.
    """
    only = path.only_solution(target)
    if only is not None:
        return only, PathAccount(route="direct")
    solution = independent(path.accurate(solution), seed=seed)
    old, beta = solution.problem, solution.beta
    leaves = beta != 0.0  # one at 0 has left already
    leaves[origin[origin != NEW]] = False
    leavers = np.flatnonzero(leaves)
    wide = target
    if leavers.size:
        assert with_leavers is not None
        closed = np.zeros(leavers.size)
        wide = DualProblem(
            with_leavers(leavers),
            np.concatenate([target.linear, old.linear[leavers]]),
            np.concatenate([target.lower, closed]),
            np.concatenate([target.upper, closed]),
            target.total,
        )
    start = _start(solution, np.concatenate([origin, leavers]), wide)
    moved, account = _reach(start, wide, route, seed)
    return (_restricted(moved, target) if leavers.size else moved), account


def _start(solution: Solution, origin: Indices, wide: DualProblem) -> Start:
    """Return a solution over other variables; those that enter begin at 0."""
    enters = origin == NEW
    newcomers = np.flatnonzero(enters)
    stays = np.where(enters, 0, origin)

    def brought(array: Vector) -> Vector:
        return np.where(enters, 0.0, array[stays])

    old = solution.problem
    if old.n == 0:
        zeros = np.zeros(wide.n)
        return Start(zeros, zeros, zeros, zeros, wide.linear, solution.intercept)
    beta, values = brought(solution.beta), brought(solution.values)
    if newcomers.size:
        values[newcomers] = wide.gram.times(beta, indices=newcomers)
    linear = np.where(enters, wide.linear, old.linear[stays])
    box = brought(old.lower), brought(old.upper)
    return Start(beta, values, *box, linear, solution.intercept)


def _restricted(moved: Solution, target: DualProblem) -> Solution:
    """Return the solution without the variables at its end, which are 0 now."""
    n = target.n
    return Solution(
        target, moved.beta[:n], moved.values[:n], moved.status, moved.n_iter,
        moved.seconds, exact=moved.exact,
    )  # fmt: skip


def exact(solution: Solution, *, seed: int = 0) -> tuple[Solution, PathAccount]:
    """Return the exact solution near an approximate one (the repair of 3.2, case 5)."""
    return _or_solved(solution.problem, *path.repair(solution, seed=seed))


def fresh(
    problem: DualProblem,
    solver: Callable[[DualProblem], Solution] = solve,
    *,
    convex: bool = True,
    seed: int = 0,
) -> tuple[Solution, PathAccount]:
    """Return the exact solution of a problem that has no former one.

    ``solver`` comes near, the repair does the rest. Without ``convex`` (a kernel that
    is not positive definite) there is no path, and what the solver found stands.
    """
    only = path.only_solution(problem)
    if only is not None:
        return only, PathAccount(route="direct")
    solved = solver(problem)
    if convex and solved.status == Status.CONVERGED:
        return exact(solved, seed=seed)
    return solved, PathAccount(route="solve")


def _solve_is_cheaper(start: Start, target: DualProblem) -> bool:
    """Whether a warm-started solve and repair will take less work than the path.

    Seconds on one core; only their ratio matters. The solve pays for the rows of its
    support vectors. The result is the same either way.
    """
    dragged, margin = moving(start, target)
    support = int(np.count_nonzero(start.beta)) + dragged
    cost = 5e-3 + 1.7e-8 * target.n * support + 2e-10 * (margin + 10) ** 3
    return path.path_seconds(target.n, dragged, margin) > cost


def _reach(
    start: Start, target: DualProblem, route: str, seed: int
) -> tuple[Solution, PathAccount]:
    """Follow the path, or solve where that is cheaper or the path gave up."""
    long = not path.at_its_end(start, target)
    if route == "auto" and long and _solve_is_cheaper(start, target):
        solution, account = exact(solve(target, start=start.beta), seed=seed)
        return solution, replace(account, route="solve")
    return _or_solved(target, *path.reach(start, target, seed=seed))


def _or_solved(
    target: DualProblem, reached: Solution | None, beta: Vector, account: PathAccount
) -> tuple[Solution, PathAccount]:
    if reached is not None:
        return reached, account
    solved = solve(target, SolveOptions(exact=True), start=beta)
    return solved, replace(account, route="solve")

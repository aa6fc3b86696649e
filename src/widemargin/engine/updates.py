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
from widemargin.engine.path import PathAccount, Start, independent, moving
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status

__all__ = ["PathAccount", "add", "exact", "fresh", "move", "remove"]

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


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
    solution = independent(path.accurate(solution), seed=seed)
    return _reach(Start.of(solution), target, route, seed)


def add(
    solution: Solution, target: DualProblem, *, route: str = "auto", seed: int = 0
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target``, whose first rows are those of ``solution``.

    The further rows enter together: their boxes open from the point 0 (3.2).
    """
    solution = independent(path.accurate(solution), seed=seed)
    origin, old = solution.problem, solution.problem.n
    fresh = target.n - old
    newcomers = np.arange(old, target.n)
    beta = np.concatenate([solution.beta, np.zeros(fresh)])
    joined = target.gram.times(beta, indices=newcomers) if fresh else np.zeros(0)
    start = Start(
        beta=beta,
        values=np.concatenate([solution.values, joined]),
        lower=np.concatenate([origin.lower, np.zeros(fresh)]),
        upper=np.concatenate([origin.upper, np.zeros(fresh)]),
        linear=np.concatenate([origin.linear, target.linear[old:]]),
        intercept=solution.intercept,
    )
    return _reach(start, target, route, seed)


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
    solution = independent(path.accurate(solution), seed=seed)
    origin = solution.problem
    leaving = np.ones(origin.n, dtype=bool)
    leaving[keep] = False
    leavers = np.flatnonzero(leaving)
    if not solution.beta[leavers].any():
        values = solution.values[keep]
        start = Start(
            beta=solution.beta[keep],
            values=values,
            lower=origin.lower[keep],
            upper=origin.upper[keep],
            linear=origin.linear[keep],
            intercept=solution.intercept,
        )
        return _reach(start, target, route, seed)
    only = path.only_solution(target)
    if only is not None:
        return only, PathAccount(route="direct")
    lower, upper = np.zeros(origin.n), np.zeros(origin.n)
    linear = origin.linear.copy()
    lower[keep], upper[keep], linear[keep] = target.lower, target.upper, target.linear
    wide = DualProblem(origin.gram, linear, lower, upper, target.total)
    moved, account = _reach(Start.of(solution), wide, route, seed)
    beta, values = moved.beta[keep], moved.values[keep]
    stays = Solution(
        target,
        beta,
        values,
        moved.status,
        moved.n_iter,
        moved.seconds,
        exact=moved.exact,
    )
    return stays, account


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

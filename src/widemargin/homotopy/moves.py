"""Move a solved problem exactly: new bounds, linear term, total, or members.

    minimise    1/2 beta' K beta - linear' beta
    subject to  lower <= beta <= upper,   and, with an intercept, sum(beta) = total

When bounds, linear term and total move together, linearly in eta from a solved problem
to a wanted one, the solution moves piecewise linearly (mathematics 0.4). The compiled
engine follows the pieces; this module decides which rows it has to watch, certifies the
end on *all* rows, and repairs what was not watched. A sample is added as a box that
opens from a point, removed as one that closes, re-priced as one that changes width.

Memory is rows x margin set for the watched rows, plus vectors: never rows x rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..certificate import kkt_violation, optimal_intercept
from ..polish import polish
from ..problem import DualProblem
from ..solution import Solution
from ..solve import solve
from .follow import WATCH_ALL_BELOW, PathAccount, Start, follow, moving
from .independent import independent

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

REPAIRS = 6  # rounds before the path gives up and a solve takes over
EXACT = 1e-10  # KKT violation, per unit of the linear term, called exact


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
    solution = independent(_accurate(solution), seed=seed)
    origin = solution.problem
    start = Start(
        beta=solution.beta,
        values=solution.values,
        lower=origin.lower,
        upper=origin.upper,
        linear=origin.linear,
        intercept=solution.intercept,
    )
    return _reach(start, target, route, seed)


def add(
    solution: Solution, target: DualProblem, *, route: str = "auto", seed: int = 0
) -> tuple[Solution, PathAccount]:
    """Return the solution of ``target``, whose first rows are those of ``solution``.

    The further rows enter together: their boxes open from the point 0 (3.2).
    """
    solution = independent(_accurate(solution), seed=seed)
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
    begun = time.perf_counter()
    solution = independent(_accurate(solution), seed=seed)
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
    only = _only_point(target)
    if only is not None:
        return _direct(only, target, begun)
    lower, upper = np.zeros(origin.n), np.zeros(origin.n)
    linear = origin.linear.copy()
    lower[keep], upper[keep], linear[keep] = target.lower, target.upper, target.linear
    wide = DualProblem(origin.gram, linear, lower, upper, target.total)
    start = Start(
        beta=solution.beta,
        values=solution.values,
        lower=origin.lower,
        upper=origin.upper,
        linear=origin.linear,
        intercept=solution.intercept,
    )
    moved, account = _reach(start, wide, route, seed)
    return (
        _certified(target, moved.beta[keep], moved.values[keep], account, begun),
        account,
    )


def exact(solution: Solution, *, seed: int = 0) -> tuple[Solution, PathAccount]:
    """Return the exact solution near an approximate one (the repair of 3.2, case 5).

    Where the kernel has few dimensions thousands of rows may tie on the margin; their
    dependence is removed and the small rest polished first, the path does what is left.
    """
    accurate = _accurate(solution)
    spared = independent(accurate, seed=seed)
    near = spared if spared is accurate else polish(spared, tol=0.0)
    return move(near, solution.problem, route="path", seed=seed)


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
    only = _only_point(problem)
    if only is not None:
        return _direct(only, problem, time.perf_counter())
    solved = solver(problem)
    if convex and solved.status == "converged":
        return exact(solved, seed=seed)
    return solved, PathAccount(route="solve")


def _accurate(solution: Solution) -> Solution:
    """Recompute K beta in float64 unless it is: a solve to ``tol`` may use float32."""
    current = solution.exact and solution.stale is None
    return solution if current else solution.recomputed()


def _intercept(values: Vector, problem: DualProblem) -> float:
    return optimal_intercept(
        values, problem.linear, problem.lower, problem.upper, problem.total
    )


def _solves(beta: Vector, values: Vector, problem: DualProblem) -> bool:
    """Whether a point is feasible and violates the KKT conditions by rounding only."""
    if (beta < problem.lower).any() or (beta > problem.upper).any():
        return False
    has_equality = problem.total is not None
    if has_equality:
        short = abs(float(beta.sum()) - float(problem.total or 0.0))
        if short > 1e-13 * max(float(np.abs(beta).sum()), 1e-300):
            return False
    gradient = values - problem.linear
    worst = kkt_violation(beta, gradient, problem.lower, problem.upper, has_equality)
    return worst <= EXACT * float(np.abs(problem.linear).max(initial=0.0))


def _solve_is_cheaper(start: Start, target: DualProblem) -> bool:
    """Whether a warm-started solve and repair will take less work than the path.

    Seconds on one core, fitted to a dozen moves of 50 to 8,000 rows on covtype, ijcnn1
    and svmguide3 with three kernels; only their ratio matters. The path pays for each
    event with a pass over watched rows x margin set, the solve for the rows of its
    support vectors. The result is the same either way.
    """
    dragged, margin = moving(start, target)
    margin += 10
    watched = min(target.n, max(WATCH_ALL_BELOW, 3 * (dragged + margin)))
    events = 20 + 2 * dragged
    path = 1e-3 + 2.5e-10 * events * margin * (2 * watched + 4 * margin)
    support = int(np.count_nonzero(start.beta)) + dragged
    return path > 5e-3 + 1.7e-8 * target.n * support + 2e-10 * margin**3


def _only_point(problem: DualProblem) -> Vector | None:
    """The one feasible point where the box allows no other (3.2, case 6)."""
    if problem.n == 0:
        return np.zeros(0)
    if problem.total is None:
        return None
    scale = 1e-14 * float(np.abs(problem.upper).sum() + np.abs(problem.lower).sum())
    if float(problem.upper.sum()) - problem.total <= scale:
        return problem.upper.copy()
    if problem.total - float(problem.lower.sum()) <= scale:
        return problem.lower.copy()
    return None


def _direct(
    beta: Vector, target: DualProblem, begun: float
) -> tuple[Solution, PathAccount]:
    account = PathAccount(route="direct")
    values = target.gram.times(beta) if beta.any() else np.zeros(target.n)
    return _certified(target, beta, values, account, begun), account


def _certified(
    target: DualProblem,
    beta: Vector,
    values: Vector,
    account: PathAccount,
    begun: float,
) -> Solution:
    return Solution(
        problem=target,
        beta=beta,
        known_values=values,
        status="polished",
        n_iter=account.steps,
        seconds=time.perf_counter() - begun,
        exact=True,
    )


def _reach(
    start: Start, target: DualProblem, route: str, seed: int
) -> tuple[Solution, PathAccount]:
    """Follow the path, certify its end on all rows, repair, and fall back on solve."""
    begun = time.perf_counter()
    only = _only_point(target)
    if only is not None:
        return _direct(only, target, begun)
    account = PathAccount(route="path")
    if _solves(start.beta, start.values, target):
        return _certified(target, start.beta, start.values, account, begun), account
    if route == "auto" and _solve_is_cheaper(start, target):
        near = solve(target, start=start.beta)
        solution, account = exact(near, seed=seed)
        return solution, replace(account, route="solve")
    diagonal = target.gram.diagonal()
    watched: Indices = np.empty(0, dtype=np.intp)
    for _ in range(REPAIRS):
        beta, counts, watched = follow(start, target, diagonal, watched, seed)
        account = account.plus(counts)
        if counts["status"] != "complete":
            break
        values = start.values + target.gram.times(beta - start.beta)
        if _solves(beta, values, target):
            return _certified(target, beta, values, account, begun), account
        start = Start(
            beta=beta,
            values=values,
            lower=target.lower,
            upper=target.upper,
            linear=target.linear,
            intercept=_intercept(values, target),
        )
    solved = solve(target, accuracy="exact", start=start.beta)
    return solved, replace(account, route="solve")

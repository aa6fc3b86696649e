"""Follow a path to its end, certify the end on all rows, and repair it."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import violation
from widemargin.engine.intercept import optimal_intercept
from widemargin.engine.polish import EXACT, polish
from widemargin.engine.problem import DualProblem, only_point
from widemargin.engine.sides import by_sides, joined, split, twice
from widemargin.engine.solution import Solution
from widemargin.engine.status import Status

from .dependent_rows import independent
from .follow import WATCH_ALL_BELOW, PathAccount, Start, follow, gradient_unit

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

REPAIRS = 6  # rounds before the path gives up


def reach(
    start: Start, target: DualProblem, *, seed: int = 0
) -> tuple[Solution | None, Vector, PathAccount]:
    """Return the solution of ``target``, or None where the path gave up.

    Parameters
    ----------
    start : Start
        Solves some problem on the same samples, or nearly: what it misses is repaired
        on the way (mathematics 3.2, case 5).
    target : DualProblem
        Other bounds, linear term or total.
    seed : int
        For the random perturbation that breaks ties.

    Returns
    -------
    solution : Solution or None
        Exact, certified on all rows.
    beta : array
        The last point of the path.
    account : PathAccount
        What it took.
    """
    if target.kink is not None:
        raise ValueError("a path knows no kink; engine.sides.by_sides removes it.")
    begun = time.perf_counter()
    only = only_solution(target)
    if only is not None:
        return only, only.beta, PathAccount(route="direct")
    account = PathAccount(route="path")
    if _solves(start.beta, start.values, target):
        solution = _certified(target, start.beta, start.values, account, begun)
        return solution, start.beta, account
    diagonal = target.gram.diagonal()
    watched: Indices = np.empty(0, dtype=np.intp)
    for _ in range(REPAIRS):
        beta, counts, watched = follow(start, target, diagonal, watched, seed)
        account = account.plus(counts)
        if counts["status"] != "complete":
            break
        values = start.values + target.gram.times(beta - start.beta)
        if _solves(beta, values, target):
            return _certified(target, beta, values, account, begun), beta, account
        box = target.linear, target.lower, target.upper
        intercept = optimal_intercept(values, *box, target.total)
        linear, lower, upper = box
        start = Start(beta, values, lower, upper, linear, intercept)
    return None, start.beta, account


def repair(
    solution: Solution, *, seed: int = 0
) -> tuple[Solution | None, Vector, PathAccount]:
    """Return the exact solution near an approximate one, as :func:`reach` does.

    Where the kernel has few dimensions thousands of rows may tie on the margin; their
    dependence is removed and the small rest polished first, the path does what is left.
    """
    if solution.problem.kink is not None:
        return _repaired_by_sides(solution, seed)
    known = accurate(solution)
    spared = independent(known, seed=seed)
    near = spared if spared is known else polish(spared, tol=0.0)
    return reach(Start.of(near), solution.problem, seed=seed)


def _repaired_by_sides(
    solution: Solution, seed: int
) -> tuple[Solution | None, Vector, PathAccount]:
    """Repair a solution with kinks by its two sides: a path knows no kink."""
    problem, known = solution.problem, accurate(solution)
    beta, values = split(known.beta, problem.kink), twice(known.values, problem.kink)
    near = Solution(by_sides(problem), beta, values, known.status, exact=True)
    reached, point, account = repair(near, seed=seed)
    beta = joined(point)
    if reached is None:
        return None, beta, account
    return (
        replace(
            reached,
            problem=problem,
            beta=beta,
            known_values=reached.values[: problem.n],
        ),
        beta,
        account,
    )


def path_seconds(n: int, moving: int, margin: int) -> float:
    """Estimate the seconds a path takes on one core.

    Fitted to a dozen moves of 50 to 8,000 rows on covtype, ijcnn1 and svmguide3 with
    three kernels: each event passes over watched rows x margin set.

    Parameters
    ----------
    n : int
        Rows of the problem.
    moving : int
        Rows on their way to another bound, or whose gradient has to change.
    margin : int
        Size of the margin set.
    """
    margin += 10
    watched = min(n, max(WATCH_ALL_BELOW, 3 * (moving + margin)))
    events = 20 + 2 * moving
    return 1e-3 + 2.5e-10 * events * margin * (2 * watched + 4 * margin)


def accurate(solution: Solution) -> Solution:
    """Recompute K beta in float64 unless it is: a solve to ``tol`` may use float32."""
    current = solution.exact and solution.stale is None
    return solution if current else solution.recomputed()


def only_solution(problem: DualProblem) -> Solution | None:
    """Return the one feasible point where the box allows no other (3.2, case 6)."""
    begun = time.perf_counter()
    beta = only_point(problem.lower, problem.upper, problem.total)
    if beta is None:
        return None
    values = problem.gram.times(beta) if beta.any() else np.zeros(problem.n)
    return _certified(problem, beta, values, PathAccount(route="direct"), begun)


def at_its_end(start: Start, target: DualProblem) -> bool:
    """Whether the start solves the target already, or the box leaves one point."""
    if only_point(target.lower, target.upper, target.total) is not None:
        return True
    return _solves(start.beta, start.values, target)


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
        status=Status.POLISHED,
        n_iter=account.steps,
        seconds=time.perf_counter() - begun,
        exact=True,
    )


def _solves(beta: Vector, values: Vector, problem: DualProblem) -> bool:
    """Whether a point is feasible and violates the KKT conditions by rounding only."""
    if (beta < problem.lower).any() or (beta > problem.upper).any():
        return False
    if problem.total is not None:
        short = abs(float(beta.sum()) - problem.total)
        if short > 1e-13 * max(float(np.abs(beta).sum()), 1e-300):
            return False
    unit = gradient_unit(problem, beta, values)
    return violation(problem, beta, values) <= EXACT * unit

"""Follow a path to its end, certify the end on all rows, and repair it."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounded_values import BoundedValues
from widemargin.engine.certificate import violation
from widemargin.engine.intercept import optimal_intercept
from widemargin.engine.polish import EXACT, polish
from widemargin.engine.problem import DualProblem, only_point
from widemargin.engine.solution import Solution
from widemargin.engine.split_variables import joined
from widemargin.engine.status import Status
from widemargin.engine.verification import simply_summed, verify_all, verify_change

from .dependent_rows import independent
from .follow import UNLIMITED, Limits, PathAccount, Start, follow, gradient_unit
from .kinks import joined_solution, split_solution

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

REPAIRS = 6  # rounds before the path gives up


def reach(
    start: Start, target: DualProblem, *, seed: int = 0, limits: Limits = UNLIMITED
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
    limits : Limits
        When to give up.

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
        raise ValueError(
            "a path knows no kink; engine.split_variables.by_sides removes it."
        )
    begun = time.perf_counter()
    only = only_solution(target)
    if only is not None:
        return only, only.beta, PathAccount(route="direct")
    account = PathAccount(route="path")
    if _solves(start.beta, start.values, target):
        solution = _certified(target, start.beta, start.checked, account, begun)
        return solution, start.beta, account
    columns = start.columns
    if columns is not None:
        columns.admit(target.gram)
    diagonal = target.gram.diagonal()
    watched: Indices = np.empty(0, dtype=np.intp)
    for _ in range(REPAIRS):
        spent = account.steps + limits.repair * account.rounds
        left = replace(limits, steps=limits.steps - spent)
        if left.steps <= 0:
            break
        beta, counts, watched = follow(start, target, diagonal, watched, seed, left)
        account = account.plus(counts)
        if counts["status"] != "complete":
            break
        if columns is not None and not simply_summed(target, beta):
            columns.hold(target.gram, np.flatnonzero(target.free(beta)))
        checked = verify_change(target, start.checked, start.beta, beta, columns)
        if _solves(beta, checked.values, target):
            return _certified(target, beta, checked, account, begun), beta, account
        box = target.linear, target.lower, target.upper
        intercept = optimal_intercept(checked.values, *box, target.total)
        linear, lower, upper = box
        start = Start(beta, checked, lower, upper, linear, intercept, columns)
    return None, start.beta, account


def repair(
    solution: Solution, *, seed: int = 0, limits: Limits = UNLIMITED
) -> tuple[Solution | None, Vector, PathAccount]:
    """Return the exact solution near an approximate one, as :func:`reach` does.

    Where the kernel has few dimensions thousands of rows may tie on the margin; their
    dependence is removed and the small rest polished first, the path does what is left.
    """
    if solution.problem.kink is not None:
        return _repaired_by_sides(solution, seed, limits)
    known = accurate(solution)
    spared = independent(known, seed=seed)
    near = spared if spared is known else accurate(polish(spared, tol=0.0))
    return reach(Start.of(near), solution.problem, seed=seed, limits=limits)


def _repaired_by_sides(
    solution: Solution, seed: int, limits: Limits
) -> tuple[Solution | None, Vector, PathAccount]:
    """Repair a solution with kinks over its split variables: paths have no kinks."""
    problem = solution.problem
    near = split_solution(accurate(solution))
    reached, point, account = repair(near, seed=seed, limits=limits)
    if reached is None:
        return None, joined(point), account
    whole = joined_solution(reached, problem)
    return whole, whole.beta, account


def accurate(solution: Solution) -> Solution:
    """Return the same point with float64 K beta and bounds for every member.

    A solve to ``tol`` may use float32, and bounds the members that matter.
    """
    current = solution.exact and solution.stale is None
    checked = solution.checked
    if current and checked is not None and checked.summed.all():
        return replace(solution, known_values=checked.values)
    return _with(verify_all(solution.problem, solution.beta), solution)


def _with(checked: BoundedValues, solution: Solution) -> Solution:
    return Solution(
        solution.problem, solution.beta, checked.values, solution.status,
        solution.n_iter, solution.seconds, exact=True, checked=checked,
    )  # fmt: skip


def only_solution(problem: DualProblem) -> Solution | None:
    """Return the one feasible point where the box allows no other (3.2, case 6)."""
    begun = time.perf_counter()
    beta = only_point(problem.lower, problem.upper, problem.total)
    if beta is None:
        return None
    checked = verify_all(problem, beta)
    return _certified(problem, beta, checked, PathAccount(route="direct"), begun)


def has_one_point(problem: DualProblem) -> bool:
    """Whether the box leaves one point."""
    return only_point(problem.lower, problem.upper, problem.total) is not None


def at_its_end(start: Start, target: DualProblem) -> bool:
    """Whether the start solves the target already, or the box leaves one point."""
    if has_one_point(target):
        return True
    return _solves(start.beta, start.values, target)


def _certified(
    target: DualProblem,
    beta: Vector,
    checked: BoundedValues,
    account: PathAccount,
    begun: float,
) -> Solution:
    return Solution(
        problem=target,
        beta=beta,
        known_values=checked.values,
        checked=checked,
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

"""Solve any dual problem: the one place that chooses a solver and a precision.

Float32 rows first, float64 refinement below 1e-4 or where float32 shows, and with
``accuracy="exact"`` the polish of :mod:`widemargin.engine.polish` at the end. How a
solve runs is the matter of :mod:`widemargin.engine.refinement`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .certificate import violation
from .interrupted import Interrupted
from .kernels import CallableKernel, Precomputed
from .path import path_seconds, repair
from .polish import POLISH_LIMIT, polish
from .problem import DualProblem
from .refinement import (
    STOPPED,
    Budget,
    Descent,
    DrawnPairs,
    Manner,
    Monitor,
    Screen,
)
from .solution import NOT_FINITE, Solution

__all__ = ["DrawnPairs", "Monitor", "Screen", "proved", "solve"]

SINGLE_PRECISION = 1e-4  # below this the gradient is refined in float64
NEARLY = 0.97  # of the tolerance: rounding must not lift what is proved above it
POLISH_START = 1e-6  # where the polish starts again if it failed from ``tol``
PATH_SECONDS = 2.0  # by estimate, the longest path where both failed


def solve(
    problem: DualProblem,
    *,
    tol: float = 1e-3,
    accuracy: str = "tol",
    start: ArrayLike | Solution | None = None,
    max_iter: int = -1,
    max_time: float | None = None,
    shrinking: bool = True,
    seed: int = 0,
    selection: str | DrawnPairs = "blocks",
    monitor: Monitor | None = None,
    screen: Screen | None = None,
    every_value: bool = False,
    polish_limit: int = POLISH_LIMIT,
    certify: bool = True,
) -> Solution:
    """Solve a dual problem and return a point that certifies itself.

    Optimal when, with ``gradient = K beta - linear``, the largest gradient over members
    that can shrink exceeds the smallest over members that can grow by at most ``tol``
    (Keerthi et al. 2001); without an intercept, when no projected gradient exceeds it.

    Parameters
    ----------
    problem : DualProblem
        What to solve.
    tol : float
        Largest KKT violation of a converged solution.
    accuracy : {"tol", "exact"}
        "exact" goes on to about 1e-10 when the margin set is small enough
        (status "polished").
    start : array or Solution, optional
        Where to begin; an array is projected on the constraints. A Solution of a
        problem on the same ``gram`` also brings its kernel products along.
    max_iter : int
        Limit of pair steps; -1 for none.
    max_time : float, optional
        Limit in seconds. Samples that nobody has looked at by then enter the
        certificate by a bound.
    shrinking : bool
        Whether samples far from the margin are set aside while the others settle.
    seed : int
        Seed of the order in which samples are first looked at.
    selection : {"blocks", "second_order", "first_order", "libsvm_second_order", \
"libsvm_first_order"}
        "blocks" is the engine; the others are the plain pair solver with that rule
        ("libsvm_": ties to the last index and float32 rows, as LIBSVM has them). A
        :class:`DrawnPairs` draws its pairs; ``seed`` is then the seed of the draws.
    monitor : callable, optional
        ``monitor(n_iter, violation, active)``, asked a few times a second; False stops.
    screen : callable, optional
        ``screen(problem, n_iter, remaining, beta, gradient, error)`` says which of the
        samples `remaining` stay in play; the others must be certain to stay at the
        bound they are at. ``gradient`` is up to date for `remaining`, to within about
        `error`. Only "blocks" asks. See
        :class:`widemargin.engine.screening.screener.Screener`, whose ``checks`` of this
        solve are kept as ``Solution.extras["screened"]``.
    every_value : bool
        Whether ``K beta`` is wanted for all samples, also those far from the margin
        that are otherwise passed over (see ``Solution.stale``). Only "blocks" asks.
    polish_limit : int
        Largest margin set that "exact" polishes; beyond it "exact" means "tol".
    certify : bool
        Whether the values of the point are verified, so that its violation is proved to
        be at most ``tol``. False for a step on the way to another problem: the status
        is then what float32 rows say, and :func:`proved` verifies it later.

    Returns
    -------
    Solution
        Also when the limits were reached first: the status says which.

    Raises
    ------
    ValueError
        Where kernel values are too large for the numbers they are kept in.
    KeyboardInterrupt
        On Ctrl-C; an :class:`~widemargin.engine.interrupted.Interrupted` with the point
        that was reached, if a step had been taken.
    """
    if accuracy not in ("tol", "exact"):
        raise ValueError(f"accuracy={accuracy!r} is unknown; use 'tol' or 'exact'.")
    manner = Manner(shrinking, seed, selection, monitor, screen, every_value)
    descent = Descent(problem, start, manner, Budget(max_iter, max_time), tol)
    try:
        exact = accuracy == "exact"
        return _solved(descent, tol, exact, polish_limit, certify)
    except KeyboardInterrupt as stop:
        if not descent.beta.any():
            raise
        budget = descent.budget
        raise Interrupted(problem, descent.beta, budget.steps, budget.seconds) from stop


def _solved(
    descent: Descent, tol: float, exact: bool, polish_limit: int, certify: bool
) -> Solution:
    """Let a descent run, refine it, and end it exactly if that is wanted."""
    problem, selection = descent.problem, descent.manner.selection
    drawn = isinstance(selection, DrawnPairs)  # float64 rows: one run, no refinement
    first = tol if drawn else NEARLY * max(tol, SINGLE_PRECISION)
    descent.run(first)
    solution = descent.solution()
    if (drawn or solution.status == "stalled") and problem.gram.overflows:
        raise ValueError(NOT_FINITE)  # no step is possible: entries are infinite
    if drawn or solution.status in STOPPED:
        return proved(solution, tol) if certify else solution
    exact = exact and solution.margin.size <= polish_limit
    if exact and solution.status == "converged":
        polished = polish(solution, tol=tol)
        if polished.status == "polished":
            return proved(polished, tol) if certify else polished
    single = descent.float32_suffices(first)
    if single and not exact and tol >= SINGLE_PRECISION:
        if certify:
            solution = _until_proved(descent, tol)
        if solution.status != "stalled" or _rounding_decides(solution, tol):
            return solution
        single = False
    # The polish mostly succeeds from a loose solution; if not, from a tight one.
    for goal in (NEARLY * tol, min(tol, POLISH_START)) if exact else (NEARLY * tol,):
        descent.refine(tol, goal, single)
        solution = descent.solution()
        if exact and solution.status in ("converged", "stalled"):
            solution = polish(solution, tol=tol)
        if solution.status == "polished":
            break
    if exact and solution.status in ("converged", "stalled"):
        solution = _along_the_path(solution, descent.budget, descent.manner.seed)
    return proved(solution, tol) if certify else solution


def _until_proved(descent: Descent, tol: float) -> Solution:
    """Verify the point reached, and go on from verified values while that helps."""
    before = np.inf
    while True:
        solution = proved(descent.solution(), tol)
        if solution.status != "stalled" or solution.proved_violation > 0.9 * before:
            return solution
        if _rounding_decides(solution, tol):
            return solution
        before = solution.proved_violation
        assert solution.checked is not None
        descent.go_on_from(solution.checked, NEARLY * tol)


def _rounding_decides(solution: Solution, tol: float) -> bool:
    """Whether the verified values are good enough, and only their rounding is not."""
    checked = solution.checked
    if checked is None:
        return False
    return violation(solution.problem, solution.beta, checked.values) <= NEARLY * tol


def proved(solution: Solution, tol: float) -> Solution:
    """Return the verified solution; its status is what its violation proves.

    Where rounding alone leaves more than ``tol`` the precision is exhausted.
    """
    solution = solution.verified()
    if solution.status in ("converged", "polished") and solution.proved_violation > tol:
        return replace(solution, status="stalled")
    if solution.status == "stalled" and solution.proved_violation <= tol:
        return replace(solution, status="converged")
    return solution


def _along_the_path(solution: Solution, budget: Budget, seed: int) -> Solution:
    """Return the exact solution where the polish failed from a tight one, if it can be.

    Rows that are all but equal, as float32 makes them of decimals, leave the polish a
    system that it cannot solve; the path meets them one by one.
    """
    problem, margin = solution.problem, solution.margin.size
    kernel = problem.gram.kernel
    known = not isinstance(kernel, Precomputed | CallableKernel)
    if not (known and kernel.semidefinite):  # else there may be no path
        return solution
    left = PATH_SECONDS if budget.max_time is None else budget.seconds_left()
    if path_seconds(problem.n, margin, margin) > min(PATH_SECONDS, left):
        return solution
    reached, _, _ = repair(solution, seed=seed)
    if reached is None:
        return solution
    done = solution.n_iter + reached.n_iter, solution.seconds + reached.seconds
    return replace(reached, n_iter=done[0], seconds=done[1], extras=solution.extras)

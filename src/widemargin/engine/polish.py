"""From a good solution to an exact one: solve for the margin set, then check.

Given sets of members at the lower bound, at the upper bound and between (the margin set
M), the optimum solves a linear system (mathematics 0.3, "Polish"):

    [0  1' ] [ b      ]   [ total - sum(beta_N)          ]
    [1 K_MM] [ beta_M ] = [ linear_M - K_MN beta_N ]

Members of M that would leave the box are pinned to it, violators join M, and so on
until nothing changes. A kink is a bound here: on its side of zero a member is one of a
problem without kinks. M is kept affinely independent in feature space by a pivoted
Cholesky factorisation of K_MM + shift 11' (mathematics 3.4): dependent members,
duplicates for instance, keep their present value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.cholesky import newton_step
from widemargin.numerics.products import times, transposed_times
from widemargin.runtime.cancellation import check_cancelled

from .certificate import violation
from .problem import DualProblem
from .solution import Solution
from .solve_options import POLISH_LIMIT
from .split_variables import fall_slopes, growth_slopes, on_segments
from .status import Status

Vector = NDArray[np.float64]

WHOLE_ROWS = 1 << 19  # entries of the margin's rows that are kept for a round
MAX_ROUNDS = 60
EXACT = 1e-10  # violation at which a solution counts as exact


def polish(solution: Solution, *, tol: float) -> Solution:
    """Return the exact solution near a converged one, else the given one.

    Parameters
    ----------
    solution : Solution
        Near-optimal, typically to 1e-4 or better. Values that are not exact are summed
        anew, with the rows of the margin set that are evaluated anyway.
    tol : float
        Tolerance of the caller; decides the status if the polish fails.

    Returns
    -------
    Solution
        Status "polished" when the violation fell to about 1e-10 (relative to the size
        of the linear term); otherwise the best point met, never worse than the given.
    """
    problem = solution.problem
    scale = float(np.abs(problem.linear).max(initial=0.0)) or 1.0
    beta = solution.beta
    values = solution.values if solution.exact else None
    best, best_beta, best_values = np.inf, beta, values
    entrants: NDArray[np.intp] = np.empty(0, dtype=np.intp)
    for _ in range(MAX_ROUNDS):
        margin = np.flatnonzero(problem.free(beta))
        if entrants.size:
            margin = np.sort(np.concatenate([margin, entrants]))
        if margin.size > POLISH_LIMIT:
            break
        whole = margin.size * problem.n <= WHOLE_ROWS  # then nothing is evaluated twice
        rows = problem.gram.rows(margin, None if whole else margin)
        apart = whole and margin.size < problem.n
        block = rows.take(margin, axis=1) if apart else rows
        if values is None:
            values = _summed(problem, beta, margin if whole else margin[:0], rows)
        if best == np.inf:
            best, best_values = violation(problem, beta, values), values
        segments = on_segments(problem, beta, _level(problem, beta, values), values)
        moved = _margin_step(segments, beta, values, margin, block)
        change = moved - beta
        if whole:
            change = transposed_times(rows, change[margin], problem.gram.threads)
        else:
            change = problem.gram.times(change)
        beta, values = moved, values + change
        left = violation(problem, beta, values)
        if left < best:
            best, best_beta, best_values = left, beta, values
        if left <= EXACT * scale:
            break
        entrants = _entrants(problem, beta, values, EXACT * scale)
        if entrants.size == 0:
            break
    if best_values is None:
        return solution
    status = Status.POLISHED if best <= 100 * EXACT * scale else solution.status
    if status == Status.STALLED and best <= tol:
        status = Status.CONVERGED
    return Solution(
        problem,
        best_beta,
        best_values,
        status,
        solution.n_iter,
        solution.seconds,
        exact=True,
        screened=solution.screened,
    )


def _summed(
    problem: DualProblem, beta: Vector, known: NDArray[np.intp], rows: Vector
) -> Vector:
    """Return K beta in float64, where some rows of K are known already."""
    if known.size == 0:
        return problem.gram.times(beta)
    others = beta.copy()
    others[known] = 0.0
    theirs = transposed_times(rows, beta[known], problem.gram.threads)
    return np.asarray(problem.gram.times(others) + theirs)


def _margin_step(
    problem: DualProblem,
    beta: Vector,
    values: Vector,
    margin: NDArray[np.intp],
    block: Vector,
) -> Vector:
    """Return the solution of the margin system; members that reach a bound are pinned.

    ``block`` holds the kernel entries between members of the margin.
    """
    beta = beta.copy()
    gradient = values - problem.linear
    free = np.arange(margin.size)
    while free.size and check_cancelled():
        members = margin[free]
        step = newton_step(
            block, free, gradient[members], bordered=problem.total is not None,
            threads=problem.gram.threads,
        )  # fmt: skip
        # The longest feasible share of the step; the member that limits it is pinned.
        ends = np.where(step > 0, problem.upper[members], problem.lower[members])
        room = np.full(free.size, np.inf)
        with np.errstate(over="ignore"):  # a negligible step is not limited
            np.divide(ends - beta[members], step, out=room, where=step != 0)
        share = float(min(1.0, room.min(initial=1.0)))
        change = share * step
        beta[members] = np.clip(
            beta[members] + change, problem.lower[members], problem.upper[members]
        )
        if share >= 1.0:
            break
        moved = np.zeros(margin.size)
        moved[free] = change
        gradient[margin] += times(block, moved, problem.gram.threads)
        stopped = room <= share * (1 + 1e-12)
        beta[members[stopped]] = ends[stopped]
        free = free[~stopped]
    if problem.total is not None:
        _restore_sum(problem, beta)
    return beta


def _restore_sum(problem: DualProblem, beta: Vector) -> None:
    """Add the rounding residue of the sum to the member with most room."""
    assert problem.total is not None
    residue = problem.total - float(beta.sum())
    room = np.minimum(problem.upper - beta, beta - problem.lower)
    widest = int(np.argmax(room))
    if room[widest] > abs(residue):
        beta[widest] += residue


def _entrants(
    problem: DualProblem, beta: Vector, values: Vector, exact: float
) -> NDArray[np.intp]:
    """Return members at a bound that violate optimality: the worst on either side."""
    level = _level(problem, beta, values)
    inside = problem.free(beta)
    gradient, kink = values - problem.linear, problem.kink
    rises = level - growth_slopes(beta, gradient, kink)
    falls = fall_slopes(beta, gradient, kink) - level
    rises[beta >= problem.upper] = 0.0
    falls[beta <= problem.lower] = 0.0
    pull = np.where(inside, 0.0, np.maximum(rises, falls))
    wanting = np.flatnonzero(pull > exact)
    # Few at a time: joining all at once would make the next margin set far too large.
    limit = max(8, np.count_nonzero(inside) // 4)
    return wanting[np.argsort(-pull[wanting], kind="stable")[:limit]]


def _level(problem: DualProblem, beta: Vector, values: Vector) -> float:
    """Return where the slopes of free members meet: minus the intercept."""
    if problem.total is None:
        return 0.0
    inside, gradient = problem.free(beta), values - problem.linear
    growth = growth_slopes(beta, gradient, problem.kink)
    if inside.any():
        return float(np.sort(growth[inside])[np.count_nonzero(inside) // 2])
    fall = fall_slopes(beta, gradient, problem.kink)
    ends = [
        growth.min(where=beta < problem.upper, initial=np.inf),
        fall.max(where=beta > problem.lower, initial=-np.inf),
    ]
    return float(np.mean([end for end in ends if np.isfinite(end)] or [0.0]))

"""The robust SVM paper's screening rules as printed, which are unsafe.

Zhai, Gu, Li and Huang, *Safe Sample Screening for Robust Support Vector Machine*,
AAAI 2020. The printed rules bound the gradient by the ball of ``w`` alone and forget
that the intercept moves too (mathematics 5.2), so they fix samples at the wrong bound.
They are kept here, and only here, to show what they do; ``RampSVC`` screens by
`widemargin.engine.screening.rules`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import duality_gap
from widemargin.engine.intercept import optimal_intercept
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

FIRST_CHECK = 50  # "we typically start sample screening after 50 iterations
CHECK_EVERY = 10  # and screen the samples every 10 iterations"
SCREEN_ABOVE = 1e-4  # "until the duality gap is smaller than 1e-4"; then shrinking


def printed_rule(gradient: Vector, diagonal: Vector, gap: float) -> tuple[Mask, Mask]:
    """Equations (20) and (21): unsafe, since the intercept may move as well.

    ``gradient`` includes the intercept; returns what the rule fixes at the lower and at
    the upper bound.
    """
    radii = np.sqrt(diagonal * gap)
    return gradient > radii, gradient < -radii


def fixed_on_the_way(
    problem: DualProblem, *, tol: float = 1e-6, max_iter: int = 20_000
) -> tuple[Mask, Mask]:
    """Return what the rule fixes, on the printed schedule, along a solve by pair steps.

    A sample that it has fixed once stays fixed, at the lower bound or at the upper; the
    pair steps go on as though it did not, towards the optimum that judges it.
    """
    low, high = np.zeros(problem.n, bool), np.zeros(problem.n, bool)
    diagonal, box = problem.gram.diagonal(), (problem.lower, problem.upper)
    solution: Solution | None = None
    for steps in [FIRST_CHECK] + [CHECK_EVERY] * (max_iter // CHECK_EVERY):
        options = SolveOptions(
            tol=tol, max_iter=steps, shrinking=False, selection="second_order"
        )
        solution = solve(problem, options, start=solution)
        gradient = solution.values + solution.intercept - problem.linear
        gap = duality_gap(solution.beta, -gradient, *box)
        if gap <= SCREEN_ABOVE or solution.n_iter < steps:
            break
        found = printed_rule(gradient, diagonal, gap)
        low, high = low | found[0], high | found[1]
    return low, high


def printed_propagation(
    gradient: Vector,
    diagonal: Vector,
    gap: float,
    row_norms: Vector,
    change: tuple[float, float, Vector],
) -> tuple[Mask, Mask]:
    """Equations (26) and (27), with the signs as printed: unsafe.

    ``change`` is the paper's ``(m, n, q)``: how far the variables, the intercept and
    the gap (times ``K_ii``, rooted) move between the two convex problems.
    """
    m, n, q = change
    radii = np.sqrt(diagonal * gap)
    spread = m * row_norms + n
    return gradient - radii + spread - q > 0, gradient + radii + spread + q < 0


def propagate_as_printed(
    solution: Solution, following: DualProblem
) -> tuple[Mask, Mask]:
    """Screen the problem `following` by (26) and (27) from the last one's solution.

    ``m``, ``n`` and ``q`` are those of the point the paper proposes: the multipliers of
    the hinge stay and the boxes move under them. It breaks the sum, and what is called
    its gap need not be one (mathematics 5.4).
    """
    last = solution.problem
    point = solution.beta + following.lower - last.lower
    values = solution.values + last.gram.times(point - solution.beta)
    box = following.lower, following.upper
    intercept = optimal_intercept(values, following.linear, *box, following.total)
    residual = following.linear - values - intercept
    gradient = solution.values + solution.intercept - last.linear
    diagonal = last.gram.diagonal()
    gap = duality_gap(solution.beta, -gradient, last.lower, last.upper)
    further = abs(duality_gap(point, residual, *box) - gap)
    change = (
        float(np.linalg.norm(point - solution.beta)),
        abs(intercept - solution.intercept),
        np.sqrt(diagonal * further),
    )
    row_norms = np.linalg.norm(last.gram.rows(np.arange(last.n)), axis=1)
    return printed_propagation(gradient, diagonal, gap, row_norms, change)

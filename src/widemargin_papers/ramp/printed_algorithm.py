"""The robust SVM paper's algorithm as printed: its unsafe rules and its schedule.

Zhai, Gu, Li and Huang, *Safe Sample Screening for Robust Support Vector Machine*,
AAAI 2020. The printed rules bound the gradient by the ball of ``w`` alone and forget
that the intercept moves too (mathematics 5.2), so they fix samples at the wrong bound.
They are kept here, and only here, to show what they do; ``RampSVC`` screens by
`widemargin.engine.screening.rules`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import duality_gap
from widemargin.engine.intercept import optimal_intercept
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

FIRST_CHECK = 50  # "we typically start sample screening after 50 iterations
CHECK_EVERY = 10  # and screen the samples every 10 iterations"
SHRINK_BELOW = 1e-4  # "until the duality gap is smaller than 1e-4"; then shrinking
TINY_CURVATURE = 1e-12


def printed_rule(gradient: Vector, diagonal: Vector, gap: float) -> tuple[Mask, Mask]:
    """Equations (20) and (21): unsafe, since the intercept may move as well.

    ``gradient`` includes the intercept; returns what the rule fixes at the lower and at
    the upper bound.
    """
    radii = np.sqrt(diagonal * gap)
    return gradient > radii, gradient < -radii


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


@dataclass
class PrintedRun:
    """What the printed algorithm did on one convex problem."""

    beta: Vector
    iterations: int = 0
    gap: float = np.inf
    fixed_low: Mask = field(default_factory=lambda: np.zeros(0, bool))
    fixed_high: Mask = field(default_factory=lambda: np.zeros(0, bool))
    rates: list[tuple[int, float]] = field(default_factory=list)
    shrunk: int = 0  # most samples that shrinking has set aside at once


def solve_as_printed(
    problem: DualProblem,
    *,
    tol: float = 1e-8,
    max_iter: int = 1_000_000,
    screening: bool = True,
    shrinking: bool = True,
) -> PrintedRun:
    """Algorithm 1: pair steps, the printed rule after 50 steps and every 10.

    A fixed sample is moved to its bound and left there, and the sum of the variables
    is put right on the others, without which the printed algorithm has no feasible
    point to go on from. Once the gap is below 1e-4, LIBSVM's shrinking takes the rule's
    place (without the rule: from the start). Stops when the violating pair among the
    samples that are not fixed is within `tol`.
    """
    K = problem.gram.rows(np.arange(problem.n))
    diagonal = np.diag(K).copy()
    box = problem.lower, problem.upper
    run = PrintedRun(np.clip(np.zeros(problem.n), *box))
    run.fixed_low = np.zeros(problem.n, bool)
    run.fixed_high = np.zeros(problem.n, bool)
    gradient = K @ run.beta - problem.linear
    aside = np.zeros(problem.n, bool)
    while run.iterations < max_iter:
        free = ~(run.fixed_low | run.fixed_high)
        violation = _pair_step(K, diagonal, gradient, run.beta, *box, free & ~aside)
        if violation <= tol:
            if not aside.any():
                break
            aside[:] = shrinking = False  # all are looked at once more, as by LIBSVM
            continue
        run.iterations += 1
        if run.iterations < FIRST_CHECK or run.iterations % CHECK_EVERY:
            continue
        if screening and run.gap > SHRINK_BELOW:
            _screen(problem, K, diagonal, gradient, run)
        elif shrinking:
            aside |= free & out_of_reach(gradient, run.beta, *box, free & ~aside)
            run.shrunk = max(run.shrunk, int(np.count_nonzero(aside)))
    return run


def _screen(
    problem: DualProblem, K: Vector, diagonal: Vector, gradient: Vector, run: PrintedRun
) -> None:
    """Fix what the printed rule fixes, and put the sum and the gradient right."""
    lower, upper = problem.lower, problem.upper
    total = float(problem.total or 0.0)
    free = ~(run.fixed_low | run.fixed_high)
    part = np.flatnonzero(free)
    values = gradient[part] + problem.linear[part]
    rest = total - float(run.beta[~free].sum())
    box = lower[part], upper[part]
    intercept = optimal_intercept(values, problem.linear[part], *box, rest)
    residual = -gradient[part] - intercept
    run.gap = duality_gap(run.beta[part], residual, *box)
    low, high = printed_rule(-residual, diagonal[part], run.gap)
    if low.any() or high.any():
        run.fixed_low[part[low]] = True
        run.fixed_high[part[high]] = True
        before = run.beta.copy()
        run.beta[part[low]] = lower[part[low]]
        run.beta[part[high]] = upper[part[high]]
        free = ~(run.fixed_low | run.fixed_high)
        _restore_sum(run.beta, free, lower, upper, total)
        gradient += K @ (run.beta - before)
    run.rates.append((run.iterations, 1.0 - float(np.mean(free))))


def out_of_reach(
    gradient: Vector, beta: Vector, lower: Vector, upper: Vector, active: Mask
) -> Mask:
    """Return samples at a bound that no violating pair would take: shrinking."""
    up, down = active & (beta < upper), active & (beta > lower)
    least = gradient[up].min(initial=np.inf)
    most = gradient[down].max(initial=-np.inf)
    stays_low = (beta <= lower) & (gradient > most)
    stays_high = (beta >= upper) & (gradient < least)
    mask: Mask = stays_low | stays_high
    return mask


def _pair_step(
    K: Vector,
    diagonal: Vector,
    gradient: Vector,
    beta: Vector,
    lower: Vector,
    upper: Vector,
    free: Mask,
) -> float:
    """Move the most violating pair of the free samples; return its violation before."""
    up = np.flatnonzero(free & (beta < upper))
    low = np.flatnonzero(free & (beta > lower))
    if not (up.size and low.size):
        return 0.0
    i = up[np.argmin(gradient[up])]
    gain = np.maximum(gradient[low] - gradient[i], 0.0)
    violation = float(gain.max())
    if violation <= 0.0:
        return 0.0
    curvature = np.maximum(
        diagonal[i] + diagonal[low] - 2.0 * K[i, low], TINY_CURVATURE
    )
    best = int(np.argmax(gain**2 / curvature))
    j = low[best]
    step = float(
        min(gain[best] / curvature[best], upper[i] - beta[i], beta[j] - lower[j])
    )
    beta[i] = min(beta[i] + step, upper[i])
    beta[j] = max(beta[j] - step, lower[j])
    gradient += step * (K[i] - K[j])
    return violation


def _restore_sum(
    beta: Vector, free: Mask, lower: Vector, upper: Vector, total: float
) -> None:
    """Put the sum right on the free samples, as far as their boxes allow."""
    missing = total - float(beta.sum())
    for i in np.flatnonzero(free):
        step = float(np.clip(missing, lower[i] - beta[i], upper[i] - beta[i]))
        beta[i] += step
        missing -= step
        if missing == 0.0:
            return

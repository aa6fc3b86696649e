"""Smoothed Newton: the exact solution, certified, in O(n d^2) per step.

The corners of the problem are rounded by a width that shrinks fourfold from stage to
stage (mathematics 2.4); a stage is a few damped Newton steps. At a stage's end its
multipliers give a lower bound on the optimum, and the samples inside the rounded corner
are the guess from which :mod:`.active_set_polish` solves the optimality equations
exactly. The solver stops when objective minus bound is at most ``tol`` times the
objective.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.products import inner
from widemargin.runtime.deadline import NEVER, Deadline

from .active_set_polish import DualPoint, polish, polish_origin
from .chance_problem import ChanceProblem, Gap, best_intercept, duality_gap
from .proven_solution import ChanceSolution, Dual, Stage, as_found
from .smoothing import (
    Point,
    Smoothed,
    corner_of_norm,
    damped_step,
    hessian,
    hessian_operator,
    least_curvature,
    line_search,
    point_at,
    smoothed,
)

Floats = NDArray[np.float64]
Monitor = Callable[[Stage], None]

DIRECT = 600  # features up to which the Hessian is formed and factored
_FIRST_WIDTH = 4.0  # all samples start inside the band (z = 1), so b has curvature
_SHRINK = 0.25
_LAST_WIDTH = 1e-11
_STEPS_PER_STAGE = 100
_EXACT = 1e-10  # relative gap at which the active sets are proved right
_LOOSE, _TIGHT = 1e-2, 1e-14  # Newton decrement allowed, in units of the rounding


def newton(
    problem: ChanceProblem,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    deadline: Deadline = NEVER,
    monitor: Monitor | None = None,
) -> ChanceSolution:
    """Minimise the chance-constrained objective to a relative duality gap of ``tol``.

    The best point so far is returned after ``max_iter`` Newton steps or when the
    deadline has passed; ``monitor`` is called with each stage's record.
    """
    started = time.perf_counter()
    history: list[Stage] = []
    point = point_at(problem, np.zeros(problem.shape[1]), 0.0)
    width, n_iter, status, stuck = _FIRST_WIDTH, 0, "stalled", False
    origin = best = _candidate(problem, _origin(problem))
    while width >= _LAST_WIDTH:
        # where the gap does not shrink with the width, tight multipliers are needed
        accuracy = _TIGHT if stuck else _LOOSE
        try:
            point, state, steps = _stage(
                problem, point, width, accuracy, max_iter - n_iter, deadline
            )
            stage_best, polished = _close(problem, origin, point, state, width)
        except KeyboardInterrupt:  # the best point so far is a model all the same
            status = "interrupted"
            break
        n_iter += steps
        stuck = bool(history) and stage_best.gap.gap > 0.5 * best.gap.gap
        if stage_best.gap.gap <= best.gap.gap:
            best = stage_best
        history.append(
            {
                "stage": "smoothing",
                "size": steps,
                "seconds": time.perf_counter() - started,
                "objective": best.gap.objective,
                "gap": best.gap.gap,
                "width": width,
            }
        )
        if monitor is not None:
            monitor(history[-1])
        if best.gap.relative <= tol and (polished or width < 1e-3 * tol):
            status = "polished" if polished else "converged"
            break
        if n_iter >= max_iter or deadline.passed:
            status = "max_iter" if n_iter >= max_iter else "max_time"
            break
        width *= _SHRINK
    if status == "stalled" and best.gap.relative <= tol:
        status = "converged"
    w, b, dual = best.dual.w, best.dual.b, Dual(best.dual.alpha, best.dual.preimages)
    seconds = time.perf_counter() - started
    evidence = partial(as_found, problem, w, b, dual)
    return ChanceSolution(w, b, dual, evidence, status, n_iter, seconds, history, tol)


class _Candidate(NamedTuple):
    dual: DualPoint
    gap: Gap


def _candidate(problem: ChanceProblem, dual: DualPoint) -> _Candidate:
    gap = duality_gap(problem, dual.w, dual.b, dual.alpha, dual.directions)
    return _Candidate(dual, gap)


def _origin(problem: ChanceProblem) -> DualPoint:
    """Return w = 0, a legitimate optimum when the covariances are large."""
    n, d = problem.shape
    b = best_intercept(problem, np.zeros(n), np.zeros(n))
    nothing = np.zeros((len(problem.uncertainty.table), d))
    return DualPoint(np.zeros(d), b, np.zeros(n), nothing, nothing)


def _close(
    problem: ChanceProblem,
    origin: _Candidate,
    point: Point,
    state: Smoothed,
    width: float,
) -> tuple[_Candidate, bool]:
    """Return the best certified point of a stage, and whether it is polished."""
    inflation = problem.kappa * problem.uncertainty.spread(point.w)
    b = best_intercept(problem, point.margins, inflation)
    preimages = point.w / state.spread[:, None]
    smooth = DualPoint(point.w, b, state.alpha, state.directions, preimages)
    best = _candidate(problem, smooth)
    exact: DualPoint | None
    if origin.gap.objective <= best.gap.objective:
        exact = polish_origin(problem, state)
    else:
        exact = polish(problem, point, state, corner_of_norm(problem, width))
    if exact is None:
        return best, False
    refined = _candidate(problem, exact)
    if refined.gap.relative <= _EXACT:
        return refined, True
    return (refined if refined.gap.gap < best.gap.gap else best), False


def _stage(
    problem: ChanceProblem,
    point: Point,
    width: float,
    accuracy: float,
    budget: int,
    deadline: Deadline,
) -> tuple[Point, Smoothed, int]:
    """Take Newton steps at one width until the decrement is small against it."""
    steps = 0
    while True:
        state = smoothed(problem, point, width)
        if steps >= min(budget, _STEPS_PER_STAGE) or deadline.passed:
            return point, state, steps
        found = _direction(problem, state, width)
        if found is None:
            return point, state, steps
        slope = inner(state.gradient, found)
        rounding = width * float(state.alpha[state.band].sum())
        if -slope <= max(accuracy * rounding, 1e-15 * abs(state.value)):
            return point, state, steps
        direction = point_at(problem, found[:-1], float(found[-1]))
        step = line_search(problem, point, state.value, direction, width, slope)
        point = point.moved(step, direction)
        steps += 1


def _direction(problem: ChanceProblem, state: Smoothed, width: float) -> Floats | None:
    """Return the Newton direction of (w, b); None on overflow, which is reported."""
    d = problem.shape[1]
    if d > DIRECT:
        return _conjugate_gradients(problem, state, width)
    floor = np.ones(d + 1)
    floor[d] = np.finfo(float).tiny
    return damped_step(hessian(problem, state, width), state.gradient, floor)


def _conjugate_gradients(
    problem: ChanceProblem, state: Smoothed, width: float
) -> Floats:
    """Solve the Newton system to a tenth of the gradient, matrix-free.

    b is measured in the unit in which its curvature is 1.
    """
    curvature = float(problem.costs[state.band].sum()) / (2.0 * width)
    unit = np.ones(len(state.gradient))
    unit[-1] = (curvature + least_curvature(problem, width)) ** -0.5
    times_hessian = hessian_operator(problem, state, width)
    solution, residual = np.zeros(len(unit)), -unit * state.gradient
    direction, error = residual, inner(residual, residual)
    target = 1e-2 * error
    for _ in range(200):
        if error <= target:
            break
        image = unit * times_hessian(unit * direction)
        length = error / inner(direction, image)
        solution, residual = solution + length * direction, residual - length * image
        before, error = error, inner(residual, residual)
        direction = residual + error / before * direction
    return unit * solution

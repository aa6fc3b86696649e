"""Smoothed Newton: the exact solution, certified, in O(n d^2) per step.

A method of multipliers. Each stage solves the problem smoothed about the multipliers of
the stage before (:mod:`.smoothing`), by a few damped Newton steps, with a fourth of its
width (mathematics 2.4). The multipliers of all samples and covariances, those at a
corner of their hinge or norm included, converge superlinearly to those of the optimum,
so that a width of 1e-3 or so gives it to the last digits. At a stage's end they prove a
lower bound of the optimum. Two fits of one problem, written with weights or with
repeated rows, then agree to rounding.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.status import Status
from widemargin.numerics.products import inner
from widemargin.runtime.deadline import NEVER, Deadline

from .chance_problem import (
    ChanceProblem,
    best_intercept,
    duality_gap,
    refuse_wide,
)
from .proven_solution import ChanceSolution, Dual, Stage, as_found
from .smoothing import (
    Multipliers,
    Point,
    Smoothed,
    damped_step,
    hessian,
    line_search,
    point_at,
    smoothed,
)

Floats = NDArray[np.float64]
Monitor = Callable[[Stage], None]

_FIRST_WIDTH = 4.0  # all samples start inside the band (z = 1), so b has curvature
_SHRINK = 0.25
_LAST_WIDTH = 1e-11
_STEPS_PER_STAGE = 100
_EXACT = 1e-10  # relative gap at which rounding may be what is left
_NEARLY = 1e-12  # relative gap after which one more stage leaves rounding only
_ROUNDING = 1e-17
_MANY = 2000  # rows from which on the first stages are those of an eighth of them
_ROUGH_WIDTH = 0.1  # where all rows take over


@dataclass(frozen=True)
class _Candidate:
    """A model with a dual point, its objective, and the gap between them."""

    w: Floats
    b: float
    dual: Dual
    objective: float
    gap: float

    @property
    def relative(self) -> float:
        """The gap in units of the objective."""
        return self.gap / max(self.objective, np.finfo(float).tiny)


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
    refuse_wide(problem.shape[1], 1)
    history: list[Stage] = []
    origin = point_at(problem, np.zeros(problem.shape[1]), 0.0)
    best = start = _candidate(problem, origin, Multipliers.constant(problem, 0.0))
    point, centre = origin, Multipliers.constant(problem, 0.5)
    width, n_iter, status, idle = _FIRST_WIDTH, 0, Status.STALLED, 0
    while width >= _LAST_WIDTH:
        # superlinear convergence needs stages solved ever better
        nearly = best.relative <= _NEARLY
        accuracy = 1e-2 * best.gap * min(best.relative, 1e-3)
        try:
            if width == _FIRST_WIDTH and problem.shape[0] > _MANY:
                point, width = _rough_start(problem, deadline)
            point, centre, steps = _stage(
                problem, point, centre, width, accuracy, max_iter - n_iter, deadline
            )
            end = _candidate(problem, point, centre)
            if start.objective <= end.objective:
                end = _candidate(problem, origin, centre)  # w = 0 is the optimum?
        except KeyboardInterrupt:  # the best point so far is a model all the same
            status = Status.INTERRUPTED
            break
        n_iter += steps
        idle = 0 if end.gap < 0.5 * best.gap else idle + 1
        if end.gap <= best.gap:
            best = end
        seconds = time.perf_counter() - started
        history.append(_record(steps, seconds, width, best))
        if monitor is not None:
            monitor(history[-1])
        done = nearly or idle > 1 or best.relative <= _ROUNDING
        if done and best.relative <= min(_EXACT, tol):
            status = Status.POLISHED
            break
        if n_iter >= max_iter or deadline.passed:
            status = Status.MAX_ITER if n_iter >= max_iter else Status.MAX_TIME
            break
        width *= _SHRINK
    if status is Status.STALLED and best.relative <= tol:
        status = Status.CONVERGED
    return ChanceSolution(
        w=best.w,
        b=best.b,
        dual=best.dual,
        evidence=partial(as_found, problem, best.w, best.b, best.dual),
        ended=status,
        n_iter=n_iter,
        seconds=time.perf_counter() - started,
        history=history,
        tol=tol,
    )


def _record(steps: int, seconds: float, width: float, best: _Candidate) -> Stage:
    record = {"stage": "smoothing", "size": steps, "seconds": seconds}
    return record | {"objective": best.objective, "gap": best.gap, "width": width}


def _rough_start(problem: ChanceProblem, deadline: Deadline) -> tuple[Point, float]:
    """Return where the first stages end on an eighth of the rows; the next width."""
    part = problem.take(np.arange(0, problem.shape[0], 8))
    part = replace(part, costs=8.0 * part.costs)
    point, width = point_at(part, np.zeros(problem.shape[1]), 0.0), _FIRST_WIDTH
    centre = Multipliers.constant(part, 0.5)
    while width > _ROUGH_WIDTH:
        accuracy = 1e-3 * width * float(part.costs.sum())
        point, _, _ = _stage(
            part, point, centre, width, accuracy, _STEPS_PER_STAGE, deadline
        )
        width *= _SHRINK
    return point_at(problem, point.w, point.b), width


def _candidate(problem: ChanceProblem, point: Point, found: Multipliers) -> _Candidate:
    """Return the point with its best intercept and its gap to the multipliers.

    Those of corners are without their part along w, unless that part is no rounding:
    where w is tiny, a direction needs many stages until it is of length one.
    """
    inflation = problem.kappa * problem.uncertainty.spread(point.w)
    b = best_intercept(problem, point.margins, inflation)

    def against(found: Multipliers) -> _Candidate:
        dual = Dual(problem.costs * found.shares, found.preimages)
        gap = duality_gap(problem, point.w, b, dual.alpha, found.directions)
        return _Candidate(point.w, b, dual, *gap)

    clean = against(found.without(point))
    if clean.relative <= _EXACT:
        return clean
    return min(clean, against(found), key=lambda each: each.gap)


def _stage(
    problem: ChanceProblem,
    point: Point,
    centre: Multipliers,
    width: float,
    accuracy: float,
    budget: int,
    deadline: Deadline,
) -> tuple[Point, Multipliers, int]:
    """Take Newton steps at one width until what they leave of the gap is ``accuracy``.

    That is half the squared gradient of w, or the decrement if it is larger. Decrements
    too small to be seen in the value end when they fall no longer.
    """
    state, before, steps = smoothed(problem, point, centre, width), np.inf, 0
    while steps < min(budget, _STEPS_PER_STAGE) and not deadline.passed:
        found = damped_step(hessian(problem, state, width), state.gradient)
        if found is None:  # overflow
            break
        decrement = -inner(state.gradient, found)
        unseen = decrement <= 1e-12 * abs(state.value)
        error = max(decrement, 0.5 * float(np.square(state.gradient[:-1]).sum()))
        if error <= accuracy or (unseen and decrement > 0.25 * before):
            break
        direction = point_at(problem, found[:-1], float(found[-1]))
        moved: Smoothed | None
        if unseen:
            moved = smoothed(problem, state.point.moved(1.0, direction), centre, width)
        else:
            moved = line_search(problem, state, direction, width)
        if moved is None:
            break
        state = moved
        before, steps = decrement, steps + 1
    return state.point, state.found, steps

"""Solve any dual problem: the one place that chooses a solver and a precision.

The solvers take float32 kernel rows with a float64 gradient, which is good to about
1e-5. A tighter tolerance is reached by refinement: the gradient is recomputed in
float64 and the solve goes on from there, its steps now so small that float32 rows
suffice again.
``accuracy="exact"`` ends with the polish of :mod:`widemargin.polish`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from .certificate import kkt_violation, optimal_intercept
from .kernels import Linear, Sigmoid
from .linear_newton import newton_pays, newton_start
from .path import path_seconds, repair
from .polish import POLISH_LIMIT, polish
from .problem import DualProblem
from .solution import Solution, assume_the_worst
from .starting import project, starting_point

Vector = NDArray[np.float64]
Monitor = Callable[[int, float, int], bool]
Screen = Callable[
    [DualProblem, int, NDArray[np.int32], Vector, Vector, float], NDArray[np.bool_]
]

SINGLE_PRECISION = 1e-4  # below this the gradient is refined in float64
FAR = 10.0  # times the tolerance: from there Newton in the primal pays once more
ERROR_PROBES = 256  # gradients computed again where float32 is in doubt
MAX_REFINEMENTS = 30
SLOW = 100  # pair steps a sample: from there a path may be the shorter way
STEP_SECONDS = 2e-6  # of a pair step, where a path's seconds are weighed against it
POLISH_START = 1e-6  # where the polish starts again if it failed from ``tol``


@dataclass(frozen=True)
class DrawnPairs:
    """Pair rule that draws its second member by the exponential mechanism (DPWSS).

    Parameters
    ----------
    epsilon : float
        Of one draw; infinity takes the best score instead of drawing.
    sigma : float in (0, 1]
        Smallest admitted score, as a share of the largest violation.
    once : bool
        Whether a pair may be drawn only once in the whole run.
    robust_maximum : bool
        Whether scores are relative to the largest violation among unused pairs.
    """

    epsilon: float = 1.0
    sigma: float = 0.7
    once: bool = True
    robust_maximum: bool = False


@dataclass
class _Budget:
    """Steps and seconds a solve may still take."""

    max_iter: int
    max_time: float | None
    pause: int  # steps after which to look for a path
    steps: int = 0
    start: float = 0.0

    def __post_init__(self) -> None:
        self.start = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.start

    def steps_left(self) -> int:
        return -1 if self.max_iter < 0 else max(0, self.max_iter - self.steps)

    def steps_to_pause(self) -> int:
        left, pause = self.steps_left(), max(0, self.pause - self.steps)
        return pause if left < 0 else min(left, pause)

    def seconds_left(self) -> float:
        return -1.0 if self.max_time is None else max(0.0, self.max_time - self.seconds)


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
    polish_limit: int = POLISH_LIMIT,
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
        `error`. Only "blocks" asks. See :class:`widemargin.screener.Screener`.
    polish_limit : int
        Largest margin set that "exact" polishes; beyond it "exact" means "tol".

    Returns
    -------
    Solution
        Also when the limits were reached first: the status says which.
    """
    if accuracy not in ("tol", "exact"):
        raise ValueError(f"accuracy={accuracy!r} is unknown; use 'tol' or 'exact'.")
    budget = _Budget(max_iter, max_time, pause=SLOW * problem.n)
    # The pair rules are studied for the path they take: they start where told, or at 0.
    ahead = tol if selection == "blocks" else None
    beta, values, exact = starting_point(problem, start)
    if ahead is not None and isinstance(problem.gram.kernel, Linear):
        beta, values = _ahead(problem, beta, values, ahead, cold=start is None)
    gradient = values - problem.linear
    stale = np.zeros(problem.n, dtype=np.bool_)
    # The last point whose products are float64 throughout: refinement adds to them the
    # columns that changed since.
    known = (beta.copy(), values) if exact else (0.0 * beta, 0.0 * values)
    drawn = isinstance(selection, DrawnPairs)  # float64 rows: one run, no refinement
    first = tol if drawn else max(tol, SINGLE_PRECISION)
    status = _run(
        problem, beta, gradient, stale, first, budget,
        shrinking, seed, selection, monitor, screen, known[0],
    )  # fmt: skip
    unseen = None
    if status == "max_time":
        unseen = assume_the_worst(problem, beta, gradient, stale)
    if _margin_size(problem, beta) > polish_limit:
        accuracy = "tol"
    single = _float32_suffices(problem, beta, gradient, stale, first)
    trusted = tol >= SINGLE_PRECISION and single
    solution = Solution(
        problem, beta, gradient + problem.linear, status, budget.steps,
        budget.seconds, stale=stale.copy() if stale.any() else None, unseen=unseen,
    )  # fmt: skip
    if unseen is not None:
        return solution
    if drawn or (trusted and accuracy == "tol" and status != "stalled"):
        return solution
    if accuracy == "exact" and status == "converged":
        polished = polish(solution, tol=tol)
        if polished.status == "polished":
            return polished
    # The polish mostly succeeds from a loose solution; if not, from a tight one.
    goals = (tol,) if accuracy == "tol" else (tol, min(tol, POLISH_START))
    for goal in goals:
        violation = np.inf
        for _ in range(MAX_REFINEMENTS):
            if status in ("max_iter", "max_time", "interrupted"):
                break
            known = (beta.copy(), known[1] + problem.gram.times(beta - known[0]))
            gradient = known[1] - problem.linear
            stale[:] = False
            previous, violation = violation, _violation(problem, beta, gradient)
            status = "converged" if violation <= tol else "stalled"
            if violation <= goal or not violation < 0.9 * previous:
                break
            target = max(goal, 0.02 * violation)
            status = _run(
                problem, beta, gradient, stale, target, budget,
                shrinking, seed, selection, monitor, screen, known[0], single,
            )  # fmt: skip
        solution = Solution(
            problem, beta, gradient + problem.linear, status, budget.steps,
            budget.seconds, exact=np.array_equal(beta, known[0]),
            stale=stale.copy() if stale.any() else None,
        )  # fmt: skip
        if accuracy == "tol":
            return solution
        if status in ("converged", "stalled"):
            solution = polish(solution, tol=tol)
        if solution.status == "polished":
            break
    return solution


def _float32_suffices(
    problem: DualProblem,
    beta: Vector,
    gradient: Vector,
    stale: NDArray[np.bool_],
    tol: float,
) -> bool:
    """Say whether float32 rows leave about `tol` or less in the gradient.

    Samples near the margin are summed in float64 at the end of a solve; this is about
    the others, whose gradients decide nothing but enter the objective. The estimate
    takes every entry for as large as it can be; in doubt, a few hundred gradients are
    computed again.
    """
    if problem.gram.float32_error(beta) <= 0.5 * tol:
        return True
    known = np.flatnonzero(~stale)
    probes = known[:: max(1, known.size // ERROR_PROBES)]
    exact = problem.gram.times(beta, probes) - problem.linear[probes]
    return float(np.abs(exact - gradient[probes]).max(initial=0.0)) <= tol


def _ahead(
    problem: DualProblem, beta: Vector, values: Vector, tol: float, *, cold: bool
) -> tuple[Vector, Vector]:
    """Go on in the primal where a linear problem is far from solved: it is faster."""
    X = problem.gram.samples
    far = cold or _violation(problem, beta, values - problem.linear) > FAR * tol
    if not (far and newton_pays(problem, X)):
        return beta, values
    near = None
    if not cold:
        box = problem.linear, problem.lower, problem.upper, problem.total
        intercept = optimal_intercept(values, *box)
        near = np.append(np.asarray(X.T @ beta).ravel(), intercept)
    beta = newton_start(problem, X, tol, near)
    beta = project(beta, problem.lower, problem.upper, problem.total)
    return beta, problem.gram.times(beta)


def _margin_size(problem: DualProblem, beta: Vector) -> int:
    return int(np.count_nonzero((beta > problem.lower) & (beta < problem.upper)))


def _violation(problem: DualProblem, beta: Vector, gradient: Vector) -> float:
    has_equality = problem.total is not None
    return kkt_violation(beta, gradient, problem.lower, problem.upper, has_equality)


def _run(
    problem: DualProblem,
    beta: Vector,
    gradient: Vector,
    stale: NDArray[np.bool_],
    tol: float,
    budget: _Budget,
    shrinking: bool,
    seed: int,
    selection: str | DrawnPairs,
    monitor: Monitor | None,
    screen: Screen | None,
    exact_at: Vector,
    single: bool = True,
) -> str:
    """Run the compiled solver in place on ``beta``, ``gradient`` and ``stale``.

    ``exact_at`` is the last point at which the gradient was known in float64.
    ``single`` allows float32 rows, where they are good enough for these samples.
    """
    core = problem.gram._core
    arrays = (core, problem.linear, problem.lower, problem.upper)
    equality = problem.total is not None
    if selection == "blocks":
        single = single and problem.gram.single_precision_suffices

        def decide(steps: int, samples: Any, keep: Any) -> None:
            assert screen is not None
            error = 8.0 * problem.gram.float32_error(beta - exact_at) if single else 0.0
            done = budget.steps + steps
            keep[:] = screen(problem, done, samples, beta, gradient, error)

        while True:
            limits = (budget.steps_to_pause(), budget.seconds_left())
            status, steps, _ = _core.solve_blocks(
                *arrays, equality, beta, gradient, stale, tol, *limits,
                shrinking, seed, single, monitor, None if screen is None else decide,
            )  # fmt: skip
            budget.steps += steps
            if status != "max_iter" or budget.steps_left() == 0:
                break
            budget.pause = 2 * budget.steps
            if _leap(problem, beta, gradient, stale, budget):
                status = "converged"
                break
        if status == "interrupted":  # where the solver stood, nothing was up to date
            gradient[:] = problem.gram.times(beta) - problem.linear
            stale[:] = False
        return str(status)
    limits = (budget.steps_left(), budget.seconds_left())
    if not equality:
        raise ValueError(
            f"selection={selection!r} needs an intercept (total); "
            'use selection="blocks" without one.'
        )
    if isinstance(selection, DrawnPairs):
        status, steps, _ = _core.solve_drawn_pairs(
            *arrays, beta, gradient, selection.epsilon, selection.sigma, selection.once,
            selection.robust_maximum, shrinking, seed, tol, *limits, monitor,
        )  # fmt: skip
    else:
        status, steps, _ = _core.solve_pairs(
            *arrays, beta, gradient, selection, tol, *limits, monitor
        )
    budget.steps += steps
    return str(status)


def _leap(
    problem: DualProblem,
    beta: Vector,
    gradient: Vector,
    stale: NDArray[np.bool_],
    budget: _Budget,
) -> bool:
    """Go to the exact solution by a path, where that is less than what lies behind.

    With a large C and few features the kernel matrix is close to singular, and pair
    steps creep by the million. Once they have found most of the support vectors the
    path to the solution has a few events for each member of the margin set.
    """
    margin = _margin_size(problem, beta)
    seconds = path_seconds(problem.n, margin, margin)
    within = seconds <= STEP_SECONDS * budget.steps
    if budget.max_time is not None:
        within = within and seconds < budget.seconds_left()
    if not within or isinstance(problem.gram.kernel, Sigmoid):  # indefinite: no path
        return False
    near = Solution(problem, beta.copy(), problem.gram.times(beta), "slow", exact=True)
    reached, _, _ = repair(near)
    if reached is None:
        return False
    beta[:] = reached.beta
    gradient[:] = reached.values - problem.linear
    stale[:] = False
    return True

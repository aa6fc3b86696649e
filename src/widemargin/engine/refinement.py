"""A solve under way: runs of the compiled solver, refined in float64 between them.

The solvers take float32 kernel rows with a float64 gradient, which is good to about
1e-5. A tighter tolerance is reached by refinement: the gradient is recomputed in
float64 and the solve goes on from there, its steps now so small that float32 rows
suffice again.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from widemargin import _core
from widemargin.numerics.products import transposed_times
from widemargin.runtime.deadline import Deadline

from .bounded_values import CURRENT, BoundedValues, Evidence
from .certificate import dual_objective, violation
from .feasible import feasible, starting_point
from .intercept import optimal_intercept
from .interrupted import Interrupted
from .kernels import Linear
from .path import path_seconds, repair
from .primal_newton import newton_pays, newton_start
from .problem import DualProblem, SecondSum
from .solution import NOT_FINITE, Solution
from .solve_options import DrawnPairs, SolveOptions
from .split_variables import by_sides, joined
from .stagnation import Stagnation
from .status import Status

Vector = NDArray[np.float64]

FAR = 10.0  # tolerances: beyond this violation primal Newton pays once more
ERROR_PROBES = 256  # gradients recomputed where float32 may not suffice
MAX_REFINEMENTS = 30
SLOW = 100  # pair steps per sample: from there a path may be the shorter way
ENDLESS = 20_000  # pair steps per sample: beyond, progress is limited by rounding
STEP_SECONDS = 2e-6  # seconds of a pair step, compared with the estimate of a path


class Spending:
    """Steps and seconds a solve has taken, and what its options leave of them."""

    def __init__(self, options: SolveOptions, pause: int) -> None:
        self.steps = 0
        self.pause = pause  # steps after which to look for a path
        self._options = options
        self._begun = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Spent so far."""
        return time.perf_counter() - self._begun

    def steps_left(self) -> int:
        """Return how many steps are left; -1 without a limit."""
        limit = self._options.max_iter
        return -1 if limit < 0 else max(0, limit - self.steps)

    def steps_to_pause(self) -> int:
        """Return how many steps to take before looking for a path."""
        left, pause = self.steps_left(), max(0, self.pause - self.steps)
        return pause if left < 0 else min(left, pause)


class Descent:
    """The point of a solve, its gradient, and what may still be spent.

    Attributes
    ----------
    beta, gradient : ndarray of shape (n,)
        The point, and ``K beta - linear`` where the anchor is the point itself.
    errors : ndarray of shape (n,)
        Bounds on the rounding in the gradient, infinite where unknown.
    anchors, points : ndarray of int32, list of ndarray
        The point each gradient belongs to, see
        :class:`widemargin.engine.verification.Evidence`.
    known : pair of ndarray
        The last point whose products are float64 throughout, and these products:
        refinement adds to them the columns that changed since.
    exact : bool
        Whether the gradient is that of ``known``.
    near : KnownPoint or None
        The start, where the rounding of its products is known.
    status : Status
        How the last run ended.
    """

    def __init__(
        self,
        problem: DualProblem,
        start: ArrayLike | Solution | None,
        options: SolveOptions,
    ) -> None:
        if problem.kink is not None and not (options.blocks and options.screen is None):
            raise ValueError(
                'screening and pair rules know no kink; use selection="blocks" without '
                "a screen, or split the variables (engine.split_variables.by_sides)."
            )
        spent = Spending(options, SLOW * problem.n)
        beta, values, exact = starting_point(problem, start)
        plain = options.second_sum is None
        linear = options.blocks and plain and isinstance(problem.gram.kernel, Linear)
        if linear:
            beta, values = primal_start(
                problem, beta, values, options.tol,
                cold=start is None, deadline=options.deadline,
            )  # fmt: skip
        self.problem, self.options, self.spent = problem, options, spent
        if options.second_sum is not None:
            self._given = problem
            self._kink = np.array([options.second_sum.kink(problem)])
        self.beta, self.gradient = beta, values - problem.linear
        self.errors = np.full(problem.n, np.inf if beta.any() else 0.0)
        self.anchors = np.full(problem.n, CURRENT, dtype=np.int32)
        self.points: list[Vector] = []
        self.known = (beta.copy(), values) if exact else (np.zeros(beta.size),) * 2
        self.exact = False
        # By Newton's method, in float64: float32 rows of large features would undo it.
        self._solved = linear and violation(problem, beta, values) <= options.tol
        self.near = None
        if isinstance(start, Solution) and start.problem.n == problem.n:
            self.near = start.known_point()
        self.status = Status.START
        self._stagnation = Stagnation(problem)
        earlier = () if options.screen is None else options.screen.checks
        self._checked = len(earlier)  # by earlier solves with this rule
        n = problem.n  # what float32 leaves in an entry, as if all were of one size
        self._entry_error = problem.gram.float32_error(np.ones(n)) / np.sqrt(n)
        if math.isnan(self._entry_error):  # entries overflow in float64, too
            raise ValueError(NOT_FINITE)

    def run(self, tol: float, single: bool = True) -> None:
        """Run the compiled solver to ``tol``, in place.

        ``single`` allows float32 rows, where they are good enough for these samples.
        """
        self.exact = False
        if self._solved:
            self._solved, self.status = False, Status.CONVERGED
        elif self.options.blocks:
            single = single and self.problem.gram.single_precision_suffices
            self._run_blocks(tol, single)
        else:
            self._run_pairs(tol)

    def refine(self, tol: float, goal: float, single: bool) -> None:
        """Solve to the violation ``goal``, the gradient made exact before each run.

        Where the precision is exhausted first, at ``tol`` or less has "converged".
        """
        left = np.inf
        for _ in range(MAX_REFINEMENTS):
            if self.status.stopped:
                return
            problem = self.problem
            moved = problem.gram.times(self.beta - self.known[0])
            self.known = self.beta.copy(), self.known[1] + moved
            self._adopt(self.known[1])
            self.exact = True
            before, left = left, violation(problem, *self.known)
            self.status = Status.CONVERGED if left <= tol else Status.STALLED
            if left <= goal or not left < 0.9 * before:
                return
            self.run(max(goal, 0.02 * left), single)

    def solution(self) -> Solution:
        """Return the point reached; its evidence is good until the next run."""
        screen = self.options.screen
        evidence = Evidence(self.errors, self.anchors, self.points)
        return Solution(
            self.problem,
            self.beta.copy(),
            self.gradient + self.problem.linear,
            self.status,
            self.spent.steps,
            self.spent.seconds,
            screened=None if screen is None else screen.checks[self._checked :],
            exact=self.exact,
            evidence=evidence,
            near=self.near,
        )

    def float32_suffices(self, tol: float) -> bool:
        """Estimate whether float32 rows left less than `tol` in the gradient.

        The estimate takes every entry for as large as it can be; in doubt, a few
        hundred gradients are computed again.
        """
        problem = self.problem
        if problem.gram.float32_error(self.beta) <= 0.5 * tol:
            return True
        known = np.flatnonzero(self.anchors == CURRENT)
        probes = known[:: max(1, known.size // ERROR_PROBES)]
        exact = problem.gram.times(self.beta, probes) - problem.linear[probes]
        off = np.abs(exact - self.gradient[probes])
        return float(off.max(initial=0.0)) <= tol

    def resume_from(self, checked: BoundedValues, goal: float) -> None:
        """Restart from verified values: the error of float32 rows was too large."""
        self._adopt(checked.values, checked.errors)
        self.run(goal)

    def _adopt(self, values: Vector, errors: Vector | float = np.inf) -> None:
        """Set K beta; by default nothing is known of its rounding."""
        self.gradient[:] = values - self.problem.linear
        self.errors[:] = errors
        self.anchors[:] = CURRENT
        self.points = []

    def _run_blocks(self, tol: float, single: bool) -> None:
        problem, options, spent = self.problem, self.options, self.spent
        screen, exact_at = options.screen, self.known[0]

        def decide(steps: int, samples: Any, keep: Any) -> None:
            assert screen is not None
            moved = self.beta - exact_at
            error = 8.0 * problem.gram.float32_error(moved) if single else 0.0
            done = spent.steps + steps
            keep[:] = screen(problem, done, samples, self.beta, self.gradient, error)

        while True:
            # What an earlier run left is accurate enough to continue from, no more.
            self.errors[self.anchors != CURRENT] = np.inf
            asked = self._core_options(tol, spent.steps_to_pause(), single)
            if options.second_sum is None:
                outcome, raised = _core.solve_blocks(
                    *self._arrays(), problem.kink, problem.total is not None,
                    self.beta, self.gradient, self.errors, self.anchors,
                    asked, options.monitor, None if screen is None else decide,
                )  # fmt: skip
            else:
                outcome, raised = self._run_on_both_sums(asked, options.second_sum)
            self.status, self.points = Status(outcome.status), outcome.points
            spent.steps += outcome.steps
            if raised is not None:  # Ctrl-C, or whatever the monitor raised
                raise raised
            if self.status != Status.MAX_ITER or spent.steps_left() == 0:
                break
            soon, last = spent.steps + SLOW * problem.n, ENDLESS * problem.n
            spent.pause = min(2 * spent.steps, max(soon, last))
            if self._leap(tol):
                self.status = Status.CONVERGED
                break
            current = self.anchors == CURRENT
            endless = spent.steps >= ENDLESS * problem.n
            if endless or self._stagnation.reached(self.beta, self.gradient, current):
                self.status = Status.STALLED
                # Another run begins with an exact gradient: if that is no help it shows
                # soon, not after as many steps as all before.
                spent.pause = soon
                break

    def _run_on_both_sums(
        self, asked: _core.SolverOptions, second: SecondSum
    ) -> tuple[Any, Any]:
        """Run with a second sum; the problem becomes that at its multiplier."""
        given = self._given
        self.gradient += self.problem.linear - given.linear
        outcome, raised = _core.solve_blocks(
            given.gram._core, given.linear, given.lower, given.upper, None, True,
            self.beta, self.gradient, self.errors, self.anchors,
            asked, self.options.monitor, None, self._kink, second.has_margin,
        )  # fmt: skip
        kink = float(self._kink[0])
        if not math.isfinite(kink):  # sums beyond the numbers of the kernel rows
            raise ValueError(NOT_FINITE)
        self.problem = second.at(given, kink)
        self.gradient -= self.problem.linear - given.linear
        return outcome, raised

    def _run_pairs(self, tol: float) -> None:
        options, spent = self.options, self.spent
        rule = options.selection
        if self.problem.total is None:
            raise ValueError(
                f"selection={rule!r} needs an intercept (total); "
                'use selection="blocks" without one.'
            )
        point = (*self._arrays(), self.beta, self.gradient)
        asked, monitor = self._core_options(tol, spent.steps_left()), options.monitor
        if isinstance(rule, DrawnPairs):
            draw = _core.DrawOptions(
                epsilon=rule.epsilon,
                sigma=rule.sigma,
                once=rule.once,
                robust_maximum=rule.robust_maximum,
            )
            outcome, raised = _core.solve_drawn_pairs(*point, draw, asked, monitor)
        else:
            outcome, raised = _core.solve_pairs(*point, rule, asked, monitor)
        self.status = Status(outcome.status)
        spent.steps += outcome.steps
        if raised is not None:
            raise raised

    def _core_options(
        self, tol: float, steps: int, single: bool = True
    ) -> _core.SolverOptions:
        options = self.options
        proved = options.certify or options.proved_later
        return _core.SolverOptions(
            tolerance=tol,
            max_steps=steps,
            max_seconds=options.deadline.seconds_left,
            # How near to a violation a sample stays active is counted in units of the
            # linear term; without one, samples would leave and come back all the time.
            shrinking=options.shrinking and bool(self.problem.linear.any()),
            seed=options.seed,
            single_precision=single,
            every_gradient=options.every_value,
            entry_error=self._entry_error if single and proved else 0.0,
        )

    def _arrays(self) -> tuple[Any, Vector, Vector, Vector]:
        problem = self.problem
        return problem.gram._core, problem.linear, problem.lower, problem.upper

    def _leap(self, tol: float) -> bool:
        """Follow a path to the exact solution if it costs less than the steps so far.

        With a large C and few features the kernel matrix is close to singular, and pair
        steps creep by the million. Once they have found most of the support vectors the
        path to the solution has a few events for each member of the margin set. Where
        features are so large that its end is off by rounding, `tol` decides whether it
        is the solution; pair steps go on from there if it is nearer.
        """
        problem, spent = self.problem, self.spent
        margin = int(np.count_nonzero(problem.free(self.beta)))
        seconds = path_seconds(problem.n, margin, margin)
        within = seconds <= STEP_SECONDS * spent.steps
        within = within and seconds < self.options.deadline.seconds_left
        plain = self.options.second_sum is None
        # else there is no path, or none that keeps both sums
        if not (within and plain and problem.gram.kernel.semidefinite):
            return False
        beta = self.beta.copy()
        values = problem.gram.times(beta)
        _, beta, _ = repair(Solution(problem, beta, values, Status.START, exact=True))
        terms = problem.linear, problem.kink
        before = dual_objective(self.beta, values, *terms)
        beta = feasible(beta, problem)
        values = problem.gram.times(beta)
        solved = violation(problem, beta, values) <= tol
        if solved or dual_objective(beta, values, *terms) < before:
            self.beta[:] = beta
            self._adopt(values)
        return solved


def primal_start(
    problem: DualProblem,
    beta: Vector,
    values: Vector,
    tol: float,
    *,
    cold: bool,
    deadline: Deadline,
) -> tuple[Vector, Vector]:
    """Continue by Newton in the primal where a linear problem is far from solved."""
    X = problem.gram.samples
    far = cold or violation(problem, beta, values) > FAR * tol
    if not (far and newton_pays(X)):
        return beta, values
    near = None
    if not cold:
        box = problem.linear, problem.lower, problem.upper, problem.total
        intercept = optimal_intercept(values, *box, problem.kink)
        weights = transposed_times(X, beta, problem.gram.threads)
        near = np.append(weights, intercept)
    moved = _newton_by_sides(problem, tol, near, deadline)
    moved = feasible(moved, problem)
    there = problem.gram.times(moved)
    # What had no time to become a solution may be worse than where it began.
    terms = problem.linear, problem.kink
    better = dual_objective(moved, there, *terms) <= dual_objective(
        beta, values, *terms
    )
    return (moved, there) if better else (beta, values)


def _newton_by_sides(
    problem: DualProblem, tol: float, near: Vector | None, deadline: Deadline
) -> Vector:
    """Return dual variables by Newton in the primal, two per member with a kink."""
    sides = by_sides(problem)
    try:
        moved = newton_start(sides, sides.gram.samples, tol, near, deadline)
    except Interrupted as stop:
        if sides is problem:
            raise
        beta = joined(stop.beta)
        raise Interrupted(problem, beta, stop.n_iter, stop.seconds) from stop
    return moved if sides is problem else joined(moved)

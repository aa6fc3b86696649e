"""Find the multiplier of a second sum: one root finder for nu-SVC and nu-SVR.

The solution of the engine's problem at a multiplier m is piecewise linear in m (of
nu-SVC, after multiplication with m), and its second sum is monotone (mathematics 9.3).
So a combination of the solutions at two near multipliers that has exactly the wanted
sum is a solution itself, up to what the set of free members changed between them: the
search ends there, not at a root of a sum that a tolerance leaves uncertain.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounded_values import CURRENT, Evidence
from widemargin.engine.bounds import UNIT
from widemargin.engine.certificate import violation
from widemargin.engine.problem import DualProblem
from widemargin.engine.refinement import ENDLESS
from widemargin.engine.solution import Solution
from widemargin.engine.solve import NEARLY, proved, solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status

from .nu_polish import polish
from .nu_problem import NuProblem
from .nu_solution import NuSolution
from .trial import UNKNOWN, Trial, combined, snapped, stage, trial

Vector = NDArray[np.float64]
Solver = Callable[[DualProblem, SolveOptions, Any], Solution]
Record = Callable[[dict[str, Any]], None]

THIN = 6  # every 6th row gives the first multiplier
THIN_FROM = 1000  # rows from which the problem is thinned first
PROBES = 100  # rows from which a rough level is estimated
SMALL = 1e-3  # first level, in the same unit, where the margin is unknown
COARSE = 1e-3  # tolerance there, as a share of the margin or the spread of the targets
ROUGH = 0.05  # accuracy of a thinned problem, as a share of the budget
LOOSE = 30.0  # tolerance of a first solve, over the tolerance
NEAR = 0.02  # share of the budget from which solves have the last tolerance
FLOOR = 1e-10  # least margin, in units of the budget times the largest K_ii
STEP = 30.0  # the multiplier of nu-SVC changes by at most this factor
OVERSHOOT = 1.1  # share of the way to the root, to bracket it
SHARE = 0.1  # tolerance between two ends, as a share of their distance
FINEST = 1e-3  # finest tolerance of a solve, over the tolerance
ROUNDS = 60
EXACT_ROUNDS = 12  # rounds with a polish, which may succeed from a closer point

NO_MARGIN = (
    "nu={nu:g} is too small: the margin of its solution is zero, since the classes "
    "overlap by more than this share of the samples, so there is no such classifier. "
    "Increase nu, or use SVC with a C of your choice."
)
NOTHING_POSITIVE = (
    "nu-SVC has no margin where the kernel of no sample with itself is positive. "
    "Choose another kernel, or increase coef0."
)


class Search:
    """The trials so far, and those between which the multiplier lies."""

    every_value = True  # of the trials, which are combined

    def __init__(
        self,
        origin: NuProblem,
        options: SolveOptions,
        solver: Solver,
        record: Record,
        *,
        divided: bool = False,
    ) -> None:
        self.origin, self.options, self.solver = origin, options, solver
        self.record, self.divided = record, divided
        self.multiplier = 0.0
        self.last: Trial | None = None
        self.before: Trial | None = None
        self.below: Trial | None = None
        self.above: Trial | None = None
        self.widths: list[float] = []  # of what lies between them, round by round
        self.small = False  # whether a tube all but closed was tried before none
        self.slope: float | None = None  # of the miss, by coordinate
        self.fewer: float | None = None  # the multiplier of a part of the rows
        self.steps, self.begun = 0, time.perf_counter()
        largest = float(origin.gram.diagonal().max(initial=0.0))
        if origin.has_margin and not largest > 0.0:
            raise ValueError(NOTHING_POSITIVE)
        self.natural = origin.budget * largest if origin.has_margin else 0.0
        self.floor = FLOOR * self.natural

    def run(self, start: Vector | None) -> NuSolution:
        """Search to the end."""
        multiplier, beta, tol = self.former(start), start, self.options.tol
        reach = (LOOSE if self.options.exact else NEARLY) * tol
        good = 0  # points to the tolerance, where the polish failed
        best: NuSolution | None = None
        least = np.inf  # its violation
        for _ in range(ROUNDS):
            last = self.solved(multiplier, beta)
            if last.solution.status.stopped:
                return self.proved(self.ended(last))
            if self.has_slack(last):
                return self.proved(self._at(last, (0.0, last.solution.intercept)))
            found = self.candidate(last)
            if found is not None:
                left = violation(found.problem, found.beta, found.solution.known_values)
                if left < least:
                    best, least = found, left
                if left <= reach and self.options.exact:
                    exact = self.polished(found)
                    if exact is not None:
                        return self.proved(exact)
                    reach = 0.3 * left
                if left <= NEARLY * tol:
                    proven, good = self.proved(found), good + 1
                    if proven.converged and self.enough(proven, good):
                        return proven
            if last.solution.status == Status.STALLED and self.endless:
                break
            multiplier, beta = self.next_multiplier(), None
        reached = self.proved(best or self.ended(last))
        if best is not None and reached.converged:
            return reached
        stalled = replace(reached.solution, status=Status.STALLED)
        return replace(reached, solution=stalled)

    @property
    def endless(self) -> bool:
        """Whether all trials together took as many steps as one solve may."""
        return self.steps >= ENDLESS * self.origin.gram.n

    def has_slack(self, trial: Trial) -> bool:
        """Whether the budget is not reached even at epsilon = 0: then epsilon is 0."""
        no_tube = not self.origin.has_margin and trial.multiplier == 0.0
        return no_tube and trial.miss >= 0.0

    def enough(self, found: NuSolution, good: int) -> bool:
        """Whether a point at the tolerance is the best this search can find."""
        margin = found.solution.margin.size
        exact = self.options.exact and margin <= self.options.polish_limit
        return not exact or good > EXACT_ROUNDS

    # ---- the first multiplier ------------------------------------------------

    def former(self, start: Vector | None) -> float:
        """Return the multiplier at which a former model was found, or a first guess."""
        origin = self.origin
        if start is None or not start.any():
            return self.first_guess()
        if origin.has_margin:
            return max(origin.budget / float(np.abs(start).sum()), self.floor)
        return origin.levels(origin.gram.times(start))[0]

    def first_guess(self) -> float:
        """Return a multiplier to begin with: of some of the rows, or a rough level."""
        origin = self.origin
        if origin.gram.n > THIN_FROM:
            return self.from_fewer_rows()
        part = origin.thinned(max(1, origin.gram.n // PROBES))
        values = np.zeros(part.gram.n)
        if origin.has_margin:
            values = part.gram.times(part.feasible(values))
        return max(part.levels(values)[0], SMALL * self.natural)

    def from_fewer_rows(self) -> float:
        """Return the multiplier of a thinned problem, extrapolated from two."""
        part = self.origin.thinned(THIN)
        unit = 1.0 if part.has_margin else float(np.std(part.linear))
        options = replace(self.options, tol=max(self.options.tol, COARSE * unit))
        thin = type(self)(part, options, direct, forget)
        found = thin.roughly()
        self.slope, self.fewer = thin.slope, found
        if thin.fewer:
            # Margins fall with the number of rows, by much the same factor each time;
            # tubes, which few rows fit into too well, grow.
            factor, most = found / thin.fewer, THIN**0.5
            if self.origin.has_margin:
                found *= min(max(factor, 1.0 / most), 1.0)
            else:
                found *= min(max(factor, 1.0), most)
        return max(found, self.floor)

    def roughly(self) -> float:
        """Return the multiplier to about the share ROUGH of the budget."""
        multiplier = self.first_guess()
        for _ in range(ROUNDS):
            last = self.solved(multiplier, None)
            at_end = multiplier <= self.floor and last.miss > 0.0
            if at_end or last.solution.status.stopped:
                break
            multiplier = self.next_multiplier()
            if abs(last.miss) <= ROUGH:
                break
        return multiplier

    # ---- one round -----------------------------------------------------------

    def solved(self, multiplier: float, beta: Vector | None) -> Trial:
        """Solve at a multiplier, from the last trial or a given point."""
        origin, options, last = self.origin, self.options, self.last
        self.multiplier = multiplier
        problem, unit = origin.at(multiplier), origin.unit(multiplier)
        start: Any = None if beta is None else snapped(beta, problem)
        if beta is None and last is not None:
            start = Solution(
                problem, last.a / unit, last.values / unit, Status.START,
                exact=last.exact,
            )  # fmt: skip
        tol, left = self._tolerance(multiplier, beta), options.max_iter
        solution = self.solver(
            problem,
            replace(
                options, tol=tol, certify=False, every_value=self.every_value,
                exact=options.exact and multiplier == 0.0,
                max_iter=left if left < 0 else max(0, left - self.steps),
            ),
            start,
        )  # fmt: skip
        self.steps += solution.n_iter
        self.record(stage(multiplier, solution))
        self.before, self.last = last, trial(origin, multiplier, tol, solution)
        self._bracket(self.last)
        return self.last

    def _tolerance(self, multiplier: float, beta: Vector | None) -> float:
        """Return the tolerance of the next solve: loose while the sum is far off."""
        tol, last = self.options.tol, self.last
        miss = 1.0 if last is None else abs(last.miss)
        near = miss <= NEAR or multiplier == 0.0 or beta is not None
        loose = tol * (1.0 if near else min(LOOSE, max(1.0, 50.0 * miss)))
        if not self.widths:
            return loose
        # A sum that jumps is missed by much however near the multiplier is.
        width = SHARE * self.widths[-1] / self.origin.unit(multiplier)
        return min(loose, max(width, FINEST * tol))

    def _bracket(self, last: Trial) -> None:
        """Take a trial as the new end of the bracket."""
        low, high, here = self.below, self.above, last.multiplier
        if last.miss > 0.0:
            self.above = last
            self.below = low if low and low.multiplier < here else None
        else:
            self.below = last
            self.above = high if high and high.multiplier > here else None
        if self.below is not None and self.above is not None:
            self.widths.append(self.above.multiplier - self.below.multiplier)

    def next_multiplier(self) -> float:
        """Estimate the root from the last two trials, or from the slope so far."""
        origin, last, before = self.origin, self.last, self.before
        assert last is not None
        if last.multiplier <= self.floor and last.miss > 0.0 and origin.has_margin:
            weights = float(origin.upper.sum() - origin.lower.sum())
            raise ValueError(NO_MARGIN.format(nu=origin.budget / weights))
        here = self._coordinate(last.multiplier)
        apart = 0.0 if before is None else here - self._coordinate(before.multiplier)
        if before is not None and apart != 0.0:  # neighbours may have one logarithm
            rise = (last.miss - before.miss) / apart
            if rise > 0.0:
                self.slope = rise
        if self.slope is None:
            guess = origin.levels(last.values)[0]
        else:
            guess = self._multiplier(here - OVERSHOOT * last.miss / self.slope)
        if self.below is not None and self.above is not None:
            return self._between(self.below, self.above, guess)
        if (guess - last.multiplier) * last.miss >= 0.0:  # the wrong way
            guess = last.multiplier * (0.25 if last.miss > 0.0 else 4.0)
        if origin.has_margin:
            guess = min(max(guess, last.multiplier / STEP), last.multiplier * STEP)
        elif guess < last.multiplier / STEP and not self.small:
            guess, self.small = last.multiplier / STEP, True
        return max(guess, self.floor)

    def _between(self, below: Trial, above: Trial, guess: float) -> float:
        """Return the guess if it helps, else the midpoint or an end to re-solve."""
        low, high = below.multiplier, above.multiplier
        for end in (below, above):
            if end.tol > high - low:  # too loosely solved to be an end
                return end.multiplier
        slow = len(self.widths) > 2 and self.widths[-1] > 0.5 * self.widths[-3]
        if low < guess < high and not slow:
            return guess
        return self._multiplier(0.5 * (self._coordinate(low) + self._coordinate(high)))

    def _coordinate(self, multiplier: float) -> float:
        """Where the sum is nearly linear: the logarithm of a margin."""
        return float(np.log(multiplier)) if self.origin.has_margin else multiplier

    def _multiplier(self, coordinate: float) -> float:
        if self.origin.has_margin:
            return float(np.exp(min(coordinate, 700.0)))
        return max(coordinate, 0.0)

    # ---- what a round leaves -------------------------------------------------

    def candidate(self, last: Trial) -> NuSolution | None:
        """Return a point on both sums that may be a solution, if there is one."""
        if abs(last.miss) <= 1e-15:
            return self._at(last)
        if abs(last.miss) <= 1e-9:  # as a warm start has it
            return self.ended(last)
        if self.below is None or self.above is None:
            return None
        found = combined(self.below, self.above)
        if found is None:
            return None
        if abs(self.origin.excess(found.a)) > 1e-12:  # members that changed their sign
            return self.ended(found)
        return self._at(found)

    def polished(self, near: NuSolution) -> NuSolution | None:
        """Return the exact solution near a point on both sums, if it can be reached."""
        a = self.origin.coefficients(near.beta, near.multiplier)
        found = polish(self.origin, a, self.options.polish_limit)
        if found is None:
            return None
        solution = replace(near.solution, status=Status.POLISHED)
        a, values, multiplier = found
        nothing = np.zeros(a.size)
        return self._at(Trial(multiplier, 0.0, a, values, nothing, True, 0.0, solution))

    def ended(self, last: Trial) -> NuSolution:
        """Project a trial onto both sums, at any cost in objective.

        Whatever the multiplier is, sums on the budget are complementary to it.
        """
        a = self.origin.feasible(last.a)
        values = last.values + self.origin.gram.times(a - last.a)
        errors = np.full(a.size, UNKNOWN)
        return self._at(replace(last, a=a, values=values, errors=errors))

    def proved(self, found: NuSolution) -> NuSolution:
        """Verify a solution; its status is what its violation proves."""
        return replace(found, solution=proved(found.solution, self.options.tol))

    def _at(
        self, trial: Trial, levels: tuple[float, float] | None = None
    ) -> NuSolution:
        """Return a point with the multiplier and the intercept that are best for it."""
        origin = self.origin
        multiplier, intercept = levels or origin.levels(trial.values)
        if origin.has_margin and not multiplier > self.floor:  # far from solved
            multiplier = trial.multiplier
        problem, unit = origin.at(multiplier), origin.unit(multiplier)
        values = trial.values / unit
        known = trial.errors < UNKNOWN
        errors = np.where(known, trial.errors, np.inf) / unit
        errors += 4.0 * UNIT * np.abs(values)
        anchors = np.full(values.size, CURRENT, dtype=np.int32)
        solution = Solution(
            problem,
            np.clip(trial.a / unit, problem.lower, problem.upper),
            values,
            trial.solution.status,
            self.steps,
            time.perf_counter() - self.begun,
            exact=trial.exact,
            evidence=None if trial.exact else Evidence(errors, anchors, []),
            kept_intercept=intercept / unit,
        )
        return NuSolution(origin, multiplier, solution)


def direct(problem: DualProblem, options: SolveOptions, start: Any) -> Solution:
    """Solve one dual problem by the engine, warm-started."""
    return solve(problem, options, start=start)


def forget(stage: dict[str, Any]) -> None:
    """Discard the record of a stage."""

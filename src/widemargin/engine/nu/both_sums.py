"""Solve a problem with a second sum by steps that keep both sums.

With an intercept both constraints are one sum for each sign, and a pair step between
two members of a sign keeps them: the working-set solver goes to the solution itself,
and the multiplier is where the levels of both signs meet (mathematics 9.3). A good
start matters: for a large nu-SVC the solution at a multiplier estimated from fewer
rows, else a vertex.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import violation
from widemargin.engine.feasible import project
from widemargin.engine.problem import SecondSum
from widemargin.engine.solution import Solution
from widemargin.engine.solve import NEARLY, POLISH_START
from widemargin.engine.status import Status

from .multiplier_search import NO_MARGIN, SMALL, THIN_FROM, Search
from .nu_problem import NuProblem
from .nu_solution import NuSolution
from .trial import UNKNOWN, Trial, stage, trial

Vector = NDArray[np.float64]

STAGED = 4000  # rows from which the engine's problem at a near multiplier comes first
PROBES = 256  # rows that a gradient is estimated from
ROUNDS = 12
FINEST = 1e-3  # of the tolerance, to which a polish is tried again
FINER = 0.1  # factor on the tolerance after a point was not proved or polished
PATIENCE = 1000  # pair steps per sample before a search: ordinary fits take 100
FEW = 10.0  # tolerances: a tube this narrow may be none
SHRUNK = 0.5  # share of the margin below which the new margin becomes the unit
LEAST = 1e-3  # least margin of the solver, in the unit


class BothSums(Search):
    """The way to the solution along points on both sums.

    Values of members far beyond the margin need not be up to date on the way: the
    solver looks at them once it is there, and so does the certificate.
    """

    every_value = False
    hurries = True  # from pair steps that creep to a search

    def run(self, start: Vector | None) -> NuSolution:
        """Descend to the tolerance, and further until it is proved."""
        near, tol, looked = self.near(start), self.options.tol, False
        found: NuSolution | None = None  # what a search ended with
        for _ in range(ROUNDS):
            if near.solution.status.stopped:
                return self.proved(self.ended(near))
            point = onto_both_sums(self.origin, near)
            if point is not None:
                near = self.descended(point, tol)
                if self.creeps(near):
                    found = super().run(None)
                    if found.converged or found.status.stopped:
                        return found
                    self.hurries = False  # steps on both sums may still get there
                    near = self.descended(point, tol)
            if point is None or (self.has_hardly_a_tube(near) and not looked):
                near, looked = self.solved(0.0, near.a), True
                if self.has_slack(near):
                    return self.proved(self._at(near, (0.0, near.solution.intercept)))
                continue
            unit = self.smaller_unit(near)
            if unit is not None:
                near = replace(near, multiplier=unit)
                continue
            proven = self.best(near)
            if proven.status.stopped or self.is_final(proven, tol):
                return proven
            if near.solution.status == Status.STALLED and self.endless:
                break
            near = self.with_verified_values(near, proven)
            if proven.converged or self.rounding_decides(proven):
                tol *= FINER
        if proven.converged:
            return proven
        if found and found.solution.proved_violation < proven.solution.proved_violation:
            return found
        stalled = replace(proven.solution, status=Status.STALLED)
        return replace(proven, solution=stalled)

    def is_final(self, proven: NuSolution, tol: float) -> bool:
        """Whether a point is polished, or close enough where no polish is possible."""
        finest = min(POLISH_START, FINEST * self.options.tol)  # targets may be tiny
        exact = self.options.exact and tol > finest
        exact = exact and proven.solution.margin.size <= self.options.polish_limit
        unpolished = exact and proven.status != Status.POLISHED
        return proven.converged and not unpolished

    def best(self, near: Trial) -> NuSolution:
        """Return the verified point, polished if requested and possible."""
        found = self._at(near)
        left = violation(found.problem, found.beta, found.solution.known_values)
        if left > NEARLY * self.options.tol:  # the multiplier that is best for a gap
            found = self._at(near, self.origin.central_levels(near.a, near.values))
        exact = self.polished(found) if self.options.exact else None
        return self.proved(found if exact is None else exact)

    # ---- where to begin ------------------------------------------------------

    def near(self, start: Vector | None) -> Trial:
        """Return a former model, a vertex, or the solution at a near multiplier."""
        origin = self.origin
        if start is not None and start.any():
            multiplier = self.former(start)
            a = np.clip(origin.unit(multiplier) * start, origin.lower, origin.upper)
            return self.point(multiplier, a)
        staged = origin.gram.n > STAGED and origin.has_margin
        if not (staged or self.divided):
            return self.vertex()
        return self.solved(self.first_guess(), None)

    def vertex(self) -> Trial:
        """Return the members that a gradient pulls most, all at their bounds.

        For nu-SVC: the gradient of equal coefficients, estimated from some rows.
        """
        origin, n = self.origin, self.origin.gram.n
        values = np.zeros(n)
        if origin.has_margin:
            rows = np.random.default_rng(0).permutation(n)[:PROBES]
            sample = np.zeros(n)
            sample[rows] = origin.feasible(values)[rows] * (n / rows.size)
            values = origin.gram.roughly_times(sample)
        nothing = self.point(1.0, np.zeros(n), values)
        first = onto_both_sums(origin, nothing) or nothing
        values = origin.gram.roughly_times(first.a)
        multiplier = max(origin.levels(values)[0], SMALL * self.natural)
        return self.point(multiplier, first.a, values)

    def point(
        self, multiplier: float, a: Vector, values: Vector | None = None
    ) -> Trial:
        """Return a point as if it had been solved for; the values may be float32."""
        exact = values is None
        if values is None:
            values = self.origin.gram.times(a)
        problem, unit = self.origin.at(multiplier), self.origin.unit(multiplier)
        solution = Solution(problem, a / unit, values / unit, Status.START)
        errors = np.full(a.size, UNKNOWN)
        return Trial(multiplier, 0.0, a, values, errors, exact, 0.0, solution)

    def roughly(self) -> float:
        """Return the multiplier of a problem that is solved only to estimate it."""
        if self.origin.gram.n > THIN_FROM:
            self.from_fewer_rows()
        point = onto_both_sums(self.origin, self.vertex())
        if point is None:
            return 0.0
        found = self.descended(point, self.options.tol)
        return max(self.origin.levels(found.values)[0], self.floor)

    # ---- one descent ---------------------------------------------------------

    def descended(self, near: Trial, tol: float) -> Trial:
        """Solve from a point on both sums; `tol` is counted in units of the margin."""
        origin, left = self.origin, self.options.max_iter
        problem, unit = origin.at(near.multiplier), origin.unit(near.multiplier)
        self.multiplier = near.multiplier
        start = Solution(
            problem, np.clip(near.a / unit, problem.lower, problem.upper),
            near.values / unit, Status.START, exact=near.exact,
        )  # fmt: skip
        left = -1 if left < 0 else max(0, left - self.steps)
        if self.patience is not None:
            left = self.patience if left < 0 else min(left, self.patience)
        options = replace(
            self.options, tol=tol, certify=False, exact=False,
            second_sum=SecondSum(origin.has_margin), max_iter=left,
        )  # fmt: skip
        solution = self.solver(problem, options, start)
        self.steps += solution.n_iter
        self.record(stage(origin.levels(unit * solution.known_values)[0], solution))
        return trial(origin, near.multiplier, tol, solution)

    @property
    def patience(self) -> int | None:
        """Pair steps from which another way is shorter; None where there is none.

        They creep where features differ much in size, or where rows are equal and C is
        large: coefficients of either sign grow together. The problem at a multiplier
        has a path to its solution, or Newton in the primal.
        """
        gram = self.origin.gram
        hurries = self.hurries and gram.kernel.semidefinite
        return PATIENCE * gram.n if hurries else None

    def creeps(self, near: Trial) -> bool:
        """Whether a descent ended for want of patience, or of progress, alone."""
        limit, status = self.options.max_iter, near.solution.status
        impatient = status == Status.MAX_ITER and (limit < 0 or self.steps < limit)
        return self.patience is not None and (impatient or status == Status.STALLED)

    def has_hardly_a_tube(self, near: Trial) -> bool:
        """Whether the budget of nu-SVR may not be reached even at epsilon = 0."""
        if self.origin.has_margin:
            return False
        # Without one, steps that keep the sum end anywhere: the problem is not convex.
        tube, _ = self.origin.central_levels(near.a, near.values)
        return tube <= FEW * self.options.tol

    def smaller_unit(self, near: Trial) -> float | None:
        """Return the margin if it is much smaller than the unit assumed."""
        if not self.origin.has_margin:
            return None
        margin = self.origin.levels(near.values)[0]
        if margin >= SHRUNK * near.multiplier:
            return None
        unit = max(margin, LEAST * near.multiplier)
        if unit <= self.floor:
            weights = float(self.origin.upper.sum() - self.origin.lower.sum())
            raise ValueError(NO_MARGIN.format(nu=self.origin.budget / weights))
        return unit

    def rounding_decides(self, proven: NuSolution) -> bool:
        """Whether the point meets ``tol`` and only its rounding bounds exceed it."""
        left = violation(proven.problem, proven.beta, proven.solution.known_values)
        return left <= NEARLY * self.options.tol

    def with_verified_values(self, near: Trial, proven: NuSolution) -> Trial:
        """Return a point to restart from, with its verified values."""
        checked = proven.solution.verified().checked
        assert checked is not None
        unit = self.origin.unit(proven.multiplier)
        values = np.where(checked.summed, unit * checked.values, near.values)
        a = self.origin.coefficients(proven.beta, proven.multiplier)
        return replace(near, a=a, values=values, exact=False)


def onto_both_sums(origin: NuProblem, near: Trial) -> Trial | None:
    """Return a point on both sums near another one.

    The support of a sign takes its share where it has room for it, all by the same
    amount; else the members next to the margin take the rest. None where a sign has no
    room at all, as of a nu-SVR with slack.
    """
    a, share = near.a.copy(), 0.5 * origin.budget
    gradient = near.values - origin.linear
    for sign, most in ((1.0, origin.upper), (-1.0, -origin.lower)):
        own = np.flatnonzero((sign * a >= 0.0) & (most > 0.0))
        sizes, room = sign * a[own], most[own]
        if float(room.sum()) * (1.0 + 1e-12) < share:
            return None
        support = sizes > 0.0
        if float(room[support].sum()) < share:  # next to the margin first
            order = np.argsort(sign * gradient[own], kind="stable")
            order = np.concatenate([order[support[order]], order[~support[order]]])
            held = np.cumsum(room[order])
            support[order[: int(np.searchsorted(held, share)) + 1]] = True
        sizes[support] = project(
            sizes[support], np.zeros(np.count_nonzero(support)), room[support], share
        )
        a[own] = sign * sizes
    change = a - near.a
    if not change.any():
        return near
    values = near.values + origin.gram.roughly_times(change)
    return replace(near, a=a, values=values, exact=False)

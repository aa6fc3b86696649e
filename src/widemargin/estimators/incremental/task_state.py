"""What is kept of a task between two updates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounded_values import BoundedValues
from widemargin.engine.gram import Gram
from widemargin.engine.intercept import intercept_interval
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.status import Status
from widemargin.engine.update_routes import (
    CREDIT,
    SUMMED,
    least_seconds,
    moving_share,
)
from widemargin.engine.updates import NEW

from .columns_of_rows import ColumnsOfRows
from .growing import appended

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

PRECISE = 1e-9  # largest bound on float64 sums, relative to the values
CLEARLY = 1e-9  # share of its box by which a free row is inside
REFRESH = 64  # moves after which K beta is recomputed: rounding does not accumulate


@dataclass(frozen=True, eq=False)
class TaskState:
    """The solution of a task (a pair of classes, an output), without its kernel handle.

    Attributes
    ----------
    members : ndarray
        The live row of each variable, in ascending order.
    beta : ndarray
        Coefficients of these rows.
    values : ndarray or None
        K beta of the same rows in float64; None where a fit did not need it: rows far
        beyond the margin are proved to be there by float32 sums.
    errors : ndarray or None
        Bounds on the rounding in ``values``.
    linear, lower, upper, total, kink : ndarray (3), float or None, ndarray or None
        The problem it solves.
    solved : bool
        Whether the solution is exact, not only within ``tol``.
    age : int
        Moves since ``values`` were computed afresh.
    intercept : float or None
        The solution's own, kept because to find it again takes as long as a short
        path; None in a model from a file.
    interval : tuple of float, or None
        Its optimal intercepts, widened by the violation: a row whose breakpoint lies
        outside, on the side of its zero, changes nothing. None as above.
    margin : int
        Size of the margin set.
    counted : int or None
        Number of support vectors; None in a model from a file.
    credit : float
        Refits that updates in a row may cost beyond their own.
    """

    members: Indices
    beta: Vector
    values: Vector | None
    errors: Vector | None
    linear: Vector
    lower: Vector
    upper: Vector
    total: float | None
    kink: Vector | None
    solved: bool
    age: int = 0
    intercept: float | None = field(default=None, init=False)
    interval: tuple[float, float] | None = field(default=None, init=False)
    margin: int = field(default=0, init=False)
    columns: ColumnsOfRows | None = field(default=None, init=False)
    counted: int | None = field(default=None, init=False)
    credit: float = field(default=CREDIT, init=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave kernel columns out of pickles and copies: a path evaluates them."""
        return vars(self) | {"columns": None}

    @staticmethod
    def of(
        solution: Solution,
        members: Indices,
        age: int,
        columns: ColumnsOfRows | None = None,
        credit: float = CREDIT,
    ) -> TaskState:
        """Keep what a solution on some rows has, apart from the kernel handle."""
        p, errors = solution.problem, _bounds(solution)
        state = TaskState(
            members=members,
            beta=solution.beta,
            values=None if errors is None else solution.known_values,
            errors=errors,
            linear=p.linear,
            lower=p.lower,
            upper=p.upper,
            total=p.total,
            kink=p.kink,
            solved=solution.status == Status.POLISHED,
            age=age,
        )
        margin = solution.margin
        known = solution.intercept, _interval(solution, margin), margin.size
        counted = int(np.count_nonzero(solution.beta))
        return state._knowing(*known, counted)._with(columns, credit)

    @staticmethod
    def unsolved() -> TaskState:
        """Return the state of a task that has had no rows."""
        none = np.zeros(0)
        return TaskState(
            members=np.zeros(0, dtype=np.intp), beta=none, values=None, errors=None,
            linear=none, lower=none, upper=none, total=None, kink=None, solved=False,
        )  # fmt: skip

    def flipped(self) -> TaskState:
        """Return the solution with the two classes of its pair exchanged."""
        interval = self.interval
        return replace(
            self,
            beta=-self.beta,
            values=None if self.values is None else -self.values,
            linear=-self.linear,
            lower=-self.upper,
            upper=-self.lower,
            total=None if self.total is None else -self.total,
        )._knowing(
            None if self.intercept is None else -self.intercept,
            None if interval is None else (-interval[1], -interval[0]),
            self.margin,
            self.counted,
        )

    def _knowing(
        self,
        intercept: float | None,
        interval: tuple[float, float] | None,
        margin: int,
        counted: int | None,
    ) -> TaskState:
        object.__setattr__(self, "intercept", intercept)
        object.__setattr__(self, "interval", interval)
        object.__setattr__(self, "margin", margin)
        object.__setattr__(self, "counted", counted)
        return self

    @property
    def support(self) -> int:
        """Number of support vectors, counted once: a row that settles adds none."""
        return self.counted or int(np.count_nonzero(self.beta))

    def _with(self, columns: ColumnsOfRows | None, credit: float) -> TaskState:
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "credit", credit)
        return self

    def settles(self, terms: DualProblem, sums: Vector, errors: Vector) -> bool:
        """Whether rows at 0 with these terms are certain to change nothing."""
        box = terms.linear, terms.lower, terms.upper
        return self._settle(*box, terms.kink, sums, errors)

    def settled(self, places: Indices, sums: Vector, errors: Vector) -> bool:
        """Whether some variables, at 0, are certain not to affect the solution."""
        kink = None if self.kink is None else self.kink[places]
        box = self.linear[places], self.lower[places], self.upper[places]
        return self._settle(*box, kink, sums, errors)

    def _settle(
        self,
        linear: Vector,
        lower: Vector,
        upper: Vector,
        kink: Vector | None,
        sums: Vector,
        errors: Vector,
    ) -> bool:
        if self.interval is None or not self.beta.size:
            return False
        least, most = self.interval
        width = np.zeros(linear.size) if kink is None else kink
        breakpoints = linear - sums
        no_growth = (upper == 0.0) | (breakpoints - width + errors < least)
        no_fall = (lower == 0.0) | (breakpoints + width - errors > most)
        return bool((no_growth & no_fall).all())

    def extended(
        self, members: Indices, terms: DualProblem, sums: Vector, errors: Vector
    ) -> TaskState:
        """Return the state with rows behind that are at 0 and change nothing."""

        def longer(column: Vector | None, more: Vector) -> Vector | None:
            return None if column is None else appended(column, more)

        return (
            TaskState(
                members=appended(self.members, members),
                beta=appended(self.beta, np.zeros(members.size)),
                values=longer(self.values, sums),
                errors=longer(self.errors, errors),
                linear=appended(self.linear, terms.linear),
                lower=appended(self.lower, terms.lower),
                upper=appended(self.upper, terms.upper),
                total=self.total,
                kink=None if terms.kink is None else longer(self.kink, terms.kink),
                solved=self.solved,
                age=self.age,
            )
            ._knowing(self.intercept, self.interval, self.margin, self.counted)
            ._with(
                None if self.columns is None else self.columns.extended(members.size),
                self.credit,
            )
        )

    def kept(self, stays: NDArray[np.bool_], now: Indices) -> TaskState:
        """Return the state without some live rows, whose coefficients are 0.

        `stays` says which live rows do, `now` where they are then.
        """
        chosen = stays[self.members]

        def some(column: Vector | None) -> Vector | None:
            return None if column is None else column[chosen]

        return (
            replace(
                self,
                members=now[self.members[chosen]],
                beta=self.beta[chosen],
                values=some(self.values),
                errors=some(self.errors),
                linear=self.linear[chosen],
                lower=self.lower[chosen],
                upper=self.upper[chosen],
                kink=some(self.kink),
            )
            ._knowing(self.intercept, self.interval, self.margin, self.counted)
            ._with(
                None if self.columns is None else self.columns.kept(chosen), self.credit
            )
        )

    def places(self, rows: Indices) -> Indices:
        """Return where the variables of some live rows are; some have none."""
        found = np.searchsorted(self.members, rows)
        found = found[found < self.members.size]
        return found[np.isin(self.members[found], rows)]

    def erase(self, rows: Indices) -> None:
        """Close the boxes of rows that have left, in place; their places stay."""
        places = self.places(rows)
        for column in (self.values, self.errors, self.linear, self.lower, self.upper):
            if column is not None:
                column[places] = 0.0
        if self.columns is not None:
            self.columns.erase(places)

    def least_seconds(self, moving: int, in_a_row: bool) -> float:
        """Estimate the shortest path from here, of some rows that move.

        K beta and the columns of the margin set are there, or will be for the updates
        to come; after a fit, K beta has to be summed where it is not known.
        """
        held = self.margin if in_a_row or self.columns is not None else 0
        known = self.trusted or in_a_row
        sums = 0.0 if known else SUMMED * self.beta.size * self.support
        return sums + least_seconds(self.beta.size, self.margin, moving, held)

    def moving_share(self, origin: Indices) -> float:
        """Return how likely an update of as many rows is to change something.

        One that leaves all rows there changes their prices.
        """
        stay = int(np.count_nonzero(origin != NEW))
        rows = origin.size + self.beta.size - 2 * stay
        share = min(1.0, self.support / self.beta.size)
        return moving_share(rows, share) if rows else 1.0

    @property
    def trusted(self) -> bool:
        """Whether ``values`` may be reused, or have to be recomputed."""
        return self.values is not None and self.age < REFRESH

    def solution(self, gram: Gram) -> Solution:
        """Return the solution over the samples it belongs to.

        Without ``checked`` values, which a path has to compute, unless they are known.
        """
        box = self.linear, self.lower, self.upper
        problem = DualProblem(gram, *box, self.total, self.kink)
        if not self.trusted or self.values is None or self.errors is None:
            nothing = np.zeros(self.beta.size)
            return Solution(problem, self.beta, nothing, Status.CONVERGED)
        everywhere = np.ones(self.beta.size, dtype=np.bool_)
        return Solution(
            problem, self.beta, self.values, Status.POLISHED, exact=True,
            checked=BoundedValues(self.values, self.errors, everywhere),
            kept_intercept=self.intercept,
        )  # fmt: skip

    def origin(self, members: Indices, places: Indices) -> Indices:
        """Return for each variable of a problem its place here; NEW if it has none.

        Parameters
        ----------
        members : ndarray
            The new live row of each variable.
        places : ndarray
            Where each former live row is now; -1 for those that are gone.
        """
        now = places[self.members]
        stays = np.flatnonzero(now >= 0)
        here = np.full(
            1 + max(int(members.max(initial=-1)), int(now.max(initial=-1))), NEW
        )
        here[now[stays]] = stays
        return here[members]

    def leads_to(self, problem: DualProblem) -> bool:
        """Whether a path leads from here: both have an intercept, or neither has."""
        return (self.total is None) == (problem.total is None)

    def solves(self, problem: DualProblem, origin: Indices) -> bool:
        """Whether this is exactly the problem that was solved, on the same rows."""
        return (
            self.solved
            and np.array_equal(origin, np.arange(self.beta.size))
            and self.total == problem.total
            and np.array_equal(self.linear, problem.linear)
            and np.array_equal(self.lower, problem.lower)
            and np.array_equal(self.upper, problem.upper)
            and _same_kink(self.kink, problem.kink)
        )


def _bounds(solution: Solution) -> Vector | None:
    """Return how far the values known may be from K beta; None if that is too far.

    They were summed once more for the certificate: where that was in float32, or some
    were left out, they are no start for a path.
    """
    checked = solution.checked
    if not solution.exact or solution.stale is not None or checked is None:
        return None
    apart = np.abs(solution.known_values - checked.values)
    errors: Vector = checked.errors + apart * (1.0 + 1e-12)
    unit = max(1.0, float(np.abs(solution.known_values).max(initial=0.0)))
    precise = checked.summed.all() and float(errors.max(initial=0.0)) <= PRECISE * unit
    return errors if precise else None


def _interval(solution: Solution, free: Indices) -> tuple[float, float]:
    """Return the optimal intercepts; where a row is `free` there is one, to rounding.

    Free by more than rounding: one that is 1e-17 off its bound decides no intercept.
    """
    p, slack = solution.problem, solution.proved_violation
    if p.total is None:
        return 0.0, 0.0
    least = most = solution.intercept
    if not (solution.exact or solution.status == Status.POLISHED) or not p.n:
        return least - slack, most + slack
    beta = solution.beta
    room = np.minimum(p.upper[free] - beta[free], beta[free] - p.lower[free])
    if p.kink is not None:
        room = np.where(p.kink[free] > 0.0, np.minimum(room, np.abs(beta[free])), room)
    decides = bool((room > CLEARLY * (p.upper[free] - p.lower[free])).any())
    if not decides:
        terms = p.linear, p.lower, p.upper, p.total
        least, most = intercept_interval(solution.values, *terms, p.kink)
    return least - slack, most + slack


def _same_kink(first: Vector | None, second: Vector | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second)

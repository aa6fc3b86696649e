"""What is kept of a task between two updates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.status import Status
from widemargin.engine.updates import NEW

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

REFRESH = 64  # moves after which K beta is computed afresh: rounding does not pile up


@dataclass(frozen=True, eq=False)
class TaskState:
    """The solution of a task (a pair of classes, an output), without its kernel handle.

    Attributes
    ----------
    members : ndarray
        Of which of the live rows each variable is, in ascending order.
    beta : ndarray
        Coefficients of these rows.
    values : ndarray or None
        K beta of the same rows in float64; None where a fit to ``tol`` did not need it.
    linear, lower, upper, total : ndarray, ndarray, ndarray, float or None
        The problem it solves.
    solved : bool
        Whether the solution is exact, not only within ``tol``.
    age : int
        Moves since ``values`` were computed afresh.
    intercept : float or None
        The solution's own, kept because to find it again takes as long as a short
        path; None in a model from a file.
    """

    members: Indices
    beta: Vector
    values: Vector | None
    linear: Vector
    lower: Vector
    upper: Vector
    total: float | None
    solved: bool
    age: int = 0
    intercept: float | None = field(default=None, init=False)

    @staticmethod
    def of(solution: Solution, members: Indices, age: int) -> TaskState:
        """Keep what a solution on some rows has, apart from the kernel handle."""
        p = solution.problem
        known = solution.exact and solution.stale is None
        state = TaskState(
            members=members,
            beta=solution.beta,
            values=solution.known_values if known else None,
            linear=p.linear,
            lower=p.lower,
            upper=p.upper,
            total=p.total,
            solved=known and solution.status == Status.POLISHED,
            age=age,
        )
        object.__setattr__(state, "intercept", solution.intercept)
        return state

    @property
    def trusted(self) -> bool:
        """Whether ``values`` may be built upon, or are to be computed afresh."""
        return self.values is not None and self.age < REFRESH

    def solution(self, gram: Gram) -> Solution:
        """Return the solution over the samples it belongs to."""
        problem = DualProblem(gram, self.linear, self.lower, self.upper, self.total)
        values = self.values if self.trusted else gram.times(self.beta)
        assert values is not None
        return Solution(
            problem, self.beta, values, Status.POLISHED, exact=True,
            kept_intercept=self.intercept if self.trusted else None,
        )  # fmt: skip

    def origin(self, members: Indices, places: Indices) -> Indices:
        """Return for each variable of a problem its place here; NEW if it has none.

        Parameters
        ----------
        members : ndarray
            Of which of the new live rows each variable is.
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
        )

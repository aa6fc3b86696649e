"""What is kept of a pair of classes between two updates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.status import Status

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

REFRESH = 64  # moves after which K beta is computed afresh: rounding does not pile up


@dataclass(frozen=True, eq=False)
class PairState:
    """The solution of one pair of classes, without its kernel handle.

    Attributes
    ----------
    rows : ndarray
        Which of the live rows the pair is trained on, in ascending order.
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

    rows: Indices
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
    def of(solution: Solution, rows: Indices, age: int) -> PairState:
        """Keep what a solution on some rows knows, apart from the kernel handle."""
        p = solution.problem
        known = solution.exact and solution.stale is None
        state = PairState(
            rows=rows,
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

    def staying(self, rows: Indices, places: Indices) -> Indices | None:
        """Return which rows of the pair stay in it, as places among its rows.

        None where it had none, and where a live row enters or leaves the pair because
        its costs changed: no path adds and removes rows at once.

        Parameters
        ----------
        rows : ndarray
            What the pair is to be trained on, of the new live rows.
        places : ndarray
            Where each former live row is now; -1 for those that are gone.
        """
        known = places[self.rows]
        stays = np.flatnonzero(known >= 0)
        known, new = known[stays], rows[stays.size :]
        same = np.array_equal(rows[: stays.size], known)
        same &= bool(self.rows.size and np.all(new > places.max(initial=-1)))
        return stays if same else None

    def leads_to(self, problem: DualProblem) -> bool:
        """Whether a path leads from here: both have an intercept, or neither has."""
        return (self.total is None) == (problem.total is None)

    def solves(self, problem: DualProblem) -> bool:
        """Whether this is exactly the problem that was solved."""
        return (
            self.solved
            and self.total == problem.total
            and np.array_equal(self.linear, problem.linear)
            and np.array_equal(self.lower, problem.lower)
            and np.array_equal(self.upper, problem.upper)
        )

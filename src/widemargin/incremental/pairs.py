"""What is kept of a pair of classes between two updates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..gram import Gram
from ..problem import DualProblem
from ..solution import Solution

Vector = NDArray[np.float64]

REFRESH = 64  # moves after which K beta is computed afresh: rounding does not pile up


@dataclass(frozen=True, eq=False)
class PairState:
    """The solution of one pair of classes, without its kernel handle.

    Attributes
    ----------
    beta, values : ndarray
        Coefficients and K beta of the live rows of the pair, in row order.
    linear, lower, upper, total : ndarray, ndarray, ndarray, float or None
        The problem it solves.
    exact : bool
        Whether ``values`` are float64 products and the solution is polished.
    age : int
        Moves since ``values`` were computed afresh.
    """

    beta: Vector
    values: Vector
    linear: Vector
    lower: Vector
    upper: Vector
    total: float | None
    exact: bool
    age: int = 0

    @staticmethod
    def of(solution: Solution, age: int) -> PairState:
        """Keep what a solution knows, apart from the kernel handle."""
        p = solution.problem
        exact = solution.status == "polished"
        return PairState(
            solution.beta, solution.values, p.linear, p.lower, p.upper, p.total,
            exact, age if exact else 0,
        )  # fmt: skip

    @property
    def trusted(self) -> bool:
        """Whether ``values`` may be built upon, or are to be computed afresh."""
        return self.exact and self.age < REFRESH

    def solution(self, gram: Gram) -> Solution:
        """Return the solution over the samples it belongs to."""
        problem = DualProblem(gram, self.linear, self.lower, self.upper, self.total)
        status = "polished" if self.trusted else "converged"
        return Solution(problem, self.beta, self.values, status)

    def solves(self, problem: DualProblem) -> bool:
        """Whether this is exactly the problem that was solved."""
        return (
            self.exact
            and self.total == problem.total
            and np.array_equal(self.linear, problem.linear)
            and np.array_equal(self.lower, problem.lower)
            and np.array_equal(self.upper, problem.upper)
        )

"""The answer of drawn pairs, with the intercept that is kept and its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import Certificate, dual_objective
from widemargin.engine.solution import Solution, certify
from widemargin.engine.status import Status
from widemargin.runtime.lazy import lazy_property

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DrawnSolution:
    """A solution of drawn pairs and the intercept of the model that is kept."""

    solution: Solution
    intercept: float

    @property
    def beta(self) -> Vector:
        """Signed dual variables."""
        return self.solution.beta

    @property
    def n_iter(self) -> int:
        """Pairs drawn."""
        return self.solution.n_iter

    @property
    def status(self) -> Status:
        """How the draws ended."""
        return self.solution.status

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.solution.converged

    @property
    def dual_objective(self) -> float:
        """Dual objective of the point reached."""
        solution = self.solution
        return dual_objective(solution.beta, solution.values, solution.problem.linear)

    @lazy_property
    def certificate(self) -> Certificate:
        """Certificate of the model that is kept (mathematics 1.6)."""
        return certify(self.solution.verified(), self.intercept)


def free_intercept(solution: Solution) -> float:
    """Mean of the residual over free support vectors, LIBSVM's choice.

    Falls back to the optimal intercept when no support vector is free.
    """
    free = solution.margin
    if free.size == 0:
        return solution.intercept
    return float((solution.problem.linear - solution.values)[free].mean())

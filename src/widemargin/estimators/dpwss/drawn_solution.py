"""The answer of drawn pairs, with the intercept that is kept and its certificate."""

from __future__ import annotations

from dataclasses import dataclass

from widemargin.engine.certificate import Certificate, dual_objective
from widemargin.engine.derived_solution import DerivedSolution
from widemargin.engine.solution import Solution, certify
from widemargin.runtime.lazy import lazy_property


@dataclass(frozen=True, eq=False)
class DrawnSolution(DerivedSolution):
    """A solution of drawn pairs and the intercept of the model that is kept."""

    solution: Solution
    intercept: float

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

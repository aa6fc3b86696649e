"""A solved problem with a second sum: what the model is, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import Certificate
from widemargin.engine.derived_solution import DerivedSolution
from widemargin.engine.interrupted import Interrupted
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.runtime.lazy import lazy_property

from .nu_bounds import certify
from .nu_problem import NuProblem


@dataclass(frozen=True, eq=False)
class NuSolution(DerivedSolution):
    """The solution of the engine's problem at the multiplier that was found.

    Parameters
    ----------
    origin : NuProblem
        What was solved.
    multiplier : float
        The margin rho of nu-SVC, the half width epsilon of nu-SVR.
    solution : Solution
        The point, over the engine's problem at the multiplier: the model as it is.
        The coefficients of nu-SVC are in units of its margin.
    """

    origin: NuProblem
    multiplier: float
    solution: Solution

    @property
    def problem(self) -> DualProblem:
        """The engine's problem at the multiplier."""
        return self.solution.problem

    @property
    def intercept(self) -> float:
        """Constant of the decision function."""
        return self.solution.intercept

    @property
    def seconds(self) -> float:
        """Wall time of all solves."""
        return self.solution.seconds

    @property
    def support(self) -> NDArray[np.intp]:
        """Indices of the non-zero coefficients."""
        return self.solution.support

    @property
    def screened(self) -> None:
        """No screening rule is used."""

    @property
    def figures(self) -> Certificate:
        """What a stage record sums."""
        return self.certificate

    @lazy_property
    def certificate(self) -> Certificate:
        """Objective, bound, gap and violation of the problem with both sums."""
        return certify(self.origin, self.multiplier, self.solution)


class NuInterrupted(Interrupted):
    """Ctrl-C in the search for the multiplier, with the point that was reached."""

    def __init__(self, origin: NuProblem, multiplier: float, stop: Interrupted) -> None:
        super().__init__(stop.problem, stop.beta, stop.n_iter, stop.seconds)
        self.origin, self.multiplier = origin, multiplier

    def solution(self) -> NuSolution:  # type: ignore[override]
        """Verify the point at the multiplier of the last solve."""
        return NuSolution(self.origin, self.multiplier, super().solution())

"""Ctrl-C during a solve, with the point that the solve had reached."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .bounded_values import Evidence
from .feasible import project
from .problem import DualProblem
from .solution import Solution
from .status import Status

Vector = NDArray[np.float64]


class Interrupted(KeyboardInterrupt):
    """A KeyboardInterrupt that carries the point the solve had reached.

    Parameters
    ----------
    problem : DualProblem
        What was being solved.
    beta : ndarray of shape (n,)
        Where the solve stood; feasible up to rounding.
    n_iter : int
        Pair steps taken.
    seconds : float
        Wall time.
    """

    def __init__(
        self, problem: DualProblem, beta: Vector, n_iter: int = 0, seconds: float = 0.0
    ) -> None:
        super().__init__()
        self.problem = problem
        self.beta = beta
        self.n_iter = n_iter
        self.seconds = seconds

    def __reduce__(self) -> tuple[type[KeyboardInterrupt], tuple[()]]:
        """Pickle as plain Ctrl-C: another process does not resume from the point."""
        return KeyboardInterrupt, ()

    def solution(self) -> Solution:
        """Verify the point, so that it has a certificate.

        The user waits for it after Ctrl-C: where all values would take long, those of
        the support vectors are summed, and the others enter the certificate by a bound.
        """
        problem = self.problem
        beta = project(self.beta, problem.lower, problem.upper, problem.total)
        return Solution(
            problem, beta, np.zeros(problem.n), Status.INTERRUPTED,
            self.n_iter, self.seconds, evidence=Evidence.none(problem.n),
        ).verified()  # fmt: skip

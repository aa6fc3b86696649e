"""Ctrl-C in a solve, and the point the solve had reached."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .kernels import Linear
from .problem import DualProblem
from .solution import Solution, assume_the_worst
from .starting import project

Vector = NDArray[np.float64]

PROMPT = 50_000_000  # kernel entries evaluated for all members of the point, at most


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the point that was reached; for all others a KeyboardInterrupt.

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
        """Pickle as plain Ctrl-C: in another process nobody goes on from the point."""
        return KeyboardInterrupt, ()

    def solution(self) -> Solution:
        """Evaluate the point, with a certificate.

        Whoever pressed Ctrl-C waits for it: where all values would take long, those of
        the support vectors are summed, and the others enter the certificate by a bound.
        """
        problem = self.problem
        beta = project(self.beta, problem.lower, problem.upper, problem.total)
        support = np.flatnonzero(beta)
        linear = isinstance(problem.gram.kernel, Linear)  # two thin products
        short = linear or support.size * problem.n <= PROMPT
        summed = np.arange(problem.n) if short else support
        gradient = np.full(problem.n, np.nan)
        gradient[summed] = problem.gram.times(beta, summed) - problem.linear[summed]
        stale = np.isnan(gradient)
        unseen = assume_the_worst(problem, beta, gradient, stale)
        return Solution(
            problem, beta, gradient + problem.linear, "interrupted",
            self.n_iter, self.seconds, exact=True,
            stale=stale if stale.any() else None, unseen=unseen,
        )  # fmt: skip

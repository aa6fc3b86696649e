"""Whether the pair steps of a solve still make progress, or precision is exhausted.

Where kernel entries are huge (unscaled features in a polynomial) or nearly dependent,
float64 itself leaves more in the gradient than the tolerance asks for, and pair steps
would go on for ever. Both symptoms are checked whenever the number of steps has
doubled, so that checking costs little.
"""

from __future__ import annotations

import numpy as np

from .certificate import dual_objective, kkt_violation
from .problem import DualProblem, Vector

DOUBLINGS = 3  # 2^3 times the steps must lead to
FALL = 0.9  # a violation of at most this part of the former one,
GAIN = 1e-6  # or a dual objective better by this part of its terms
ROUNDINGS = 16.0  # roundings of one product that updates may leave in a gradient
FLOAT64 = float(np.finfo(np.float64).eps / np.finfo(np.float32).eps)


class Stagnation:
    """The violation and the dual objective each time the steps have doubled."""

    def __init__(self, problem: DualProblem) -> None:
        self._problem = problem
        self._violations: list[float] = []
        self._objectives: list[float] = []

    def reached(self, beta: Vector, gradient: Vector, known: Vector) -> bool:
        """Record a point; return whether further steps would be wasted.

        Parameters
        ----------
        beta, gradient : ndarray of shape (n,)
            The point, and its gradient as the solver has it.
        known : ndarray of bool, of shape (n,)
            Whose gradient is up to date: the others are at a bound and stay there.
        """
        problem = self._problem
        left = kkt_violation(
            beta[known], gradient[known], problem.lower[known], problem.upper[known],
            problem.total is not None,
            None if problem.kink is None else problem.kink[known],
        )  # fmt: skip
        values = gradient + problem.linear
        objective = dual_objective(beta, values, problem.linear, problem.kink)
        self._violations.append(left)
        self._objectives.append(objective)
        if left <= ROUNDINGS * FLOAT64 * problem.gram.float32_error(beta):
            return True
        if len(self._violations) <= DOUBLINGS:
            return False
        former, lowest = (
            self._violations[-1 - DOUBLINGS],
            min(self._violations[-DOUBLINGS:]),
        )
        gain = self._objectives[-1 - DOUBLINGS] - min(self._objectives[-DOUBLINGS:])
        size = float(np.abs(beta * problem.linear).sum()) + abs(objective)
        return lowest > FALL * former and gain <= GAIN * size

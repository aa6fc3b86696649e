"""C = inf for a regression: the flattest function with every target in its tube.

As the hard margin (:mod:`widemargin.estimators.base.hard_margin`): where no coefficient
is at its bound the solution is that of every larger C. What tolerance leaves beyond the
tube is repaired by a tube that is narrower by twice as much: its solution keeps the one
asked for, so its objective is that of a feasible point, and the dual value of its
coefficients, at the tube asked for, bounds the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution

from .hard_margin import FIRST, GROWTH, OUTWARD, HardMargin, recorded
from .kernel_machine import KernelMachine
from .task import BoxTask

LAST = 1e6  # last C, in spreads of the targets over the largest K_ii
ATTEMPTS = 8  # solves, each with a narrower tube

NO_TUBE = (
    "C=inf asks for every target within epsilon, and epsilon=0 leaves no room for "
    "rounding. Give a positive epsilon, or a finite C."
)
NOT_WITHIN = (
    "C=inf: no function of this kernel with every target within epsilon={epsilon:g} "
    "was found (C={C:.1e} still leaves some outside). Use a finite C, a larger "
    "epsilon, or a kernel that fits closer, as kernel='rbf' with a larger gamma."
)
NOT_REACHED = (
    "C=inf: the fit ended with targets beyond epsilon={epsilon:g} by {beyond:.1e} "
    "(status {status!r}). Increase max_iter, max_time or epsilon, decrease tol, or use "
    "a finite C."
)


@dataclass(frozen=True, eq=False)
class HardTube(HardMargin):
    """A solution with every target in the tube.

    Parameters
    ----------
    asked : DualProblem
        The problem at the tube that was asked for.
    """

    asked: DualProblem

    @property
    def bounded(self) -> DualProblem:
        """The problem whose optimum the certificate bounds."""
        return self.asked


def solve_hard_tube(
    machine: KernelMachine[Any, Any], task: BoxTask, epsilon: float
) -> HardTube:
    """Return the hard tube of a regression; a ValueError where there is none."""
    spread = max(float(np.ptp(task.linear)), epsilon)
    unit = spread / max(float(task.gram.diagonal().max()), np.finfo(float).tiny)
    options = machine._solve_options(task.gram.n, task)
    C, width, start = FIRST * unit, epsilon, task.start
    for _ in range(ATTEMPTS):
        while True:
            problem = _problem(task, C, width)
            solution = machine._solve(problem, options, start, task.history.append)
            bounded = bool((np.abs(solution.beta) >= C).any())
            if solution.status.stopped or not bounded:
                break
            C, start = GROWTH * C, solution.beta
            if C > LAST * unit:
                raise ValueError(NOT_WITHIN.format(epsilon=epsilon, C=C / GROWTH))
        solution = solution.verified()
        beyond = farthest(solution) - epsilon
        if beyond <= 0.0:
            asked = _problem(task, C, epsilon)
            return recorded(HardTube(solution, 0.0, asked), task)
        width, start = width - 2.0 * beyond, solution.beta
        if solution.status.stopped or width <= 0.0:
            break
    raise ValueError(
        NOT_REACHED.format(epsilon=epsilon, beyond=beyond, status=solution.status.value)
    )


def farthest(solution: Solution) -> float:
    """Return the largest distance of a target from the function, rounding included."""
    checked = solution.checked
    assert checked is not None
    targets, values, b = solution.problem.linear, checked.values, solution.intercept
    size = np.abs(targets) + np.abs(values) + abs(b)
    distances = np.abs(targets - values - b) + checked.errors + OUTWARD * size
    return float(distances.max())


def _problem(task: BoxTask, C: float, width: float) -> DualProblem:
    box = np.full(task.linear.size, C)
    kink = np.full(task.linear.size, width)
    return DualProblem(task.gram, task.linear, -box, box, task.total, kink)

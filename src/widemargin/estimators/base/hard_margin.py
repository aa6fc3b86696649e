"""C = inf: the hard margin, by the C above which nothing changes (mathematics 9.4).

Where no coefficient is at its upper bound the solution is that of every larger C. The
tolerance of a solve leaves margins of at least 1 - t: the scaled model (w, b) / (1 - t)
has them all, so its objective is that of a feasible point, and the dual value of the
coefficients bounds the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounds import (
    UNIT,
    dual_bound,
    gap_between,
    half_square_above,
)
from widemargin.engine.certificate import Certificate
from widemargin.engine.derived_solution import DerivedSolution
from widemargin.engine.problem import DualProblem, classification_problem
from widemargin.engine.solution import Solution, is_convex, stage_record
from widemargin.runtime.lazy import lazy_property

from .kernel_machine import KernelMachine
from .multiclass import BinaryTask
from .task import Task

Vector = NDArray[np.float64]

FIRST = 100.0  # first C, over the largest K_ii
GROWTH = 100.0
LAST = 1e10  # last C, over the largest K_ii: classes still at a bound overlap
OUTWARD = 16.0 * UNIT

NOT_KEPT = (
    "C=inf: rows that are kept to be added to, removed or re-priced need a finite C. "
    "Fit without keep_rows and ids, or give a large C."
)
NOT_SEPARABLE = (
    "C=inf: the classes cannot be separated without an error in the feature space of "
    "this kernel (C={C:.1e} still leaves samples within the margin). Use a finite C, "
    "or a kernel that separates them, as kernel='rbf' with a larger gamma."
)


@dataclass(frozen=True, eq=False)
class HardMargin(DerivedSolution):
    """A solution none of whose coefficients is at its bound, scaled to full margins.

    Parameters
    ----------
    solution : Solution
        Verified, at a finite C.
    short : float
        t: the smallest margin is at least 1 - t.
    """

    solution: Solution
    short: float

    @property
    def beta(self) -> Vector:
        """Coefficients of the model."""
        return self.solution.beta / (1.0 - self.short)

    @property
    def intercept(self) -> float:
        """Constant of the decision function."""
        return self.solution.intercept / (1.0 - self.short)

    @property
    def bounded(self) -> DualProblem:
        """The problem whose optimum the certificate bounds."""
        return self.solution.problem

    @lazy_property
    def certificate(self) -> Certificate:
        """Half the squared norm of the scaled model, and the dual value below it."""
        solution, scale = self.solution, 1.0 - self.short
        problem, checked = solution.problem, solution.checked
        assert checked is not None
        known = checked.values, checked.errors
        square = half_square_above(solution.beta, *known)
        objective = square / (scale * scale) * (1.0 + OUTWARD)
        bound = None
        if is_convex(problem, solution.beta, checked.values):
            bound = dual_bound(self.bounded, solution.beta, *known)
        return Certificate(
            status=solution.status.value,
            objective=objective,
            bound=bound,
            gap=gap_between(objective, bound),
            kkt_violation=solution.proved_violation / scale,
            n_iter=solution.n_iter,
            seconds=solution.seconds,
            threads=problem.gram.threads,
        )


Found = TypeVar("Found", bound=HardMargin)


def solve_hard_margin(
    machine: KernelMachine[Any, Any], task: BinaryTask, fit_intercept: bool
) -> HardMargin:
    """Return the hard margin of a pair of classes; a ValueError where there is none."""
    largest = max(float(task.gram.diagonal().max()), np.finfo(float).tiny)
    C, start = FIRST / largest, task.start
    options = machine._solve_options(task.gram.n, task)
    while True:
        costs = np.full(task.y.size, C)
        problem = classification_problem(task.gram, task.y, costs, fit_intercept)
        solution = machine._solve(problem, options, start, task.history.append)
        bounded = bool((np.abs(solution.beta) >= C).any())
        if solution.status.stopped or not bounded:
            break
        C, start = GROWTH * C, solution.beta
        if C > LAST / largest:
            raise ValueError(NOT_SEPARABLE.format(C=C / GROWTH))
    verified = solution.verified()
    return recorded(HardMargin(verified, _shortest(verified, task.y)), task)


def recorded(found: Found, task: Task) -> Found:
    """Append the stage record of an answer to the history of its task."""
    solution, certificate = found.solution, found.certificate
    task.history.append(
        stage_record(
            "finish", solution.problem.n, solution.seconds, [certificate],
            kkt_violation=certificate.kkt_violation, n_iter=found.n_iter,
            n_support=int(solution.support.size), status=found.status.value,
        )
    )  # fmt: skip
    return found


def _shortest(solution: Solution, y: Vector) -> float:
    """Return t so that every margin is at least 1 - t, rounding included."""
    checked = solution.checked
    assert checked is not None
    size = np.abs(checked.values) + abs(solution.intercept)
    margins = y * (checked.values + solution.intercept) - checked.errors
    short = max(0.0, float((1.0 - margins + OUTWARD * (1.0 + size)).max()))
    if not short < 1.0:
        raise ValueError(
            "C=inf: the fit ended before the classes were separated "
            f"(status {solution.status.value!r}). Increase max_iter or max_time, or "
            "use a finite C."
        )
    return short

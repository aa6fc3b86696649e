"""The solution at one multiplier, and what two of them make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.bounded_values import CURRENT
from widemargin.engine.certificate import primal_objective, violation
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Estimate, Solution, stage_record

from .nu_problem import NuProblem

Vector = NDArray[np.float64]

UNKNOWN = 1e300  # as an error of a value: nothing is known of it


@dataclass(frozen=True, eq=False)
class Trial:
    """The solution at a multiplier, in the units of the problem with the second sum.

    Attributes
    ----------
    multiplier, tol : float
        Where it was solved, and to which violation.
    a, values, errors : ndarray
        The point, ``K a`` and bounds on its rounding, `UNKNOWN` where there are none:
        of a member at zero it may be that of an earlier point.
    exact : bool
        Whether the values are float64 sums.
    miss : float
        How far the multiplier is too large, as a share of the budget: the excess of
        nu-SVC, what nu-SVR has left.
    solution : Solution
        As the solver returned it.
    """

    multiplier: float
    tol: float
    a: Vector
    values: Vector
    errors: Vector
    exact: bool
    miss: float
    solution: Solution


def trial(
    origin: NuProblem, multiplier: float, tol: float, solution: Solution
) -> Trial:
    """Return a solution in the units of the problem with the second sum."""
    unit, known = origin.unit(multiplier), solution.evidence
    a = origin.coefficients(solution.beta, multiplier)
    errors = np.full(a.size, UNKNOWN)
    if known is not None:
        errors = np.where(known.anchors == CURRENT, unit * known.errors, UNKNOWN)
        errors = np.minimum(errors, UNKNOWN)
    excess = origin.excess(a)
    return Trial(
        multiplier, tol * unit, a, unit * solution.known_values, errors, solution.exact,
        excess if origin.has_margin else -excess, solution,
    )  # fmt: skip


def combined(one: Trial, other: Trial) -> Trial | None:
    """Return the combination of two trials that has the wanted sum.

    None where there is none within the boxes of both, or beyond them.
    """
    if one.miss == other.miss:
        return None
    share = other.miss / (other.miss - one.miss)
    if not 0.0 <= share <= 1.0:
        return None
    a = other.a + share * (one.a - other.a)
    values = other.values + share * (one.values - other.values)
    errors = (1.0 - share) * other.errors + share * one.errors
    exact = one.exact and other.exact
    return replace(one, a=a, values=values, errors=errors, exact=exact, miss=0.0)


def snapped(beta: Vector, problem: DualProblem) -> Vector:
    """Return a point whose members are at the bounds that they miss by rounding."""
    for bound in (problem.lower, problem.upper):
        beta = np.where(np.abs(beta - bound) <= 1e-12 * np.abs(bound), bound, beta)
    return beta


def stage(multiplier: float, solution: Solution) -> dict[str, Any]:
    """Return the record of one solve; its gap is that of no problem of the user's."""
    p, known = solution.problem, solution.known_values
    box = p.linear, p.lower, p.upper, p.total, p.kink
    objective = primal_objective(solution.beta, known, solution.intercept, *box)
    left = violation(p, solution.beta, known)
    return stage_record(
        f"multiplier {multiplier:.6g}", p.n, solution.seconds,
        [Estimate(objective, None, left)], kkt_violation=left, n_iter=solution.n_iter,
        n_support=int(solution.support.size), status=solution.status.value,
    )  # fmt: skip

"""Optimality, measured: pure functions of a point, and the record of the result.

All of it concerns the one dual problem of this package (mathematics 0)::

    minimise    1/2 beta' K beta - linear' beta + kink' |beta|
    subject to  lower <= beta <= upper,   and, with an intercept, sum(beta) = total

whose primal is, with ``residual_i = linear_i - values_i - b``, ``values = K beta``::

    minimise_{w, b}  1/2 ||w||^2 + sum_i max(lower_i residual_i, upper_i residual_i)
                     + total * b,

the loss of a member with a kink being that of its two sides,
:mod:`widemargin.engine.split_variables`.

No solver is imported here: a certificate must not depend on what it certifies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.products import inner

from .problem import DualProblem
from .split_variables import Kink, fall_slopes, growth_slopes, split, twice, two_sides

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Certificate:
    """How good the returned model provably is.

    Attributes
    ----------
    status : str
        How the solve ended, a member of :class:`~widemargin.engine.status.Status`:
        "converged", "polished", "max_iter", "max_time", "interrupted", "stalled", ...
    objective : float
        Upper bound on the primal objective of the model: of its coefficients and
        intercept as they are stored, the kernel in exact arithmetic, rounding included.
    bound : float or None
        A lower bound on the optimal objective, rounding included; None where the method
        has none, and where the kernel is not positive semidefinite (sigmoid, polynomial
        with a negative coef0): nothing is proved there. A precomputed matrix or a
        callable kernel is taken to be, unless its support vectors show that it is not;
        its entries are taken as they are given.
    gap : float or None
        ``objective - bound``.
    kkt_violation : float or None
        Upper bound on the violation of the optimality conditions (the meaning of
        ``tol``), rounding included.
    n_iter : int
        Iterations of the solver.
    seconds : float
        Wall time of the solve.
    threads : int
        Threads the solve was allowed to use.

    Examples
    --------
    >>> from widemargin import SVC
    >>> certificate = SVC(kernel="linear").fit([[0.0], [2.0]], [0, 1]).certificate_
    >>> round(certificate.objective, 9), round(certificate.bound, 9)
    (0.5, 0.5)
    """

    status: str
    objective: float
    bound: float | None
    gap: float | None
    kkt_violation: float | None
    n_iter: int
    seconds: float
    threads: int = 1


def total_gap(gaps: Iterable[float | None]) -> float | None:
    """Return the summed gap of problems solved side by side; None if one has none."""
    known = list(gaps)
    return None if None in known else float(sum([gap for gap in known if gap]))


def dual_objective(
    beta: Vector, values: Vector, linear: Vector, kink: Kink = None
) -> float:
    """Return the minimised dual, ``1/2 beta' K beta - linear' beta + kink' |beta|``."""
    price = 0.0 if kink is None else inner(kink, np.abs(beta))
    return inner(beta, 0.5 * values - linear) + price


def primal_objective(
    beta: Vector,
    values: Vector,
    intercept: float,
    linear: Vector,
    lower: Vector,
    upper: Vector,
    total: float | None,
    kink: Kink = None,
) -> float:
    """Return the primal objective at w(beta) and the given intercept."""
    linear, lower, upper = two_sides(linear, lower, upper, kink)
    residual = linear - twice(values, kink) - intercept
    loss = np.maximum(lower * residual, upper * residual).sum()
    offset = 0.0 if total is None else total * intercept
    return float(0.5 * inner(beta, values) + loss + offset)


def duality_gap(
    beta: Vector, residual: Vector, lower: Vector, upper: Vector, kink: Kink = None
) -> float:
    """Return primal minus dual as a sum of non-negative terms (mathematics 0.1).

    Valid for every intercept when ``beta`` is feasible. The textbook difference of
    two large numbers rounds to zero or below near the optimum; this form does not.
    """
    residual, lower, upper = two_sides(residual, lower, upper, kink)
    beta = split(beta, kink)
    rises = (upper - beta) * np.maximum(residual, 0.0)
    falls = (beta - lower) * np.maximum(-residual, 0.0)
    return float((rises + falls).sum())


def kkt_violation(
    beta: Vector,
    gradient: Vector,
    lower: Vector,
    upper: Vector,
    has_equality: bool,
    kink: Kink = None,
) -> float:
    """Return the largest violation of the optimality conditions.

    ``gradient`` is ``values - linear`` (without the intercept when there is an
    equality constraint: the violation is then the spread over pairs, as in LIBSVM).
    """
    can_grow = beta < upper
    can_shrink = beta > lower
    growth = growth_slopes(beta, gradient, kink)
    fall = fall_slopes(beta, gradient, kink)
    steepest_growth = growth[can_grow].min(initial=np.inf)
    steepest_fall = fall[can_shrink].max(initial=-np.inf)
    if has_equality:
        return float(max(0.0, steepest_fall - steepest_growth))
    return float(max(0.0, -steepest_growth, steepest_fall))


def violation(problem: DualProblem, beta: Vector, values: Vector) -> float:
    """Return the KKT violation of a point of ``problem``, ``values = K beta``."""
    return kkt_violation(
        beta, values - problem.linear, problem.lower, problem.upper,
        problem.total is not None, problem.kink,
    )  # fmt: skip

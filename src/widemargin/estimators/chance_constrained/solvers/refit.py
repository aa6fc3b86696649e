"""The best multiple of a direction with the best intercept, exactly.

Along a given w this is a chance-constrained SVM with one feature, so
:func:`.smoothed_newton.newton` solves it. The
stochastic method ends with it: its direction is good long before its length and its
intercept are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.chance_constrained.data.chance_problem import ChanceProblem
from widemargin.estimators.chance_constrained.data.covariance_tables import (
    DiagonalTable,
    Uncertainty,
)
from widemargin.numerics.row_blocks import times

from .smoothed_newton import newton

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scores:
    """Samples seen along one direction: all that scale and intercept depend on."""

    along: Floats  # w'mu_i
    spread: Floats  # ||L_i'w||
    signs: Floats
    costs: Floats


def scores_of(problem: ChanceProblem, w: Floats) -> Scores:
    """Project the samples on w."""
    return Scores(
        times(problem.X, w), problem.uncertainty.spread(w), problem.signs, problem.costs
    )


def refit(
    scores: Scores, w: Floats, kappa: float, fit_intercept: bool
) -> tuple[Floats, float]:
    """Return the best multiple of w with the best b, exactly.

    In the coordinate ``a = scale ||w||`` the samples have one feature
    ``w'mu_i / ||w||`` of standard deviation ``||L_i'w|| / ||w||``.
    """
    length = float(np.linalg.norm(w))
    if length == 0.0:
        length = 1.0
    problem = ChanceProblem(
        (scores.along / length)[:, None],
        scores.signs,
        scores.costs,
        Uncertainty(DiagonalTable(np.square(scores.spread / length)[:, None])),
        kappa,
        fit_intercept,
    )
    solved = newton(problem, tol=1e-9)
    return w * (solved.w[0] / length), solved.b

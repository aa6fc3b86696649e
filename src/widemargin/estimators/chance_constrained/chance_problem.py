"""The chance-constrained problem, its objective, and how far a point is from optimal.

    minimise over w, b   1/2 ||w||^2 + sum_i c_i max(0, z_i),
    z_i = 1 - y_i (w'mu_i + b) + kappa ||L_i' w||,      Sigma_i = L_i L_i'

is jointly convex in (w, b). Its dual is

    maximise   sum_i alpha_i - 1/2 ||w(alpha, v)||^2
    subject to 0 <= alpha_i <= c_i,  sum_i y_i alpha_i = 0 (with an intercept),
    w(alpha, v) = sum_i alpha_i (y_i mu_i - kappa v_i),  v_i = L_i u_i, ||u_i|| <= 1.

Equation (13) of Wang, Fan and Pardalos with the square root over the whole quadratic
form, as their constraint (4b) has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.intercept import intercept_interval
from widemargin.estimators.base.validation import free_megabytes
from widemargin.numerics.products import inner
from widemargin.numerics.row_blocks import times, transpose_times
from widemargin.uncertainty.covariance_tables import Uncertainty

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ChanceProblem:
    """One binary problem: means, signs, costs, covariances and the safety factor."""

    X: Any  # means mu_i, an array or a CSR matrix of shape (n, d)
    signs: Floats  # -1 and +1
    costs: Floats  # c_i, the price of one unit of slack
    uncertainty: Uncertainty  # covariances Sigma_i
    kappa: float  # standard deviations to keep clear of the margin
    fit_intercept: bool = True  # whether b is free (and unpenalised) or zero

    def take(self, rows: NDArray[np.intp]) -> ChanceProblem:
        """Return the problem of some of the samples."""
        return replace(
            self,
            X=self.X[rows],
            signs=self.signs[rows],
            costs=self.costs[rows],
            uncertainty=self.uncertainty.take(rows),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and of features."""
        return self.X.shape[0], self.X.shape[1]


def refuse_wide(d: int, matrices: int) -> None:
    """Refuse more features than ``matrices`` (d, d) matrices have memory for."""
    needed, free = matrices * d * d * 8 / 1e6, free_megabytes()
    if needed > free:
        raise ValueError(
            f"X has {d} features: covariances and Newton's method are of matrices of "
            f"{d} x {d} numbers, {needed:.3g} MB in all, and {free:.3g} MB are free. "
            "Reduce the features first, by TruncatedSVD or SelectKBest, for example, "
            "or take SVC, which has no such matrix."
        )


def shortfalls_at(problem: ChanceProblem, scores: Floats, spread: Floats) -> Floats:
    """Return ``z_i`` given ``w'mu_i + b`` and the ``||L_k'w||`` of the covariances."""
    inflation = problem.kappa * problem.uncertainty.expand(spread)
    return np.asarray(1.0 - problem.signs * scores + inflation)


def shortfalls(problem: ChanceProblem, w: Floats, b: float) -> Floats:
    """Return ``z_i``: positive where the robust margin is violated."""
    spread = problem.uncertainty.table.spread(w)
    return shortfalls_at(problem, times(problem.X, w) + b, spread)


def objective(problem: ChanceProblem, w: Floats, b: float) -> float:
    """Return the primal objective at (w, b)."""
    slack = np.maximum(shortfalls(problem, w, b), 0.0)
    return 0.5 * inner(w, w) + inner(problem.costs, slack)


def best_intercept(problem: ChanceProblem, margins: Floats, inflation: Floats) -> float:
    """Return the b that minimises the objective at fixed w, exactly.

    The breakpoints ``y_i (1 + kappa ||L_i'w||) - w'mu_i`` have a weighted quantile as
    minimiser (the midpoint where it is an interval).
    """
    if not problem.fit_intercept:
        return 0.0
    bounds = problem.signs * problem.costs
    left, right = intercept_interval(
        margins,
        problem.signs * (1.0 + inflation),
        np.minimum(bounds, 0.0),
        np.maximum(bounds, 0.0),
        0.0,
    )
    return 0.5 * (left + right)


def balanced(problem: ChanceProblem, alpha: Floats) -> Floats:
    """Return feasible multipliers near ``alpha``: with an intercept they balance.

    Those between their bounds, whose samples are on their margin, make up for it in
    proportion to their room ``alpha (1 - alpha / c)``, which costs nothing to first
    order; if their room is too small, the heavier class is scaled down.
    """
    alpha = np.clip(alpha, 0.0, problem.costs)
    if not problem.fit_intercept:
        return alpha
    imbalance = inner(problem.signs, alpha)
    room = alpha * (1.0 - alpha / np.where(problem.costs > 0.0, problem.costs, 1.0))
    total = float(room.sum())
    if abs(imbalance) <= total:
        share = imbalance / total if total > 0.0 else 0.0
        return np.clip(alpha - share * problem.signs * room, 0.0, problem.costs)
    positive = problem.signs > 0.0
    totals = alpha[positive].sum(), alpha[~positive].sum()
    smaller = min(totals)
    for members, total in zip((positive, ~positive), totals, strict=True):
        if total > smaller:
            alpha[members] *= smaller / total
    return alpha


def duality_gap(
    problem: ChanceProblem,
    w: Floats,
    b: float,
    alpha: Floats,
    directions: Floats,
) -> tuple[float, float]:
    """Return objective and gap of (w, b) against the dual point (alpha, directions).

    ``directions`` are the ``v_k = L_k u_k`` with ``||u_k|| <= 1``, one row for each
    covariance. The gap is a sum of terms that are each non-negative, so it does not
    cancel near the optimum:

        1/2 ||w - w(alpha, v)||^2 + sum_i (c_i max(z_i, 0) - alpha_i z_i)
                                  + kappa sum_i alpha_i (||L_i'w|| - v_i'w)
    """
    alpha = balanced(problem, alpha)
    uncertainty = problem.uncertainty
    spread = uncertainty.table.spread(w)
    shortfall = shortfalls_at(problem, times(problem.X, w) + b, spread)
    loss = problem.costs * np.maximum(shortfall, 0.0)
    masses = uncertainty.collect(alpha)
    recovered = transpose_times(problem.X, alpha * problem.signs)
    recovered -= problem.kappa * transpose_times(directions, masses)
    misaligned = np.maximum(spread - times(directions, w), 0.0)
    gap = (
        0.5 * float(np.square(w - recovered).sum())
        + float((loss - alpha * shortfall).sum())
        + problem.kappa * inner(masses, misaligned)
    )
    return 0.5 * inner(w, w) + float(loss.sum()), max(gap, 0.0)

"""The smoothed problem: value, gradient and curvature at one width of the corner.

The hinge becomes quadratic on ``|z| <= width`` and the norm becomes
``sqrt(w'Sigma w + delta^2)`` with ``delta = width / (2 (kappa + 1))``, so both errors
shrink together (mathematics 2.4). Images ``Sigma_k w`` and margins ``X w`` are
linear in w: a line search touches the samples once, however many steps it tries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.cholesky import solve_definite
from widemargin.numerics.products import inner, squares
from widemargin.numerics.row_blocks import blocks, dense_rows, times, transpose_times

from .chance_problem import ChanceProblem, shortfalls_at

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """A primal point with all that is linear in it.

    ``margins`` are ``X w`` and ``images`` the ``Sigma_k w``.
    """

    w: Floats
    b: float
    margins: Floats
    images: Floats

    def moved(self, step: float, direction: Point) -> Point:
        """Return ``self + step * direction``; no product with the samples."""
        return Point(
            self.w + step * direction.w,
            self.b + step * direction.b,
            self.margins + step * direction.margins,
            self.images + step * direction.images,
        )


def point_at(problem: ChanceProblem, w: Floats, b: float) -> Point:
    """Evaluate the linear parts at (w, b)."""
    return Point(w, b, times(problem.X, w), problem.uncertainty.table.images(w))


def corner_of_norm(problem: ChanceProblem, width: float) -> float:
    """Return delta, the rounding of the norm that goes with ``width``."""
    return width / (2.0 * (problem.kappa + 1.0))


@dataclass(frozen=True)
class Smoothed:
    """First-order information of the smoothed problem at a point.

    ``alpha`` are the multipliers ``c_i clip((z_i + width) / (2 width), 0, 1)``;
    ``directions`` the ``v_k = Sigma_k w / s_k``, which always have ``||u_k|| < 1``.
    """

    value: float
    gradient: Floats  # with respect to (w, b); zero for a fixed b
    alpha: Floats
    band: NDArray[np.bool_]
    spread: Floats
    directions: Floats
    masses: Floats


def loss_and_multipliers(
    shortfall: Floats, costs: Floats, width: float
) -> tuple[float, Floats, Floats]:
    """Return the smoothed loss, the shares alpha_i / c_i and the multipliers.

    With share ``h = clip((z + width) / (2 width), 0, 1)`` the smoothed hinge is
    ``width h^2`` up to the end of the band and ``z`` beyond it.
    """
    share = np.minimum(np.maximum((shortfall + width) / (2.0 * width), 0.0), 1.0)
    alpha = costs * share
    # with z = width (2h - 1) on the band this is c width h^2; above it, h = 1, c z
    value = inner(alpha, shortfall + width * (1.0 - share))
    return value, share, alpha


def smoothed(problem: ChanceProblem, point: Point, width: float) -> Smoothed:
    """Evaluate value, gradient and multipliers at ``point``."""
    uncertainty = problem.uncertainty
    delta = corner_of_norm(problem, width)
    squared = np.maximum(times(point.images, point.w), 0.0)
    spread = np.sqrt(squared + delta * delta)
    shortfall = shortfalls_at(problem, point.margins + point.b, spread)
    loss, share, alpha = loss_and_multipliers(shortfall, problem.costs, width)
    directions = point.images / spread[:, None]
    masses = uncertainty.collect(alpha)
    signed = alpha * problem.signs
    gradient = np.zeros(problem.shape[1] + 1)
    gradient[:-1] = point.w - transpose_times(problem.X, signed)
    gradient[:-1] += problem.kappa * transpose_times(directions, masses)
    if problem.fit_intercept:
        gradient[-1] = -float(signed.sum())
    return Smoothed(
        value=0.5 * inner(point.w, point.w) + loss,
        gradient=gradient,
        alpha=alpha,
        band=(share > 0.0) & (share < 1.0),
        spread=spread,
        directions=directions,
        masses=masses,
    )


def margin_rows(
    problem: ChanceProblem, directions: Floats, rows: NDArray[np.intp]
) -> Floats:
    """Return ``J_i = -y_i mu_i + kappa v_i`` for the chosen samples, dense."""
    jacobian = dense_rows(problem.X, rows) * -problem.signs[rows, None]
    jacobian += problem.kappa * directions[problem.uncertainty.entries(rows)]
    return jacobian


def norm_curvature(
    problem: ChanceProblem, masses: Floats, spread: Floats, directions: Floats
) -> Floats:
    """Return ``kappa sum_k A_k (Sigma_k - v_k v_k') / s_k``, A_k the masses."""
    weights = problem.kappa * masses / spread
    curvature = problem.uncertainty.table.weighted_sum(weights)
    curvature -= squares(directions * np.sqrt(weights)[:, None])
    return curvature


def least_curvature(problem: ChanceProblem, width: float) -> float:
    """Return what is added to the curvature of b, which an empty band leaves at 0."""
    return 1e-12 * float(problem.costs.sum()) / width


def hessian(problem: ChanceProblem, state: Smoothed, width: float) -> Floats:
    """Return the (d+1, d+1) Hessian; its last row and column belong to b.

    They are those of the identity where b is fixed.
    """
    d = problem.shape[1]
    out = np.zeros((d + 1, d + 1))
    members = np.flatnonzero(state.band)
    for part in blocks(len(members)):
        rows = members[part]
        jacobian = np.empty((len(rows), d + 1))
        jacobian[:, :d] = margin_rows(problem, state.directions, rows)
        jacobian[:, d] = -problem.signs[rows] if problem.fit_intercept else 0.0
        jacobian *= np.sqrt(problem.costs[rows] / (2.0 * width))[:, None]
        out += squares(jacobian)
    out[:d, :d] += norm_curvature(problem, state.masses, state.spread, state.directions)
    out.reshape(-1)[: -1 : d + 2] += 1.0
    out[d, d] += least_curvature(problem, width) if problem.fit_intercept else 1.0
    return out


def hessian_operator(
    problem: ChanceProblem, state: Smoothed, width: float
) -> Callable[[Floats], Floats]:
    """Return what maps (w, b) to the Hessian times it, never formed, for large d."""
    X, signs, curvature = problem.X, problem.signs, problem.costs / (2.0 * width)
    directions = state.directions
    entries = problem.uncertainty.entries(np.arange(len(signs)))
    members = np.flatnonzero(state.band)
    if 2 * len(members) <= len(signs):  # others have no curvature; a copy pays
        X, signs, entries = X[members], signs[members], entries[members]
        curvature = curvature[members]
    else:
        curvature = np.where(state.band, curvature, 0.0)
    weights = problem.kappa * state.masses / state.spread
    spreading = problem.uncertainty.table.weighted_operator(weights)
    least = least_curvature(problem, width)

    def product(point: Floats) -> Floats:
        w, b = point[:-1], float(point[-1])
        along = times(directions, w)
        change = problem.kappa * along[entries] - signs * (times(X, w) + b)
        weighted = curvature * change
        signed = signs * weighted
        pulls = np.bincount(entries, weighted, minlength=len(weights))
        image = w - transpose_times(X, signed) + spreading(w)
        image += transpose_times(directions, problem.kappa * pulls - weights * along)
        slope = least * b - float(signed.sum()) if problem.fit_intercept else b
        return np.append(image, slope)

    return product


def damped_step(curvature: Floats, gradient: Floats, floor: Floats) -> Floats | None:
    """Return ``-curvature^-1 gradient``, damped where rounding left it indefinite.

    ``floor`` are the least values that the diagonal can have. None on overflow.
    """
    scale = 1.0 / np.sqrt(np.maximum(curvature.diagonal(), floor))
    scaled, right = curvature * scale * scale[:, None], -scale * gradient
    step, damping = solve_definite(scaled, right), 1e-14
    while step is None and damping < 1e9:
        scaled[np.diag_indices_from(scaled)] += damping
        step, damping = solve_definite(scaled, right), 10.0 * damping
    return None if step is None else scale * step


def _along(
    problem: ChanceProblem, point: Point, direction: Point, width: float
) -> Callable[[float], tuple[float, float]]:
    """Return what maps a step along the direction to value and derivative.

    Margins and squared spreads are a line and a parabola in the step: an evaluation
    costs O(n) and no product with the samples.
    """
    delta = corner_of_norm(problem, width)
    floor = delta * delta
    constant = np.maximum(times(point.images, point.w), 0.0) + floor
    linear = 2.0 * times(direction.images, point.w)
    quadratic = np.maximum(times(direction.images, direction.w), 0.0)
    offset = 1.0 - problem.signs * (point.margins + point.b)
    rate = -problem.signs * (direction.margins + direction.b)
    norm, slope = 0.5 * inner(point.w, point.w), inner(point.w, direction.w)
    bend = 0.5 * inner(direction.w, direction.w)

    def evaluated(step: float) -> tuple[float, float]:
        squared = constant + step * (linear + step * quadratic)
        spread = np.sqrt(np.maximum(squared, floor))
        growth = (0.5 * linear + step * quadratic) / spread
        shortfall = offset + step * rate
        shortfall = shortfall + problem.kappa * problem.uncertainty.expand(spread)
        loss, _, alpha = loss_and_multipliers(shortfall, problem.costs, width)
        value = norm + step * (slope + step * bend) + loss
        derivative = slope + 2.0 * step * bend + inner(alpha, rate)
        masses = problem.uncertainty.collect(alpha)
        return value, derivative + problem.kappa * inner(masses, growth)

    return evaluated


def line_search(
    problem: ChanceProblem,
    point: Point,
    start: float,
    direction: Point,
    width: float,
    slope: float,
) -> float:
    """Return a step with sufficient decrease along a descent direction.

    ``start`` and ``slope`` are the value at ``point`` and its rate along the direction.
    The minimum is bracketed by fourfold steps, then found by the secant of the slopes.
    """
    evaluated = _along(problem, point, direction, width)
    low, low_slope, high, high_slope = 0.0, slope, np.inf, np.inf
    step = 1.0
    for _ in range(30):
        value, derivative = evaluated(step)
        enough = value <= start + 1e-4 * step * slope
        if enough and abs(derivative) <= 0.5 * abs(slope):
            return step
        if derivative < 0.0 and enough:
            low, low_slope = step, derivative
            if not np.isfinite(high):
                step = 4.0 * step
                continue
        else:
            high, high_slope = step, max(derivative, 0.0)
        width_left = high - low
        if width_left <= 1e-12 * max(high, 1e-300):
            break
        if high_slope > 0.0:
            trial = low - low_slope * width_left / (high_slope - low_slope)
        else:
            trial = low + 0.5 * width_left
        step = float(np.clip(trial, low + 0.1 * width_left, high - 0.1 * width_left))
    return low if low > 0.0 else step

"""The smoothed problem about known multipliers: value, gradient and curvature.

Hinge and norm are maxima, ``max(0, z) = max h z`` over ``0 <= h <= 1`` and
``||L'w|| = max u'L'w`` over ``||u|| <= 1``. A proximal term that keeps h and u near
those of a centre makes both smooth (mathematics 2.4),

    max_h h z - width (h - h0)^2,    max_u u'L'w - delta/2 ||u - u0||^2,

with ``delta = width / (2 (kappa + 1))``, so that both errors shrink together. At the
optimal h0 and u0 nothing is lost: the smoothed problem has the optimum of the problem.
The u are kept as preimages p, ``u = L'p``, whose images are the ``v = Sigma p``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.cholesky import solve_definite
from widemargin.numerics.products import add_squares, inner
from widemargin.numerics.row_blocks import blocks, dense_rows, times, transpose_times
from widemargin.runtime.lazy import lazy_property

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


@dataclass(frozen=True)
class Multipliers:
    """Shares ``h_i = alpha_i / c_i``, preimages ``p_k``, directions ``v_k``.

    ``sizes`` are the ``||u_k||^2``.
    """

    shares: Floats
    preimages: Floats
    directions: Floats
    sizes: Floats

    @classmethod
    def constant(cls, problem: ChanceProblem, share: float) -> Multipliers:
        """Return the same share for all samples, and no direction."""
        (n, d), k = problem.shape, len(problem.uncertainty.table)
        nothing = np.zeros((k, d))
        return cls(np.full(n, share), nothing, nothing, np.zeros(k))

    def without(self, point: Point) -> Multipliers:
        """Return the same with preimages orthogonal to w where ``||u|| < 1``.

        There ``L'w`` goes to zero, and so does what a multiple of w adds to u; but it
        grows with every stage, and with it the rounding errors of the image.
        """
        corner = (self.sizes < 1.0 - 1e-9) & (self.sizes > 0.0)
        if not corner.any() or not point.w.any():
            return self
        along = times(self.preimages, point.w) / inner(point.w, point.w)
        along = np.where(corner, along, 0.0)[:, None]
        preimages = self.preimages - along * point.w
        return replace(
            self,
            preimages=preimages,
            directions=self.directions - along * point.images,
        )


@dataclass(frozen=True)
class Smoothed:
    """The smoothed problem at a point, to first order.

    Samples of the ``band`` have a share between 0 and 1. The u of greatest value are
    ``u0 + L'w / delta``, divided by their ``lengths`` where these are above 1.
    """

    point: Point
    centre: Multipliers
    delta: float
    value: float
    gradient: Floats  # with respect to (w, b); zero for a fixed b
    shares: Floats
    masses: Floats
    lengths: Floats

    @property
    def band(self) -> NDArray[np.bool_]:
        """Samples between their bounds."""
        return (self.shares > 0.0) & (self.shares < 1.0)

    def slope_along(self, direction: Point) -> float:
        """Return the rate of the value along a direction."""
        slope = inner(self.gradient[:-1], direction.w)
        return slope + float(self.gradient[-1]) * direction.b

    @lazy_property
    def directions(self) -> Floats:
        """The ``v_k``, of which the norms have their gradients."""
        directions = self.point.images / self.delta
        directions += self.centre.directions
        directions /= self.lengths[:, None]
        return directions

    @property
    def found(self) -> Multipliers:
        """The multipliers, the centre of the next stage."""
        preimages = self.centre.preimages + self.point.w / self.delta
        preimages /= self.lengths[:, None]
        sizes = np.einsum("kd,kd->k", self.directions, preimages)
        return Multipliers(self.shares, preimages, self.directions, sizes)


def _norms(
    centre: Multipliers, along: Floats, squared: Floats, delta: float
) -> tuple[Floats, Floats]:
    """Return smoothed norms and lengths, given the ``v0'w`` and ``w'Sigma w``."""
    change = along + squared / delta
    uncut = centre.sizes + (along + change) / delta
    lengths = np.sqrt(np.maximum(uncut, 1.0))
    turned = np.minimum(uncut, 1.0) + centre.sizes
    turned -= 2.0 * (centre.sizes + along / delta) / lengths
    return change / lengths - 0.5 * delta * np.maximum(turned, 0.0), lengths


def smoothed(
    problem: ChanceProblem, point: Point, centre: Multipliers, width: float
) -> Smoothed:
    """Evaluate value, gradient and multipliers at ``point``."""
    delta = width / (2.0 * (problem.kappa + 1.0))
    along, squared = times(centre.directions, point.w), times(point.images, point.w)
    spread, lengths = _norms(centre, along, squared, delta)
    shortfall = shortfalls_at(problem, point.margins + point.b, spread)
    shares = np.minimum(np.maximum(centre.shares + shortfall / (2.0 * width), 0.0), 1.0)
    moved = shares - centre.shares
    loss = inner(problem.costs, shares * shortfall - width * moved * moved)
    alpha = problem.costs * shares
    masses = problem.uncertainty.collect(alpha)
    signed, pulls = alpha * problem.signs, problem.kappa * masses / lengths
    gradient = np.zeros(problem.shape[1] + 1)
    gradient[:-1] = point.w - transpose_times(problem.X, signed)
    gradient[:-1] += transpose_times(centre.directions, pulls)
    gradient[:-1] += transpose_times(point.images, pulls / delta)
    if problem.fit_intercept:
        gradient[-1] = -float(signed.sum())
    value = 0.5 * inner(point.w, point.w) + loss
    return Smoothed(point, centre, delta, value, gradient, shares, masses, lengths)


def hessian(problem: ChanceProblem, state: Smoothed, width: float) -> Floats:
    """Return the (d+1, d+1) Hessian; its last row and column belong to b.

    They are those of the identity where b is fixed. With ``J_i = -y_i mu_i + kappa
    v_i`` it is ``I + sum c_i / (2 width) J_i J_i'`` over the band, and ``kappa A_k /
    (delta lengths_k)`` times ``Sigma_k`` (less ``v_k v_k'`` where u is cut).
    """
    d, members = problem.shape[1], np.flatnonzero(state.band)
    weights = problem.kappa * state.masses / (state.delta * state.lengths)
    cut = np.flatnonzero((state.lengths > 1.0) & (weights > 0.0))
    across = np.zeros((d, d))  # lower triangles are added up
    add_squares(across, state.directions[cut] * np.sqrt(weights[cut])[:, None])
    out = np.zeros((d + 1, d + 1))
    for part in blocks(len(members)):
        rows = members[part]
        entries = problem.uncertainty.entries(rows)
        jacobian = np.empty((len(rows), d + 1))
        jacobian[:, :d] = dense_rows(problem.X, rows) * -problem.signs[rows, None]
        jacobian[:, :d] += problem.kappa * state.directions[entries]
        jacobian[:, d] = -problem.signs[rows] if problem.fit_intercept else 0.0
        jacobian *= np.sqrt(problem.costs[rows] / (2.0 * width))[:, None]
        add_squares(out, jacobian)
    out[:d, :d] += problem.uncertainty.table.weighted_sum(weights) - across
    out.reshape(-1)[: -1 : d + 2] += 1.0
    # an empty band leaves b without curvature: that of all samples, a short first step
    least = (1e-12 if len(members) else 0.5) * float(problem.costs.sum()) / width
    out[d, d] += least if problem.fit_intercept else 1.0
    lower = np.tril(out, -1)
    return lower + lower.T + np.diag(out.diagonal())


def damped_step(curvature: Floats, gradient: Floats) -> Floats | None:
    """Return ``-curvature^-1 gradient``, damped where rounding left it indefinite.

    None on overflow.
    """
    floor = np.ones(len(gradient))  # of the identity; b has no more than its own
    floor[-1] = np.finfo(float).tiny
    scale = 1.0 / np.sqrt(np.maximum(curvature.diagonal(), floor))
    scaled, right = curvature * scale * scale[:, None], -scale * gradient
    step, damping = solve_definite(scaled, right), 1e-14
    while step is None and damping < 1e9:
        scaled[np.diag_indices_from(scaled)] += damping
        step, damping = solve_definite(scaled, right), 10.0 * damping
    return None if step is None else scale * step


def line_search(
    problem: ChanceProblem, state: Smoothed, direction: Point, width: float
) -> Smoothed | None:
    """Return the state a step of sufficient decrease away; None if there is none.

    The minimum along the descent direction is bracketed by fourfold or tenfold steps,
    then found by the secant of the slopes.
    """
    start, slope = state.value, state.slope_along(direction)
    low, low_slope, high, high_slope = 0.0, slope, np.inf, np.inf
    step, best = 1.0, None
    for _ in range(30):
        moved = state.point.moved(step, direction)
        tried = smoothed(problem, moved, state.centre, width)
        derivative = tried.slope_along(direction)
        enough = tried.value <= start + 1e-4 * step * slope
        if enough and abs(derivative) <= 0.5 * abs(slope):
            return tried
        if derivative < 0.0 and enough:
            low, low_slope, best = step, derivative, tried
            if not np.isfinite(high):
                step = 4.0 * step
                continue
        else:
            high, high_slope = step, max(derivative, 0.0)
        left = high - low
        if low == 0.0 and not enough:  # the step may be many orders too long
            trial = low
        elif high_slope > 0.0:
            trial = low - low_slope * left / (high_slope - low_slope)
        else:
            trial = low + 0.5 * left
        step = float(np.clip(trial, low + 0.1 * left, high - 0.1 * left))
    return best

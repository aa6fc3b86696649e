"""Covariances at the corner of their norm, where ``L_k'w = 0``.

There the norm has no gradient but the subdifferential ``{L_k u : ||u|| <= 1}``. Many
samples may sit at the corner at once: all that lack the same feature do when the
optimum leaves that feature out. Only two things about them matter: the subspace to
which w must be orthogonal, and whether subgradients of theirs sum to the multiplier of
that constraint, the force that holds w. At ``w = 0`` the subspace is the whole space.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.compensated import TINY
from widemargin.uncertainty.covariance_tables import CovarianceTable

from .chance_problem import ChanceProblem, best_intercept
from .smoothing import damped_step

Floats = NDArray[np.float64]

_MOST_COLUMNS = 20_000  # columns of all factors beyond which the space is not computed,
_MOST_WORK = 1e9  # and operations
_RANK = 1e-10  # singular values below are rounding, in units of the largest
_STEPS = 60
_FAR = 1e8  # there ||u|| = 1 to the last digit: the force is out of reach


@dataclass(frozen=True)
class Corner:
    """The covariances ``members`` with ``L_k'w = 0``, and an orthonormal basis.

    The columns of ``basis`` span what the factors of all members span: w is orthogonal
    to them.
    """

    members: NDArray[np.intp]
    basis: Floats


def corner_of(
    table: CovarianceTable, forcing: NDArray[np.intp], w: Floats
) -> Corner | None:
    """Return the corner made by the covariances ``forcing``; None if too many.

    Covariances within their space belong to it too, though they force nothing.
    """
    d = len(w)
    if not len(forcing):
        return Corner(forcing, np.zeros((d, 0)))
    columns = len(forcing) * d
    if columns > _MOST_COLUMNS or columns * d * d > _MOST_WORK:
        return None
    factors = table.factors(forcing)
    sizes = np.sqrt(np.square(factors).sum(axis=(1, 2)))
    units = factors / np.where(sizes > 0.0, sizes, 1.0)[:, None, None]
    side_by_side = units.transpose(1, 0, 2).reshape(d, -1)
    left, values, _ = np.linalg.svd(side_by_side, full_matrices=False)
    basis = left[:, values > _RANK * values.max(initial=0.0)]
    outside = w - basis @ (basis.T @ w)
    spread = np.sqrt(np.maximum(table.images(outside) @ outside, 0.0))
    sizes = np.sqrt(np.maximum(table.traces(), 0.0) * (w @ w))
    inside = (spread <= 1e-7 * sizes) & (sizes > 0.0)
    inside[forcing] = True
    return Corner(np.flatnonzero(inside), basis)


def balancing_directions(
    table: CovarianceTable, radii: Floats, force: Floats, basis: Floats
) -> tuple[Floats, Floats]:
    """Return ``v_k = L_k u_k``, ``||u_k|| < 1``, with ``sum_k radii_k v_k = force``.

    They are ``v_k = Sigma_k x / s_k``, ``s_k = sqrt(x'Sigma_k x + 1)``, at the minimum
    of the convex ``sum_k radii_k s_k - force'x`` over x in the span of ``basis``:
    its gradient is zero where the equation holds. Where the balls are too small for the
    force there is no minimum, and the sum falls short of it, which the duality gap
    shows. The ``x / s_k``, of which they are the images, are returned besides.

    ``radii`` are ``kappa`` times the sum of the multipliers of each covariance,
    ``basis`` is an orthonormal basis of the factors' span, in which ``force`` lies.
    """
    x = np.zeros(basis.shape[1])
    target = basis.T @ force
    value, images, spread = _potential(table, radii, target, basis, x)
    for _ in range(_STEPS):
        directions = images / spread[:, None]
        gradient = (radii @ directions) @ basis - target
        error = np.abs(gradient).max(initial=0.0)
        if error <= 1e-15 * np.abs(target).max(initial=0.0) or not np.all(
            spread < _FAR
        ):
            break
        shares = radii / spread
        curvature = table.weighted_sum(shares)
        curvature -= (directions * shares[:, None]).T @ directions
        inside = basis.T @ curvature @ basis  # it fades away where ||u|| is nearly 1
        floor = 1e-14 * np.diag(inside).max(initial=TINY)
        step = damped_step(inside, gradient, np.full(len(gradient), floor))
        if step is None or not gradient @ step < 0.0:
            break
        slope, length = float(gradient @ step), 1.0
        while length > 1e-6:
            trial = _potential(table, radii, target, basis, x + length * step)
            if trial[0] <= value + 1e-4 * length * slope + 1e-15 * abs(value):
                break
            length *= 0.25
        x = x + length * step
        value, images, spread = trial
    return images / spread[:, None], basis @ x / spread[:, None]


def _potential(
    table: CovarianceTable, weights: Floats, target: Floats, basis: Floats, x: Floats
) -> tuple[float, Floats, Floats]:
    direction = basis @ x
    images = table.images(direction)
    spread = np.sqrt(np.maximum(images @ direction, 0.0) + 1.0)
    return float(weights @ spread - target @ x), images, spread


def origin_multipliers(problem: ChanceProblem, alpha: Floats) -> tuple[float, Floats]:
    """Return b at w = 0, and multipliers near ``alpha`` that fit it.

    At w = 0 a sample's shortfall is ``1 - y_i b``: those of the lighter class have 2
    (or all have 1, without an intercept) and ``alpha_i = c_i``; those of the heavier
    one have 0 and share what balances the sum.
    """
    n = problem.shape[0]
    b = best_intercept(problem, np.zeros(n), np.zeros(n))
    free = 1.0 - problem.signs * b <= 1e-12
    alpha = np.where(free, np.clip(alpha, 0.0, problem.costs), problem.costs)
    if not problem.fit_intercept or not free.any():
        return b, alpha
    missing = float(problem.costs[~free].sum() - alpha[free].sum())
    room = problem.costs - alpha if missing > 0.0 else alpha
    total = float(room[free].sum())
    if total > 0.0:
        alpha = alpha + np.where(free, room * (missing / total), 0.0)
    return b, alpha

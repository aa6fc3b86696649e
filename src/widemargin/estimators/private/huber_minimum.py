"""The Huber minimum, to a distance that is certain: what objective noise rests on.

The objective is 1-strongly convex: w lies within the length of its gradient

    w + linear - sum_i costs_i y_i share_i x_i ,   share_i = slope of the loss at room_i

of the minimiser. The gradient is computed in floating point with a bound on each
rounding, so that the distance returned is at least the true one. With u = 2^-53:

- room_i is off by a stated amount, hence share_i by that over 2h, and by nothing where
  the loss is certainly straight (share 0 or 1);
- products are off by u each, a sum over a block of m rows by m u of its terms' sizes;
  blocks are added with their errors kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.compensated import UNIT, sums_of_products, two_sum

from .huber import Rounded, room_rounding, row_lengths, slope

Vector = NDArray[np.float64]

_BLOCK = 128  # rows: few enough for their sum's rounding, many enough for speed
_ATTEMPTS = 30  # solves, each from the point that the last one reached
_HEADROOM = 1.01  # for products of the roundings above, and the rounding of the bound


def distance_bound(
    X: Any,
    y: Vector,
    costs: Vector,
    width: float,
    terms: tuple[Vector, ...],
    room: Vector,
    room_error: Vector,
    lengths: Vector,
) -> float:
    """Bound the distance from the minimiser.

    Parameters
    ----------
    X, y, costs, width
        The problem, as in `minimise_huber`.
    terms : arrays of shape (dimension,)
        What adds up to the point and the linear term.
    room, room_error : arrays of shape (n_samples,)
        1 - y <w, x> of each sample, and how far it may be off.
    lengths : array of shape (n_samples,)
        Lengths of the rows of X.
    """
    share = slope(room, width)
    curved = np.abs(room) <= width + room_error
    share_error = np.where(curved, room_error / (2.0 * width) + 3.0 * UNIT, 0.0)
    pulls = -costs * y * share
    total, lost = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    blocks = (
        X[start : start + _BLOCK].T @ pulls[start : start + _BLOCK]
        for start in range(0, len(y), _BLOCK)
    )
    for part in (*terms, *blocks):
        total, error = two_sum(total, part)
        lost += error
    weights = costs * lengths
    size = float(weights @ share) + sum(float(np.linalg.norm(term)) for term in terms)
    rounding = float(weights @ share_error) + UNIT * (_BLOCK + 8) * size
    return _HEADROOM * (float(np.linalg.norm(total + lost)) + rounding)


def minimise_huber(
    X: Any, y: Vector, costs: Vector, width: float, linear: Vector, distance: float
) -> tuple[Vector, float]:
    """Come within `distance` of the Huber problem's minimiser, rounding included.

    Where rounding keeps the point farther off, or a bound from showing that it is near,
    the solve goes on from there with the room of every sample evaluated exactly.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, dimension)
    y : labels -1 and +1
    costs : weight of each sample's loss
    width : half-width h of the rounded corner
    linear : linear term, one entry per coordinate
    distance : what to come within

    Returns
    -------
    The point, and a bound on its distance from the minimiser: above `distance` only if
    floating point allows no better.
    """
    w, rest = np.zeros(X.shape[1]), np.zeros(X.shape[1])  # w + rest is the point
    room, lengths = np.ones(len(y)), row_lengths(X)
    for _ in range(_ATTEMPTS):
        problem = Rounded(X, y, costs, width, 0.5, room, w + rest + linear)
        move, _ = problem.minimise(0.5 * distance)
        w, rest = two_sum(w, rest + move)

        def off(terms: tuple[Vector, ...], room: Vector, error: Vector) -> float:
            return distance_bound(X, y, costs, width, terms, room, error, lengths)

        plain = np.asarray(1.0 - y * (X @ w))
        reached = off((w, linear), plain, room_rounding(X, w, lengths))
        if reached > distance:
            room = y * sums_of_products(X, (-w, -rest), (y,))
            reached = off((w, rest, linear), room, 2.0 * UNIT * np.abs(room))
            reached += 1.01 * float(np.linalg.norm(rest))  # rest is not returned
        if reached <= distance:
            break
    return w, reached

"""The plain hinge, minimised to a gap that is certain: what output noise rests on.

    minimise  P(w) = 1/2 ||w||^2 + sum_i costs_i max(0, room_i)
    with      room_i = 1 - y_i <w, x_i>

The proof of output perturbation needs a point within a public gap tau of the minimum,
for every data set. So training must reach tau always, and must know that it has.

*Reach.* The dual is solved by the proximal point method: its step from shares s is a
rounded problem (`huber`) centred on s, whose slopes are the next shares. It converges
for any width (Rockafellar, 1976), a narrower one in fewer steps; unlike the limit of
width 0 with a fixed centre it never asks for a system too ill-conditioned to solve, as
repeated records would. There is no limit of steps: a solve that misses tau goes on.

*Know.* For shares s in [0, 1] and q = X'(y costs s), in exact arithmetic,

    P(w) - min P  <=  1/2 ||w - q||^2
                      + sum_i costs_i ((1 - s_i) max(room_i, 0) + s_i max(-room_i, 0)).

Every term is positive, so nothing cancels but inside room_i; where that matters (a
share between 0 and 1, or a sign that rounding leaves open) room_i is evaluated exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.compensated import sums_of_products, two_sum

from .huber import Rounded, room_rounding, row_lengths, slope

Vector = NDArray[np.float64]

_NARROWING = 0.2
_PLAIN_STAGES = 6  # from then on exact rooms are the base of the next stage
_HEADROOM = 0.9  # of the gap; the rest covers the rounding of sums of positive terms
_WORST_CONDITION = 1e12  # of the systems solved: bounds the width from below


def hinge_gap(
    X: Any, y: Vector, costs: Vector, w: Vector, share: Vector, room: Vector
) -> float:
    """Bound on P(w) - min P from any shares in [0, 1]; `room` belongs to `w`."""
    apart = w - X.T @ (y * costs * share)
    losses = np.where(room > 0.0, (1.0 - share) * room, -share * room)
    return 0.5 * float(apart @ apart) + float(costs @ losses)


def _decided(
    X: Any, y: Vector, w: Vector, rest: Vector, share: Vector, lengths: Vector
) -> Vector:
    """Room of each sample at w + rest, exact wherever its rounding could matter."""
    room = np.asarray(1.0 - y * (X @ w))
    rounding = room_rounding(X, w, lengths)
    matters = ((share > 0.0) & (share < 1.0)) | (np.abs(room) <= rounding)
    rows = np.flatnonzero(matters)
    room[rows] = y[rows] * sums_of_products(X[rows], (-w, -rest), (y[rows],))
    return room


def minimise_hinge(X: Any, y: Vector, costs: Vector, gap: float) -> Vector:
    """Return a point whose objective is within `gap` of the hinge problem's minimum.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, dimension)
    y : labels -1 and +1
    costs : weight of each sample's loss
    gap : the public gap tau, far above the rounding of w itself
    """
    n_samples, dimension = X.shape
    lengths = row_lengths(X)
    goal = _HEADROOM * gap
    narrowest = float(costs @ lengths**2) / (2.0 * _WORST_CONDITION)
    width, accuracy, stage = 0.5, 0.1 * float(np.sqrt(gap)), 0
    w, rest = np.zeros(dimension), np.zeros(dimension)  # w + rest is the point
    room, share = np.ones(n_samples), np.full(n_samples, 0.5)
    while True:
        problem = Rounded(X, y, costs, width, share, room, w + rest)
        move, _ = problem.minimise(accuracy)
        share = slope(room - y * (X @ move), width, share)
        w, rest = two_sum(w, rest + move)
        room = 1.0 - y * (X @ w)
        reached = hinge_gap(X, y, costs, w, share, room)
        if reached <= goal or stage >= _PLAIN_STAGES:
            room = _decided(X, y, w, rest, share, lengths)
            if hinge_gap(X, y, costs, w, share, room) <= goal:
                return w
        width, stage = max(_NARROWING * width, narrowest), stage + 1
        accuracy *= _NARROWING

"""SVM training problems with a rounded corner, solved by Newton's method.

All of them are

    minimise  1/2 ||w||^2 + sum_i costs_i loss(room_i) + <linear, w>

where room_i = 1 - y_i <w, x_i> is how far a sample lies inside the margin, and the
corner of the hinge is rounded with half-width h about a centre c in [0, 1]:

    loss(room) = max over s in [0, 1] of  s room - h (s - c)^2 .

Its slope is s = clip(c + room / 2h). c = 1/2 is the Huber hinge (Chapelle, 2007), for
which `minimum` is; `hinge` follows other centres to the plain hinge. The
objective is piecewise quadratic and 1-strongly convex, so a gradient of length g leaves
w within g of the minimiser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.optimize import brentq

from widemargin.numerics.compensated import UNIT

Vector = NDArray[np.float64]

_NEWTON_STEPS = 500
_EXTRA_STEPS = 5


def slope(room: Vector, width: float, centre: float | Vector = 0.5) -> Vector:
    """Slope of the rounded hinge: 0 well outside the margin, 1 well inside."""
    share: Vector = centre + room / (2.0 * width)
    return share.clip(0.0, 1.0)


def row_lengths(X: Any) -> Vector:
    """Return the Euclidean length of every row."""
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    return np.asarray(np.sqrt(np.asarray(squares.sum(axis=1)).ravel()))


def room_rounding(X: Any, w: Vector, lengths: Vector) -> Vector:
    """Bound how far 1 - y (X @ w) is off in floating point (y is -1 or +1)."""
    size = 1.0 + lengths * float(np.linalg.norm(w))
    return np.asarray(2.0 * UNIT * (X.shape[1] + 4) * size)


@dataclass(frozen=True)
class Rounded:
    """A rounded problem seen from a base point: the unknown is the move away from it.

    Near the minimiser the move is short, so that rounding is relative to it and not to
    w: what was evaluated accurately at the base point stays accurate.

    Attributes
    ----------
    X, y, costs : samples, labels -1 and +1, weight of each sample's loss
    width, centre : half-width h of the corner and the slope in its middle
    room : 1 - y <base, x> of each sample
    linear : the linear term plus the base point
    """

    X: Any
    y: Vector
    costs: Vector
    width: float
    centre: float | Vector
    room: Vector
    linear: Vector

    def minimise(self, tolerance: float) -> tuple[Vector, float]:
        """Move until the gradient is short enough or rounding stops progress.

        Returns the move and the length of the gradient there.
        """
        X, y, costs = self.X, self.y, self.costs
        move, extra = np.zeros(X.shape[1]), _EXTRA_STEPS
        for _ in range(_NEWTON_STEPS):
            room = self.room - y * (X @ move)
            share = slope(room, self.width, self.centre)
            gradient = self.linear + move - X.T @ (costs * y * share)
            length = float(np.linalg.norm(gradient))
            if length <= tolerance:
                break
            bent = np.flatnonzero((share > 0.0) & (share < 1.0) & (costs > 0))
            stiffness = costs[bent] / (2.0 * self.width)
            step = _newton_direction(X[bent], stiffness, gradient)
            # Half the decrement -<gradient, step> is what the step can still gain. Once
            # it is lost in the objective's rounding a few more sharpen the gradient.
            size = float(costs @ np.maximum(room + 2.0 * self.width, 0.0))
            size += abs(float((self.linear + move) @ move))
            if -float(gradient @ step) <= 1e-16 * size:
                extra -= 1
                if extra < 0:
                    break
            move = move + self._line_minimum(room, move, step) * step
        return move, length

    def _line_minimum(self, room: Vector, move: Vector, step: Vector) -> float:
        """Step t at which the derivative of the objective along a direction vanishes.

        The derivative is continuous, piecewise linear, increasing, negative at 0. The
        full Newton step is exact when no sample crosses a kink; otherwise bracket the
        root and solve for it.
        """
        change = self.y * (self.X @ step)
        pull = self.costs * change
        start, growth = float((self.linear + move) @ step), float(step @ step)

        def derivative(t: float) -> float:
            share = slope(room - t * change, self.width, self.centre)
            return start + growth * t - float(pull @ share)

        first, low, high = derivative(0.0), 0.0, 1.0
        while (last := derivative(high)) < 0.0 and abs(last) > 1e-6 * abs(first):
            low, high = high, 2.0 * high
        if first >= 0.0 or abs(last) <= 1e-6 * abs(first):
            return high
        tiny = np.finfo(np.float64).tiny  # the root may be far below 1
        root = brentq(derivative, low, high, xtol=tiny, rtol=1e-12, maxiter=2000)
        return float(root)


def _factor(square: Any) -> Any:
    """Factor I + A'A, shifted where rounding made it indefinite.

    A shift gives another direction of descent, no other minimiser; an error in its
    place would depend on the data. The last one, by the trace, outweighs any rounding.
    (LAPACK without scipy's checks, which take longer than a small factorisation.)
    """
    factor, failed = dpotrf(square)
    size = float(np.trace(square)) if failed else 0.0
    for share in (1e-15, 1e-13, 1e-11, 1e-9, 1e-6, 1.0):
        if not failed:
            break
        factor, failed = dpotrf(square + share * size * np.eye(len(square)))
    return factor


def _newton_direction(rows: Any, stiffness: Vector, gradient: Vector) -> Vector:
    """Solve (I + rows' diag(stiffness) rows) step = -gradient on the smaller side."""
    count, dimension = rows.shape
    if count == 0:
        return -gradient
    roots = np.sqrt(stiffness)[:, None]
    scaled = rows.multiply(roots).tocsr() if sparse.issparse(rows) else rows * roots
    if dimension <= count:
        square = scaled.T @ scaled
        right = -gradient
    else:  # Woodbury: (I + A'A)^-1 g = g - A'(I + AA')^-1 A g
        square = scaled @ scaled.T
        right = scaled @ -gradient
    square = square.toarray() if sparse.issparse(square) else square
    square.flat[:: len(square) + 1] += 1.0
    solved, _ = dpotrs(_factor(square), right)
    step = solved if dimension <= count else -gradient - scaled.T @ solved
    return np.asarray(step)

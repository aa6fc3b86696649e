"""The two training problems behind the mechanisms, solved with a certificate.

Both are

    minimise  1/2 ||w||^2 + sum_i costs_i loss_h(y_i <w, x_i>) + <linear, w>

with the Huber hinge of half-width h (Chapelle, 2007; h -> 0 is the hinge):

    loss_h(z) = 0                      z > 1 + h
                (1 + h - z)^2 / (4h)   |1 - z| <= h
                1 - z                  z < 1 - h

`minimise_huber` solves it for one h by Newton's method with an exact line search; the
objective is piecewise quadratic and 1-strongly convex, so a gradient of length g leaves
w within g of the minimiser. `minimise_hinge` follows h -> 0 until the duality gap of
the plain hinge is below a tolerance fixed in advance; it does not return earlier.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import brentq

from widemargin.certificate import duality_gap

Vector = NDArray[np.float64]

_NEWTON_STEPS = 500
_EXTRA_STEPS = 5
_NARROWING = 0.2
_NARROWEST = 1e-14
_SHARPENINGS = 3
_SHARPEN_LIMIT = 1000
_TOO_COARSE = (
    "rounding keeps the training problem from the accuracy that the privacy proof "
    "needs; lower C, or rescale the features by public bounds"
)


def slope(margins: Vector, width: float) -> Vector:
    """Minus the derivative of the Huber hinge: 0 beyond the margin, 1 well inside."""
    return np.clip((1.0 + width - margins) / (2.0 * width), 0.0, 1.0)


def _factor(square: Any) -> Any:
    """Factor a positive definite matrix, shifted where rounding made it indefinite.

    A shift gives another direction of descent, no other minimiser. An error in its
    place would depend on the data.
    """
    size = float(np.trace(square))
    for share in (0.0, 1e-15, 1e-13, 1e-11, 1e-9):
        try:
            shifted = square + share * size * np.eye(len(square)) if share else square
            return cho_factor(shifted, check_finite=False)
        except LinAlgError:
            continue
    raise ArithmeticError(_TOO_COARSE)


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
    square[np.diag_indices_from(square)] += 1.0
    solved = cho_solve(_factor(square), right)
    step = solved if dimension <= count else -gradient - scaled.T @ solved
    return np.asarray(step)


def _line_minimum(
    margins: Vector,
    change: Vector,
    costs: Vector,
    width: float,
    line: tuple[float, float],
) -> float:
    """Step t at which the derivative of the objective along a direction vanishes.

    The derivative is line[0] + line[1] t - sum costs change slope(margins + t change):
    continuous, piecewise linear, increasing, negative at 0. The full Newton step is
    exact when no sample crosses a kink; otherwise bracket the root and solve for it.
    """
    pull = costs * change

    def derivative(t: float) -> float:
        drag = float(pull @ slope(margins + t * change, width))
        return line[0] + line[1] * t - drag

    first, low, high = derivative(0.0), 0.0, 1.0
    while (last := derivative(high)) < 0.0 and abs(last) > 1e-6 * abs(first):
        low, high = high, 2.0 * high
    if first >= 0.0 or abs(last) <= 1e-6 * abs(first):
        return high
    return float(brentq(derivative, low, high, xtol=1e-12))


def _descend(
    X: Any,
    y: Vector,
    costs: Vector,
    width: float,
    linear: Vector,
    start: Vector,
    tolerance: float,
) -> tuple[Vector, float]:
    """Newton's method until the gradient is short enough or rounding stops progress.

    Returns the point and the length of the gradient there.
    """
    w, extra = start, _EXTRA_STEPS
    for _ in range(_NEWTON_STEPS):
        margins = y * (X @ w)
        gradient = w - X.T @ (costs * y * slope(margins, width)) + linear
        length = float(np.linalg.norm(gradient))
        if length <= tolerance:
            break
        bent = np.flatnonzero((np.abs(1.0 - margins) < width) & (costs > 0))
        step = _newton_direction(X[bent], costs[bent] / (2.0 * width), gradient)
        # Half the decrement -<gradient, step> is what the step can still gain. Once it
        # is lost in the objective's rounding a few more steps sharpen the gradient.
        size = float(w @ w + costs @ np.maximum(1.0 + width - margins, 0.0))
        if -float(gradient @ step) <= 1e-16 * (size + abs(float(linear @ w))):
            extra -= 1
            if extra < 0:
                break
        change = y * (X @ step)
        line = float((w + linear) @ step), float(step @ step)
        w = w + _line_minimum(margins, change, costs, width, line) * step
    return w, length


def minimise_huber(
    X: Any, y: Vector, costs: Vector, width: float, linear: Vector, tolerance: float
) -> Vector:
    """Minimise the Huber problem until the gradient is shorter than `tolerance`.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, dimension)
    y : labels -1 and +1
    costs : weight of each sample's loss
    width : half-width h of the rounded corner
    linear : linear term, one entry per coordinate
    tolerance : bound on the gradient's length, hence on the distance to the minimiser

    Raises
    ------
    ArithmeticError
        When rounding keeps the gradient above the tolerance. The message carries
        nothing of the data.
    """
    start = np.zeros(X.shape[1])
    w, length = _descend(X, y, costs, width, linear, start, tolerance)
    if not length <= tolerance:
        raise ArithmeticError(_TOO_COARSE)
    return w


def hinge_gap(
    X: Any, y: Vector, costs: Vector, beta: Vector
) -> tuple[Vector, Vector, float]:
    """Weights of a dual point, its residual, and the hinge problem's gap there.

    beta must lie in the dual's box, between 0 and y costs; then v = X' beta is within
    the gap of the minimum (mathematics.md, 0.1, no intercept).
    """
    v = np.asarray(X.T @ beta)
    residual = y - X @ v
    lower, upper = np.minimum(0.0, y * costs), np.maximum(0.0, y * costs)
    return v, residual, float(duality_gap(beta, residual, lower, upper))


def _sharpen(X: Any, beta: Vector, residual: Vector, bent: Any) -> Vector:
    """Move the bent samples' beta so that their margins become exactly 1, if they can.

    Least squares with the smallest change; solved in the space of w, or of the samples,
    whichever is smaller. The caller puts the result back into the box.
    """
    rows = X[bent].toarray() if sparse.issparse(X) else X[bent]
    move = beta.copy()
    move[bent] += np.linalg.lstsq(rows @ rows.T, residual[bent], rcond=1e-12)[0]
    return move


def minimise_hinge(X: Any, y: Vector, costs: Vector, gap: float) -> Vector:
    """Minimise the hinge problem until its duality gap is at most `gap`.

    The width shrinks until the certificate holds. At each width the Huber solution
    gives a dual point, which is then sharpened on the samples that are bent there: once
    these are the support vectors on the margin, the gap falls to rounding.
    """
    w, linear = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    width = 0.5
    # About d samples lie on the margin, more where samples repeat.
    limit = min(_SHARPEN_LIMIT, max(50, 2 * X.shape[1]))
    # Each stage is solved more sharply than the last, down to rounding: an inexact
    # stage shows as a larger gap, never as a wrong certificate.
    accuracy = 0.1 * float(np.sqrt(gap))
    while width > _NARROWEST:
        w, _ = _descend(X, y, costs, width, linear, w, accuracy)
        margins = y * (X @ w)
        share = slope(margins, width)
        bent = np.flatnonzero((share > 0.0) & (share < 1.0) & (costs > 0))
        beta = y * costs * share
        for _ in range(_SHARPENINGS):
            v, residual, reached = hinge_gap(X, y, costs, beta)
            if reached <= gap:
                return v
            if not 0 < len(bent) <= limit:
                break
            beta = _sharpen(X, beta, residual, bent)
            beta = y * np.clip(y * beta, 0.0, costs)
        width, accuracy = _NARROWING * width, _NARROWING * accuracy
    raise ArithmeticError(_TOO_COARSE)

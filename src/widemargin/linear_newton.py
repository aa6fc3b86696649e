"""A start for linear problems with many samples and few features: primal Newton.

With a linear kernel the primal has only d + 1 unknowns,

    minimise_{w, b}  1/2 ||w||^2 + sum_i max(lower_i u_i, upper_i u_i) + total * b,
    u_i = linear_i - <w, x_i> - b.

Each kink is replaced by a parabola on |u_i| <= width, and the smooth problem solved by
Newton steps of O(n d + m d^2), m the samples on a parabola. Its slopes

    beta_i = clip((lower_i + upper_i) / 2 + (upper_i - lower_i) u_i / (2 width))

are the dual variables: they violate the optimality conditions by at most 2 width, so
a width of a little under tol / 2 ends the solve. (The chance-constrained system
smooths in the same way; mathematics 2.4.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .problem import DualProblem

Vector = NDArray[np.float64]

LEAST_SAMPLES = 4000  # below this the pair steps are as fast
MOST_FEATURES = 1500  # the Hessian is dense
SHRINK = 0.2  # factor on the width from stage to stage
PASSING = 1e-5  # decrease still to be had, relative, at which a stage is left
FINAL = 1e-14  # and at the end
STEPS = 60  # Newton steps per stage, at most
SEARCHES = 20  # looks at the derivative per line search, at most
DENSE_ENTRIES = 1 << 27  # sparse samples up to here (1 GB) are made dense
FINAL_SHARE = 0.4  # final width as a share of tol


def newton_pays(problem: DualProblem, X: Any) -> bool:
    """Say whether Newton in the primal is the faster way to start."""
    n, d = X.shape
    return bool(n >= LEAST_SAMPLES and d <= MOST_FEATURES and n >= 10 * d)


def newton_start(problem: DualProblem, X: Any, tol: float) -> Vector:
    """Return dual variables that violate optimality by about ``tol`` or less.

    They lie in the box, and their sum is ``total`` but for rounding.
    """
    has_intercept = problem.total is not None
    if sparse.issparse(X) and X.shape[0] * X.shape[1] <= DENSE_ENTRIES:
        X = X.toarray()  # a product of sparse matrices is twenty times slower
    point = np.zeros(X.shape[1] + 1)
    residual = problem.linear.copy()
    # At first everybody is on a parabola: otherwise nothing holds the intercept.
    width = max(2.0 * float(np.abs(residual).max(initial=0.0)), 10 * tol)
    final = FINAL_SHARE * tol
    while True:
        for _ in range(STEPS):
            beta, band = _slopes(problem, residual, width)
            gradient = _gradient(problem, X, point, beta)
            if not has_intercept:
                gradient[-1] = 0.0
            step = _newton_step(problem, X, gradient, band, width)
            slope = float(gradient @ step)
            value = _value(problem, point, residual, width)
            if slope > -(FINAL if width <= final else PASSING) * max(1.0, abs(value)):
                break
            change = np.asarray(X @ step[:-1]).ravel() + step[-1]
            length = _line_search(problem, point, step, residual, change, width)
            point = point + length * step
            residual = residual - length * change
        if width <= final:
            beta, band = _slopes(problem, residual, width)
            return _settle_sum(problem, beta, band)
        width = max(final, SHRINK * width)


def _slopes(
    problem: DualProblem, residual: Vector, width: float
) -> tuple[Vector, NDArray[np.bool_]]:
    """Return the derivative of the smoothed loss, and who is on a parabola."""
    middle = 0.5 * (problem.lower + problem.upper)
    half = 0.5 * (problem.upper - problem.lower)
    beta = middle + half * np.clip(residual / width, -1.0, 1.0)
    return np.clip(beta, problem.lower, problem.upper), np.abs(residual) < width


def _settle_sum(problem: DualProblem, beta: Vector, band: NDArray[np.bool_]) -> Vector:
    """Spread what the sum is off over the samples on a parabola; the others stay."""
    if problem.total is not None and band.any():
        room = np.minimum(beta - problem.lower, problem.upper - beta)[band]
        missing = problem.total - float(beta.sum())
        if room.sum() > abs(missing):
            beta[band] += missing * room / room.sum()
    return beta


def _value(
    problem: DualProblem, point: Vector, residual: Vector, width: float
) -> float:
    """Return the smoothed primal objective."""
    middle = 0.5 * (problem.lower + problem.upper)
    half = 0.5 * (problem.upper - problem.lower)
    distance = np.abs(residual)
    kink = np.where(distance < width, 0.5 * (residual**2 / width + width), distance)
    offset = 0.0 if problem.total is None else problem.total * point[-1]
    loss = float(middle @ residual + half @ kink)
    return float(0.5 * (point[:-1] @ point[:-1])) + loss + offset


def _gradient(problem: DualProblem, X: Any, point: Vector, beta: Vector) -> Vector:
    total = 0.0 if problem.total is None else problem.total
    weights = point[:-1] - np.asarray(X.T @ beta).ravel()
    return np.append(weights, total - beta.sum())


def _newton_step(
    problem: DualProblem,
    X: Any,
    gradient: Vector,
    band: NDArray[np.bool_],
    width: float,
) -> Vector:
    """Solve the Newton system; only samples on a parabola bend the objective."""
    inside = X[band]
    curvature = (problem.upper - problem.lower)[band] / (2.0 * width)
    if sparse.issparse(inside):
        scaled = inside.multiply(curvature[:, None]).tocsr()
        block = np.asarray((inside.T @ scaled).todense())
    else:
        scaled = inside * curvature[:, None]
        block = inside.T @ scaled
    d = gradient.size - 1
    hessian = np.zeros((d + 1, d + 1))
    hessian[:d, :d] = block + np.eye(d)
    if problem.total is not None:
        hessian[:d, d] = hessian[d, :d] = np.asarray(scaled.sum(axis=0)).ravel()
        hessian[d, d] = curvature.sum()
    # Nobody on a parabola leaves the intercept undetermined: damp it.
    hessian[d, d] += 1e-10 * (1.0 + hessian[d, d])
    try:
        return np.asarray(cho_solve(cho_factor(hessian, lower=True), -gradient))
    except LinAlgError:
        hessian[np.diag_indices(d + 1)] += 1e-8 * hessian.diagonal().max()
        return np.asarray(cho_solve(cho_factor(hessian, lower=True), -gradient))


def _line_search(
    problem: DualProblem,
    point: Vector,
    step: Vector,
    residual: Vector,
    change: Vector,
    width: float,
) -> float:
    """Return the length at which the objective is least along the step.

    Its derivative rises, piecewise linearly: bracketed by doubling, then found by
    regula falsi (Illinois). Halving a full step instead takes half as many Newton
    steps again (a9a: 82 instead of 53).
    """
    total = 0.0 if problem.total is None else problem.total
    constant = float(point[:-1] @ step[:-1]) + total * float(step[-1])
    square = float(step[:-1] @ step[:-1])

    def derivative(length: float) -> float:
        beta, _ = _slopes(problem, residual - length * change, width)
        return constant + length * square - float(beta @ change)

    left, right = 0.0, 1.0
    at_left, at_right = derivative(0.0), derivative(1.0)
    first = at_left
    while at_right < 0.0 and right < 1e6:
        left, at_left, right = right, at_right, 2.0 * right
        at_right = derivative(right)
    for _ in range(SEARCHES):
        middle = (left * at_right - right * at_left) / (at_right - at_left)
        slope = derivative(middle)
        if abs(slope) <= 0.02 * abs(first):
            return middle
        if slope < 0.0:
            left, at_left, at_right = middle, slope, 0.5 * at_right
        else:
            right, at_right, at_left = middle, slope, 0.5 * at_left
    return left

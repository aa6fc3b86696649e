"""The chance-constrained problem to a hundred digits; shares no code with the package.

Decimal arithmetic of 120 digits on the numbers as they are stored: the objective of a
model, and the optimum by Newton's method on the optimality conditions, whose solution
is checked condition by condition. Slow and plain, for small problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np

DIGITS = 120
SOLVED = Decimal(10) ** -60


def exact(values) -> np.ndarray:
    """Return the same numbers as decimals, as an object array."""
    array = np.asarray(values)
    flat = [Decimal(float(value)) for value in array.ravel()]
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out.reshape(array.shape)


@dataclass
class ExactProblem:
    """The problem in the units of X; numbers are decimals.

    ``kind`` is "variances", "matrices" or "factors"; sample i has entry ``entries[i]``
    of the covariances. The penalty is ``1/2 ||scale * w||^2``.
    """

    X: np.ndarray
    signs: np.ndarray
    costs: np.ndarray
    kind: str
    covariances: np.ndarray
    entries: np.ndarray
    kappa: Decimal
    scale: np.ndarray
    fit_intercept: bool = True

    def image(self, k: int, w: np.ndarray) -> np.ndarray:
        covariance = self.covariances[k]
        if self.kind == "variances":
            return covariance * w
        if self.kind == "matrices":
            return covariance @ w
        return covariance @ (covariance.T @ w)

    def spread(self, k: int, w: np.ndarray) -> Decimal:
        return max(w @ self.image(k, w), Decimal(0)).sqrt()

    def matrix(self, k: int) -> np.ndarray:
        covariance = self.covariances[k]
        if self.kind == "variances":
            return np.diag(covariance) + Decimal(0)
        return covariance if self.kind == "matrices" else covariance @ covariance.T

    def shortfalls(self, w: np.ndarray, b: Decimal) -> np.ndarray:
        spreads = {k: self.spread(k, w) for k in set(self.entries.tolist())}
        margins = self.signs * (self.X @ w + b)
        inflation = np.array([self.kappa * spreads[k] for k in self.entries.tolist()])
        return 1 - margins + inflation

    def objective(self, w: np.ndarray, b: Decimal) -> Decimal:
        slack = np.maximum(self.shortfalls(w, b), Decimal(0))
        scaled = self.scale * w
        return scaled @ scaled / 2 + self.costs @ slack


def exact_problem(X, signs, costs, kind, covariances, entries, kappa, **more):
    """Return the problem of floats; ``kappa`` and ``costs`` may be decimals already."""
    d = np.shape(X)[1]
    return ExactProblem(
        exact(X),
        exact(signs),
        costs if np.asarray(costs).dtype == object else exact(costs),
        kind,
        exact(covariances),
        np.asarray(entries),
        kappa if isinstance(kappa, Decimal) else Decimal(float(kappa)),
        exact(more.pop("scale", np.ones(d))),
        **more,
    )


def objective_of(problem: ExactProblem, w, b) -> Decimal:
    """Return the objective of a stored model."""
    with localcontext(prec=DIGITS):
        return problem.objective(exact(w), Decimal(b))


def optimum_near(problem: ExactProblem, w, b, near=1e-6) -> Decimal | None:
    """Return the optimum, from a model that is nearly optimal.

    None where the conditions are degenerate, or not met by what was found: then
    nothing is known but that the optimum is below every objective.
    """
    with localcontext(prec=DIGITS):
        try:
            start = Decimal(b) if problem.fit_intercept else Decimal(0)
            return _optimum(problem, exact(w), start, Decimal(near))
        except (ArithmeticError, ValueError):
            return None


def _optimum(problem, w, b, near):
    d, zero = len(w), Decimal(0)
    z = problem.shortfalls(w, b)
    margin = [i for i in range(len(z)) if abs(z[i]) <= near]
    alpha = np.array(
        [c if z_i > near else zero for c, z_i in zip(problem.costs, z, strict=True)]
    )
    if len(margin) > d + 1:
        return None
    free = d + int(problem.fit_intercept)
    for _ in range(12):
        residual, jacobian = _conditions(problem, w, b, alpha, margin)
        step = _solved(jacobian, -residual)
        w, b = w + step[:d], b + (step[d] if problem.fit_intercept else zero)
        alpha[margin] += step[free:]
        if max(abs(value) for value in step) <= SOLVED:
            break
    else:
        return None
    z = problem.shortfalls(w, b)
    slackness = Decimal(10) ** -50
    for i, cost in enumerate(problem.costs):
        inside = -slackness <= alpha[i] <= cost + slackness
        right = i in margin or (z[i] < 0 if alpha[i] == 0 else z[i] > 0)
        if not (inside and right):
            return None
    return problem.objective(w, b)


def _conditions(problem, w, b, alpha, margin):
    """Return the optimality conditions and their derivatives at a point."""
    d, m = len(w), len(margin)
    free = d + int(problem.fit_intercept)
    residual = np.full(free + m, Decimal(0))
    jacobian = np.full((free + m, free + m), Decimal(0))
    square = problem.scale * problem.scale
    residual[:d] = square * w - (alpha * problem.signs) @ problem.X
    jacobian[range(d), range(d)] = square
    normals = {}
    for k in set(problem.entries.tolist()):
        mass = alpha[problem.entries == k].sum()
        spread = problem.spread(k, w)
        if not problem.kappa or not problem.covariances[k].any():
            normals[k] = np.full(d, Decimal(0))
            continue
        normals[k] = problem.image(k, w) / spread  # at a corner: DivisionByZero
        residual[:d] += problem.kappa * mass * normals[k]
        curved = problem.matrix(k) - np.outer(normals[k], normals[k])
        jacobian[:d, :d] += problem.kappa * mass / spread * curved
    if problem.fit_intercept:
        residual[d] = -(alpha @ problem.signs)
    z = problem.shortfalls(w, b)
    for row, i in enumerate(margin, start=free):
        normal = problem.kappa * normals[problem.entries[i]]
        normal = normal - problem.signs[i] * problem.X[i]
        jacobian[row, :d] = jacobian[:d, row] = normal
        if problem.fit_intercept:
            jacobian[row, d] = jacobian[d, row] = -problem.signs[i]
        residual[row] = z[i]
    return residual, jacobian


def _solved(matrix, right):
    """Solve by elimination with pivots; a singular system raises DivisionByZero."""
    matrix, right = matrix.copy(), right.copy()
    n = len(right)
    for j in range(n):
        pivot = max(range(j, n), key=lambda i: abs(matrix[i, j]))
        matrix[[j, pivot]], right[[j, pivot]] = matrix[[pivot, j]], right[[pivot, j]]
        for i in range(j + 1, n):
            factor = matrix[i, j] / matrix[j, j]
            matrix[i, j:] = matrix[i, j:] - factor * matrix[j, j:]
            right[i] -= factor * right[j]
    for j in reversed(range(n)):
        right[j] = (right[j] - matrix[j, j + 1 :] @ right[j + 1 :]) / matrix[j, j]
    return right

"""nu-SVC and nu-SVR as they are defined: a generic solver, and objectives with care.

Shares no code with the package: both constraints are given to Clarabel as they stand,
and the objective of a model is summed in long double.
"""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from tests.certified import kernel_matrix
from tests.oracles.generic_qp import run_clarabel

Vector = Any
LONG = np.longdouble


def nu_optimum(
    K: Vector, linear: Vector, lower: Vector, upper: Vector, budget: float,
    *, at_least: bool, fit_intercept: bool = True,
) -> float:  # fmt: skip
    """Return the optimum: sizes of the coefficients sum to at least or most `budget`.

    Every variable is split into its two signs.
    """
    n = len(linear)
    K2 = np.tile(K, (2, 2))
    most = np.concatenate([np.maximum(upper, 0), np.zeros(n)])
    least = np.concatenate([np.zeros(n), np.minimum(lower, 0)])
    sizes = np.concatenate([np.ones(n), -np.ones(n)])
    rows, right, cones = [], [], []
    if fit_intercept:
        rows.append(np.ones((1, 2 * n)))
        right.append([0.0])
        cones.append(clarabel.ZeroConeT(1))
    rows.append(-sizes[None] if at_least else sizes[None])
    right.append([-budget if at_least else budget])
    rows += [np.eye(2 * n), -np.eye(2 * n)]
    right += [most, -least]
    cones.append(clarabel.NonnegativeConeT(1 + 4 * n))
    linear = np.concatenate([linear, linear])
    rows = sparse.csc_matrix(np.vstack(rows))
    found = run_clarabel(K2, linear, rows, np.concatenate(right), cones, tol=1e-12)
    return -float(found.obj_val)


def long_kernel(model: Any, X: Any) -> Vector:
    """Return the kernel matrix of a fitted model, in long double if it is small."""
    kernel = model._kernel
    if len(X) > 500:
        return kernel_matrix(kernel, X)
    X = np.asarray(X, dtype=LONG)
    if model.kernel == "linear":
        return X @ X.T
    if model.kernel == "poly":
        return (kernel.gamma * (X @ X.T) + kernel.coef0) ** kernel.degree
    differences = X[:, None, :] - X[None, :, :]
    return np.exp(-LONG(kernel.gamma) * (differences**2).sum(axis=2))


def svc_objective(
    K: Vector, y: Vector, weights: Vector, nu: float, beta: Vector, b: float, rho: float
) -> Any:
    """Return the objective of nu-SVC at (rho w, rho b, rho), in long double."""
    beta, rho, weights = LONG(beta), LONG(rho), LONG(weights)
    f = K @ beta
    loss = np.maximum(0, rho - y * rho * (f + LONG(b)))
    budget = LONG(nu * float(weights.sum()))
    return rho * rho * (beta @ f) / 2 - budget * rho + weights @ loss


def svr_objective(
    K: Vector, y: Vector, costs: Vector, nu: float, beta: Vector, b: float, epsilon: Any
) -> Any:
    """Return the objective of nu-SVR, in long double."""
    beta, costs, epsilon = LONG(beta), LONG(costs), LONG(epsilon)
    f = K @ beta
    loss = np.maximum(0, np.abs(LONG(y) - f - LONG(b)) - epsilon)
    budget = LONG(nu * float(costs.sum()))
    return beta @ f / 2 + budget * epsilon + costs @ loss

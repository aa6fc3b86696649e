"""Objective and gap of any C-SVC, recomputed in float64 by one function.

Problem (signed dual variable ``beta_i = y_i alpha_i``)::

    minimise 1/2 beta' K beta - y' beta,  0 <= y_i beta_i <= C_i  [, sum(beta) = 0]

This module shares no code with the solver, the Gram matrix or the certificate: it is
what every contestant's answer, ours included, is judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
BLOCK_ENTRIES = 8_000_000  # kernel entries in memory at a time: 64 MB


@dataclass(frozen=True)
class KernelChoice:
    """A kernel as scikit-learn's parameters state it."""

    kernel: str = "rbf"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0


@dataclass(frozen=True)
class Judgement:
    """What an answer is worth.

    ``objective`` is the primal value at the best intercept, ``bound`` the dual value (a
    lower bound on the optimum), ``gap`` their difference, ``infeasible`` how far the
    answer lay outside the box and the equality before it was put inside.
    """

    objective: float
    bound: float
    gap: float
    infeasible: float


def kernel_block(choice: KernelChoice, A: Any, B: Any) -> Matrix:
    """Evaluate the kernel between the rows of A and of B in float64."""
    A, B = _float64(A), _float64(B)
    if choice.kernel == "laplacian":
        distances: Matrix = manhattan_distances(A, B)
        return np.exp(-choice.gamma * distances)
    product = A @ B.T
    inner: Matrix = product.toarray() if sparse.issparse(product) else product
    if choice.kernel == "linear":
        return inner
    if choice.kernel == "poly":
        powered: Matrix = (choice.gamma * inner + choice.coef0) ** choice.degree
        return powered
    if choice.kernel == "sigmoid":
        return np.tanh(choice.gamma * inner + choice.coef0)
    if choice.kernel == "rbf":
        squared = _squared_norms(A)[:, None] + _squared_norms(B)[None, :] - 2 * inner
        return np.exp(-choice.gamma * np.maximum(squared, 0.0))
    raise ValueError(
        f"kernel {choice.kernel!r} is none of linear, poly, rbf, laplacian, sigmoid"
    )


def _float64(A: Any) -> Any:
    return A.astype(np.float64) if sparse.issparse(A) else np.asarray(A, np.float64)


def _squared_norms(A: Any) -> Vector:
    if sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    norms: Vector = np.einsum("ij,ij->i", A, A)
    return norms


def kernel_times(choice: KernelChoice, X: Any, beta: Vector) -> Vector:
    """Return K beta over all rows of X, block by block; zeros of beta cost nothing."""
    support = np.flatnonzero(beta)
    if choice.kernel == "linear":
        return np.asarray(X @ np.asarray(X[support].T @ beta[support])).ravel()
    if not sparse.issparse(X):  # distances do not change, their rounding does
        X = np.asarray(X, np.float64)
        X = X - X.mean(axis=0) if choice.kernel == "rbf" else X
    n = X.shape[0]
    block = max(1, BLOCK_ENTRIES // max(1, len(support)))
    values = np.zeros(n)
    for first in range(0, n, block):
        rows = slice(first, min(n, first + block))
        values[rows] = kernel_block(choice, X[rows], X[support]) @ beta[support]
    return values


def best_intercept(residual: Vector, y: Vector, costs: Vector) -> float:
    """Return a b that minimises sum_i costs_i max(0, 1 - y_i (f_i + b)).

    With ``residual = y - f`` the sum is piecewise linear and convex in b with a kink at
    each residual: going up, its slope starts at minus the sum of the positive class's
    costs and grows by costs_i at each kink.
    """
    order = np.argsort(residual, kind="stable")
    slope = np.cumsum(costs[order]) - costs[y > 0].sum()
    tiny = 1e-12 * costs.sum()
    left = residual[order[min(np.searchsorted(slope, -tiny), len(y) - 1)]]
    right = residual[order[min(np.searchsorted(slope, tiny, "right"), len(y) - 1)]]
    return float((left + right) / 2)


def feasible(beta: Vector, y: Vector, costs: Vector, intercept: bool) -> Vector:
    """Put the answer inside the box, and on the equality by scaling one class."""
    alpha = np.clip(beta * y, 0.0, costs)
    if intercept:
        positive, negative = alpha[y > 0].sum(), alpha[y < 0].sum()
        if positive > negative:
            alpha[y > 0] *= negative / positive
        elif negative > 0:
            alpha[y < 0] *= positive / negative
    inside: Vector = alpha * y
    return inside


def judge(
    choice: KernelChoice,
    X: Any,
    y: Vector,
    costs: Vector | float,
    beta: Vector,
    *,
    intercept: bool = True,
) -> Judgement:
    """Judge the dual answer ``beta``: objective, bound and gap in float64.

    Parameters
    ----------
    choice : KernelChoice
        The kernel with its parameters as numbers.
    X : dense array or CSR matrix of shape (n, d)
        The samples.
    y : array of shape (n,)
        Labels -1 and +1.
    costs : array of shape (n,) or float
        C times the sample's weight.
    beta : array of shape (n,)
        The signed dual answer, zero off the support vectors.
    intercept : bool
        Whether the problem has an intercept, and so the equality sum(beta) = 0.
    """
    y = np.asarray(y, np.float64)
    costs = np.broadcast_to(np.asarray(costs, np.float64), y.shape)
    inside = feasible(beta, y, costs, intercept)
    values = kernel_times(choice, X, inside)
    quadratic = float(inside @ values)
    b = best_intercept(y - values, y, costs) if intercept else 0.0
    hinge = np.maximum(0.0, 1.0 - y * (values + b))
    objective = 0.5 * quadratic + float(costs @ hinge)
    bound = float(y @ inside) - 0.5 * quadratic
    moved = float(np.abs(inside - beta).max(initial=0.0))
    return Judgement(objective, bound, objective - bound, moved)


def judge_pairs(
    judged: Callable[[Any, Vector, Vector], Judgement],
    X: Any,
    y: Vector,
    coefficients: Matrix,
) -> Judgement:
    """Judge a one-versus-one answer of several classes: sums over the pairs.

    ``judged`` is given the rows, the signs and the answer of a pair.
    """
    return summed(
        judged(X[rows], own, beta) for rows, own, beta in class_pairs(y, coefficients)
    )


def class_pairs(
    y: Vector, coefficients: Matrix
) -> Iterator[tuple[NDArray[np.intp], Vector, Vector]]:
    """Yield the rows, the signs and the answer of each pair of classes.

    ``coefficients`` are laid out as LIBSVM's: in the pair of classes i < j, those of
    class i stand in row j - 1 and those of class j in row i.
    """
    classes = np.unique(y)
    for i, first in enumerate(classes):
        for j in range(i + 1, len(classes)):
            rows = np.flatnonzero((y == first) | (y == classes[j]))
            own = np.where(y[rows] == first, 1.0, -1.0)
            beta = np.where(own > 0, coefficients[j - 1, rows], coefficients[i, rows])
            # some say +1 of the second class
            yield rows, own, -beta if beta @ own < 0 else beta


def summed(judged: Iterable[Judgement]) -> Judgement:
    """Return the sums over several problems, and the least feasible of them."""
    found = list(judged)
    return Judgement(
        sum(one.objective for one in found),
        sum(one.bound for one in found),
        sum(one.gap for one in found),
        max(one.infeasible for one in found),
    )


def judge_linear(
    X: Any, y: Vector, costs: Vector | float, weights: Vector, b: float = 0.0
) -> float:
    """Return the primal value of a linear model: 1/2 |w|^2 + sum costs_i hinge_i."""
    margin = 1.0 - y * (np.asarray(X @ weights).ravel() + b)
    costs = np.broadcast_to(np.asarray(costs, np.float64), y.shape)
    return 0.5 * float(weights @ weights) + float(costs @ np.maximum(0.0, margin))

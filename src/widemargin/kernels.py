"""Kernels as values: what is evaluated between two samples, and nothing else.

``semidefinite`` says whether the problem is convex: only then is the gap a proof, are
screening rules safe, and is there a path to follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

KernelFunction = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Linear:
    """k(x, z) = <x, z>."""

    semidefinite: ClassVar[bool] = True


@dataclass(frozen=True)
class Polynomial:
    """k(x, z) = (gamma <x, z> + coef0) ** degree, degree a non-negative integer."""

    degree: int
    gamma: float
    coef0: float

    @property
    def semidefinite(self) -> bool:
        """Whether all terms of the expanded power are, as in core/source.cpp."""
        return self.gamma >= 0.0 and self.coef0 >= 0.0


@dataclass(frozen=True)
class Gaussian:
    """k(x, z) = exp(-gamma ||x - z||^2)."""

    semidefinite: ClassVar[bool] = True
    gamma: float


@dataclass(frozen=True)
class Sigmoid:
    """k(x, z) = tanh(gamma <x, z> + coef0); in general not positive semidefinite."""

    semidefinite: ClassVar[bool] = False
    gamma: float
    coef0: float


@dataclass(frozen=True)
class Precomputed:
    """The samples *are* the kernel matrix: X[i, j] = k(x_i, x_j).

    Taken to be semidefinite: to check it would cost more than to solve the problem.
    """

    semidefinite: ClassVar[bool] = True


@dataclass(frozen=True)
class CallableKernel:
    """``function(A, B)`` returns the (len(A), len(B)) matrix of kernel values.

    Taken to be semidefinite, as a precomputed matrix is.
    """

    semidefinite: ClassVar[bool] = True
    function: KernelFunction


Kernel = Linear | Polynomial | Gaussian | Sigmoid | Precomputed | CallableKernel


def make_kernel(
    kernel: str | KernelFunction, *, gamma: float, degree: float, coef0: float
) -> Kernel:
    """Turn an estimator's parameters into a kernel value.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable
        Named as in scikit-learn.
    gamma, degree, coef0 : float
        Already numeric (``"scale"`` and ``"auto"`` are resolved by the estimator).
        As in LIBSVM, the degree is truncated to an integer.
    """
    if callable(kernel):
        return CallableKernel(kernel)
    makers: dict[str, Callable[[], Kernel]] = {
        "linear": Linear,
        "poly": lambda: Polynomial(int(degree), float(gamma), float(coef0)),
        "rbf": lambda: Gaussian(float(gamma)),
        "sigmoid": lambda: Sigmoid(float(gamma), float(coef0)),
        "precomputed": Precomputed,
    }
    if kernel not in makers:
        raise ValueError(
            f"kernel={kernel!r} is unknown; use one of {sorted(makers)} or a callable."
        )
    return makers[kernel]()


CONSTANT = 1e-12  # entries that differ by so little of themselves are all the same


def scale_gamma(X: Any, sample_weight: Any = None) -> float:
    """Return the ``gamma="scale"`` heuristic, 1 / (n_features * Var(X)).

    The variance is over all entries, each row counted with its weight, so that a
    row of weight 2 and the same row given twice lead to the same kernel.
    """
    n_rows, n_features = X.shape
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight)
    mass = float(weight.sum()) * n_features
    if hasattr(X, "tocsr"):
        sums, squares = np.empty(n_rows), np.empty(n_rows)
        for start in range(0, n_rows, 16384):  # bounded memory on big data
            part = slice(start, start + 16384)
            block = X[part]
            sums[part] = np.asarray(block.sum(axis=1), dtype=float).ravel()
            products = block.multiply(block).sum(axis=1)
            squares[part] = np.asarray(products, dtype=float).ravel()
        first = float(weight @ sums) / mass
        variance = float(weight @ squares) / mass - first * first
        rounding = CONSTANT * first * first  # of a difference of squares
    else:
        first = float(weight @ X.sum(axis=1, dtype=np.float64)) / mass
        variance = 0.0
        for start in range(0, n_rows, 16384):  # bounded memory on big data
            block = np.asarray(X[start : start + 16384], dtype=np.float64) - first
            deviations = np.einsum("ij,ij->i", block, block)
            variance += float(weight[start : start + 16384] @ deviations) / mass
        rounding = CONSTANT * CONSTANT * first * first
    constant = abs(variance) <= rounding < np.inf
    return gamma_of(0.0 if constant else variance, n_features)


def gamma_of(variance: float, n_features: int) -> float:
    """Return 1 / (n_features * variance), and 1 where nothing varies."""
    gamma = 1.0 / (n_features * variance) if variance != 0.0 else 1.0
    if not 0.0 < gamma < np.inf:
        raise ValueError(
            f'gamma="scale" is 1 / (n_features * Var(X)), but Var(X) is {variance:g}. '
            "Scale the features, as with StandardScaler, or give gamma as a number."
        )
    return gamma

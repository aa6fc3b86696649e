"""How far one record can move the trained weights: the constants of the proof.

The problem every mechanism of this folder starts from is

    F(w) = 1/2 ||w||^2 + sum_i C_i loss(y_i <w, x_i>),   0 <= C_i <= C,  ||x_i|| <= R

with a convex, 1-Lipschitz loss. F is 1-strongly convex, so its minimiser moves by at
most the length of the gradient that one record can add or take away (mathematics
1.5; Chaudhuri, Monteleoni and Sarwate, 2011). Nothing in this file looks at the data
except `clip_rows`, which makes ||x_i|| <= R true.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

ADJACENCIES = ("replace", "add-remove")
"""Neighbouring data sets: one record replaced by another, or one added or removed."""


def clip_rows(X: Any, radius: float) -> Any:
    """Scale every row longer than `radius` down to it; shorter rows are untouched.

    The result is float64 whatever the input: the bound must hold to the last bits, and
    float32 rounding would exceed it by 1e-7. How many rows were scaled is not reported.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
    radius : float
        The public bound R on the Euclidean length of a row.
    """
    X = X.astype(np.float64)
    if sparse.issparse(X):
        # The maximum first, so that squaring can neither overflow nor underflow.
        top = abs(X).max(axis=1).toarray().ravel()
        safe = np.where(top > 0, top, 1.0)
        scaled = sparse.csr_array(
            (X.data / np.repeat(safe, np.diff(X.indptr)), X.indices, X.indptr), X.shape
        )
        lengths = safe * np.sqrt(
            np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
        )
    else:
        top = np.abs(X).max(axis=1, initial=0.0)
        safe = np.where(top > 0, top, 1.0)
        lengths = safe * np.linalg.norm(X / safe[:, None], axis=1)
    # 1e-12 keeps the length of a scaled row below R after rounding.
    factors = np.where(
        lengths > radius, radius * (1 - 1e-12) / np.maximum(lengths, radius), 1.0
    )
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(factors) @ X)
    return X * factors[:, None]


def row_bound(clip_norm: float, constant: float) -> float:
    """Length bound of a clipped row to which the constant feature is appended."""
    return math.hypot(clip_norm, constant)


def weight_sensitivity(cost: float, radius: float, adjacency: str) -> float:
    """Largest Euclidean move of argmin F: 2CR (replace one) or CR (add or remove one).

    Holds for the plain hinge, no smoothness needed, and is attained.
    """
    if adjacency == "replace":
        return 2.0 * cost * radius
    if adjacency == "add-remove":
        return cost * radius
    raise ValueError(f"adjacency must be one of {ADJACENCIES}, got {adjacency!r}")


def inflated_sensitivity(sensitivity: float, gap: float) -> float:
    """Sensitivity of a minimiser known only to an objective gap: Delta + 2 sqrt(2 tau).

    A point within tau of the minimum lies within sqrt(2 tau) of the minimiser (strong
    convexity); both neighbours may be off by that much.
    """
    return sensitivity + 2.0 * math.sqrt(2.0 * gap)


def coordinate_sensitivity(sensitivity: float, dimension: int) -> float:
    """L1 sensitivity that an L2 sensitivity implies in `dimension` coordinates."""
    return math.sqrt(dimension) * sensitivity


def gradient_sensitivity(weight: float, radius: float, n_samples: int) -> float:
    """Sensitivity of the mean loss's gradient under replace-one: 2 weight R / n."""
    return 2.0 * weight * radius / n_samples

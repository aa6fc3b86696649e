"""A generic interior-point solver (Clarabel) on the dual as it stands, for n <= 60."""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Vector = NDArray[np.float64]


def solve_clarabel(
    K: NDArray[np.float64],
    linear: Vector,
    lower: Vector,
    upper: Vector,
    total: float | None,
) -> Vector:
    """Return the minimiser of 1/2 beta'K beta - linear'beta in the box, on the sum."""
    n = len(linear)
    eye = sparse.eye(n, format="csc")
    blocks, right, cones = [], [], []
    if total is not None:
        blocks.append(sparse.csc_matrix(np.ones((1, n))))
        right.append([total])
        cones.append(clarabel.ZeroConeT(1))
    blocks += [eye, -eye]
    right += [upper, -lower]
    cones.append(clarabel.NonnegativeConeT(2 * n))
    rows = sparse.vstack(blocks, format="csc")
    found = run_clarabel(K, linear, rows, np.concatenate(right), cones, tol=1e-11)
    return np.clip(np.asarray(found.x), lower, upper)


def run_clarabel(
    K: Vector, linear: Vector, rows: Any, right: Vector, cones: list[Any], tol: float
) -> Any:
    """Minimise 1/2 x'K x - linear'x where right - rows x lies in the cones."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    settings.max_iter = 500
    symmetric = sparse.triu(sparse.csc_matrix((K + K.T) / 2), format="csc")
    solver = clarabel.DefaultSolver(symmetric, -linear, rows, right, cones, settings)
    return solver.solve()

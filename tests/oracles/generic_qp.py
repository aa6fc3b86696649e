"""A generic interior-point solver (Clarabel) on the dual as it stands, for n <= 60."""

from __future__ import annotations

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
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.max_iter = 500
    solver = clarabel.DefaultSolver(
        sparse.triu(sparse.csc_matrix((K + K.T) / 2), format="csc"),
        -linear,
        sparse.vstack(blocks, format="csc"),
        np.concatenate(right),
        cones,
        settings,
    )
    return np.clip(np.asarray(solver.solve().x), lower, upper)

"""Symmetric systems, by the core's pivoted Cholesky factor and the threads of a fit.

Not by LAPACK, for the reasons of :mod:`widemargin.numerics.products`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin import _core

Vector = NDArray[np.float64]

INDEPENDENCE = 1e-11  # pivots below this share of the largest count as dependent


def is_definite(matrix: Vector) -> bool:
    """Whether a symmetric matrix is positive definite, to within rounding."""
    return _core.solve_definite(np.ascontiguousarray(matrix), np.zeros(len(matrix)), 1)


def solve_definite(matrix: Vector, right: Vector, threads: int = 1) -> Vector | None:
    """Solve a positive definite system; None where it is not.

    Only the lower triangle is read.
    """
    solution = right.copy()
    return solution if _core.solve_definite(matrix, solution, threads) else None


def newton_step(
    block: Vector,
    members: NDArray[np.intp],
    gradient: Vector,
    *,
    bordered: bool,
    groups: NDArray[np.int32] | None = None,
    threads: int = 1,
) -> Vector:
    """Return the step that makes all gradients equal, or zero without a border.

    ``block[members, members]`` is the matrix K of a convex quadratic, the step solves
    ``[0 1'; 1 K] [shift; step] = [0; -gradient]``, or ``K step = -gradient``. With
    ``groups``, 0 or 1 for each member, gradients become equal within each group, and
    the sum of each is kept. Members that depend on others, in feature space, are left
    where they are (mathematics 3.4).
    """
    if groups is None:
        groups = np.zeros(members.size if bordered else 0, dtype=np.int32)
    step = np.empty(members.size)
    _core.newton_step(
        block, members.astype(np.int32), gradient, groups, INDEPENDENCE, step, threads
    )
    return step

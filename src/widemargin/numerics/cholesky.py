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
    threads: int = 1,
) -> Vector:
    """Return the step that makes all gradients equal, or zero without a border.

    ``block[members, members]`` is the matrix K of a convex quadratic, the step solves
    ``[0 1'; 1 K] [shift; step] = [0; -gradient]``, or ``K step = -gradient``. Members
    that depend on others, in feature space, are left where they are (mathematics 3.4).
    """
    step = np.empty(members.size)
    _core.newton_step(
        block, members.astype(np.int32), gradient, bordered, INDEPENDENCE, step, threads
    )
    return step

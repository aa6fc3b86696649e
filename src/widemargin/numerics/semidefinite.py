"""By how much a matrix must be shifted to be proved positive semidefinite."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compensated import TINY, UNIT

Floats = NDArray[np.float64]

_ATTEMPTS = 40


def proven_shift(matrices: Floats) -> Floats:
    """Return for each matrix a t with ``matrix + t I`` proved semidefinite.

    If the Cholesky decomposition of B ends, the least eigenvalue of B is above
    ``-(d + 2) u trace(B)``, roughly (Rump 2006); features without variance and
    covariance are left to their zeros.
    """
    d = matrices.shape[1]
    trace = np.maximum(np.einsum("kii->k", matrices), 0.0)
    empty = np.asarray(~matrices.any(axis=2))
    shift = np.zeros(len(matrices))
    failed = np.arange(len(matrices))
    for attempt in range(_ATTEMPTS):
        margin = 2.0 * (d + 4.0) * UNIT * (trace[failed] + d * shift[failed]) + TINY
        ends = _decomposes(matrices[failed], shift[failed] - margin, empty[failed])
        failed, margin = failed[~ends], margin[~ends]
        if not len(failed):
            break
        if attempt == 0:
            least = np.linalg.eigvalsh(matrices[failed])[:, 0]
            shift[failed] = 2.0 * margin + np.maximum(-1.1 * least, 0.0)
        else:
            shift[failed] *= 4.0
    else:
        shift[failed] = np.inf
    return shift


def _decomposes(
    matrices: Floats, shift: Floats, empty: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return of which ``matrix + shift I`` the Cholesky decomposition ends.

    ``empty`` features have zeros only and are left out.
    """
    k, d = matrices.shape[:2]
    factor = np.zeros((k, d, d))
    ends = np.ones(k, dtype=bool)
    for j in range(d):
        column = matrices[:, j:, j] - np.einsum(
            "kil,kl->ki", factor[:, j:, :j], factor[:, j, :j]
        )
        pivot = np.where(empty[:, j], 1.0, column[:, 0] + shift)
        ends &= pivot > 0.0
        factor[:, j:, j] = column / np.sqrt(np.where(pivot > 0.0, pivot, 1.0))[:, None]
        factor[:, j, j] = np.sqrt(np.maximum(pivot, 0.0))
    return ends

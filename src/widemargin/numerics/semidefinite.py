"""By how much matrices must be shifted to be proved positive semidefinite.

Of a matrix B it is proved by its Cholesky decomposition (Rump 2006), and where that
fails, of ``B + shift diag(unit)^2``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .compensated import TINY, UNIT
from .row_blocks import blocks

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

_ATTEMPTS = 40
_ENTRIES = 1 << 17  # entries at a time: steps go over columns of many matrices


@dataclass(frozen=True)
class Shifts:
    """What makes matrices semidefinite: ``Sigma_k + shift_k diag(unit_k)^2``."""

    shift: Floats
    unit: Floats


def proven_shifts(matrices: Floats, chosen: Integers) -> Shifts | None:
    """Return the shifts that the chosen matrices need; None if none needs one."""
    k, d = len(chosen), matrices.shape[1]
    unit, shift = np.ones((k, d)), np.zeros(k)
    size = max(1, _ENTRIES // (d * d))
    for rows in blocks(k, size):
        part = matrices[chosen[rows]]
        diagonal = np.einsum("kii->ki", part)
        # powers of two scale without rounding, the features to variances of order one
        _, exponent = np.frexp(np.where(diagonal > 0.0, diagonal, 1.0))
        unit[rows] = np.ldexp(1.0, (exponent + 1) // 2)
        shift[rows] = _shift_needed(
            part / unit[rows][:, :, None] / unit[rows][:, None, :]
        )
    return Shifts(shift, unit) if shift.any() else None


def _shift_needed(matrices: Floats) -> Floats:
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
    """Return for which ``matrix + shift I`` the Cholesky decomposition exists.

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

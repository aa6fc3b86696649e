"""Standard deviations ``||L_k'p||`` and images ``Sigma_k p`` with proven error bounds.

A dual point needs directions ``v_k = L_k u_k`` with ``||u_k|| <= 1``, and rounding
leaves neither the range of ``L_k`` nor the ball alone. They are therefore given as
``v_k = Sigma_k p_k``: then ``u_k = L_k'p_k``, and a bound of its norm proves it
(mathematics 2.5). That asks for covariances that are semidefinite as they stand.
Variances and factors are; of a matrix it is proved by its Cholesky decomposition, and
where that fails, ``Sigma_k + shift_k diag(unit_k)^2`` is proved to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.compensated import TINY, UNIT, Enclosed, inner, plain_inner
from widemargin.numerics.row_blocks import blocks
from widemargin.numerics.semidefinite import proven_shift

from .covariance_tables import CovarianceTable, DiagonalTable, FactorTable, FullTable

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

Product = Callable[[Floats, Floats], Enclosed]

_FEW = 8  # covariances, as of classes: twice the precision costs nothing
_ENTRIES = 1 << 13  # of covariances, worked on at a time


@dataclass(frozen=True)
class Images:
    """``Sigma_k p_k`` with its error, and upper bounds of ``||L_k'p_k||``."""

    images: Enclosed
    norms: Floats


def enclosed_images(table: CovarianceTable, chosen: Integers, p: Floats) -> Images:
    """Return images and norms of the chosen entries; ``p`` is one row, or one each."""
    images = _IMAGES[type(table)]
    product = inner if len(chosen) <= _FEW else plain_inner
    value, error = np.empty((2, len(chosen), p.shape[-1]))
    norms = np.empty(len(chosen))
    _, entries = table.layout()
    size = max(1, _ENTRIES * len(table) // max(1, entries.size))
    for rows in blocks(len(chosen), size):
        own = p if p.ndim == 1 else p[rows]
        part = images(table.take(chosen[rows]), own, product)
        value[rows], error[rows] = part.images.value, part.images.error
        norms[rows] = part.norms
    return Images(Enclosed(value, error), norms)


def _of_matrices(table: FullTable, p: Floats, product: Product) -> Images:
    images = product(table.matrices, p[..., None, :])
    squared = product(images.value, p)
    wrong = squared.error + (images.error * np.abs(p)).sum(axis=-1) * 1.001
    return Images(images, _root_above(np.maximum(squared.value + wrong, 0.0)))


def _of_variances(table: DiagonalTable, p: Floats, _: Product) -> Images:
    value = table.variances * p
    error = UNIT * np.abs(value) + TINY
    squared = (table.variances * np.square(p)).sum(axis=-1)
    return Images(Enclosed(value, error), _root_above(squared, p.shape[-1]))


def _of_factors(table: FactorTable, p: Floats, product: Product) -> Images:
    inside = product(table.columns.transpose(0, 2, 1), p[..., None, :])
    images = product(table.columns, inside.value[:, None, :])
    carried = (np.abs(table.columns) @ inside.error[:, :, None])[:, :, 0]
    squared = np.square(inside.largest).sum(axis=-1)
    rank = table.columns.shape[2]
    return Images(
        Enclosed(images.value, (images.error + carried) * 1.001),
        _root_above(squared, rank),
    )


_IMAGES: dict[type, Any] = {
    FullTable: _of_matrices,
    DiagonalTable: _of_variances,
    FactorTable: _of_factors,
}


def _root_above(squared: Floats, terms: int = 1) -> Floats:
    """Return upper bounds of the roots of sums of so many non-negative terms."""
    return np.asarray(
        np.sqrt(squared * (1.0 + (terms + 8.0) * UNIT) + terms * TINY)
        * (1.0 + 4.0 * UNIT)
    )


@dataclass(frozen=True)
class Shifts:
    """What makes matrices semidefinite: ``Sigma_k + shift_k diag(unit_k)^2``."""

    shift: Floats
    unit: Floats


def proven_shifts(table: CovarianceTable, chosen: Integers) -> Shifts | None:
    """Return the shifts that are needed; None where all are semidefinite as given."""
    if not isinstance(table, FullTable):
        return None
    k, d = len(chosen), table.matrices.shape[1]
    unit, shift = np.ones((k, d)), np.zeros(k)
    size = max(1, 16 * _ENTRIES // (d * d))  # steps over columns: better many at once
    for rows in blocks(k, size):
        matrices = table.matrices[chosen[rows]]
        diagonal = np.einsum("kii->ki", matrices)
        # powers of two scale without rounding, the features to variances of order one
        _, exponent = np.frexp(np.where(diagonal > 0.0, diagonal, 1.0))
        unit[rows] = np.ldexp(1.0, (exponent + 1) // 2)
        scaled = matrices / unit[rows][:, :, None] / unit[rows][:, None, :]
        shift[rows] = proven_shift(scaled)
    return Shifts(shift, unit) if shift.any() else None

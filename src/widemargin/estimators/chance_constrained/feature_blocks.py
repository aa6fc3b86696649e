"""Blocks of samples lifted to their random Fourier features, for ``kernel="rbf"``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.row_blocks import blocks
from widemargin.uncertainty.covariance_tables import FullTable
from widemargin.uncertainty.covariances import Moments
from widemargin.uncertainty.gaussian_features import ROWS, feature_moments

from .block_sources import Block
from .first_pass import ProblemBuilder

Floats = NDArray[np.float64]


def check_memory(n: int, frequencies: Floats, memory_mb: float) -> None:
    """Refuse what would not fit: every row has a covariance of its own."""
    m = 2 * len(frequencies)
    needed = n * m * m * 8 / 2**20
    if needed > memory_mb:
        raise ValueError(
            f"kernel='rbf' holds a {m} x {m} covariance for each of the {n} rows, "
            f"{needed:.0f} MB, and memory_mb is {memory_mb:g}: lower n_components, "
            "raise memory_mb, or give the rows in parts to fit_blocks "
            "(solver='ssgd')."
        )


def lifted(block: Block, frequencies: Floats, builder: ProblemBuilder) -> Block:
    """Return means and covariances of the features; rows without weight too.

    The covariances are given as factors: rounding would hide that matrices of low rank
    are semidefinite, and with it a good part of the certificate. Columns that are zero
    in all of them are left out.
    """
    n = block.X.shape[0]
    means = np.empty((n, 2 * len(frequencies)))
    uncertainty, factors = builder.uncertainty(block), []
    for rows in blocks(n, ROWS):
        means[rows], covariances = feature_moments(
            block.X[rows], frequencies, uncertainty.take(rows)
        )
        part = FullTable(covariances).factors(np.arange(len(covariances)))
        factors.append(part[:, :, np.any(part, axis=(0, 1))])
    rank = max(1, *(part.shape[2] for part in factors))
    padded = [np.pad(f, ((0, 0), (0, 0), (0, rank - f.shape[2]))) for f in factors]
    joined = np.concatenate(padded)
    return block._replace(X=means, covariance=None, covariance_factor=joined)


def scale_gamma(moments: Moments, scale: Floats) -> float:
    """Return ``1 / (d var)``, var the variance of all entries of ``X / scale``.

    Weights count repetitions, as everywhere.
    """
    own = np.diag(moments.scatter) / moments.mass / np.square(scale)
    variance = own.mean() + np.var(moments.mean / scale)
    return float(1.0 / (len(scale) * variance)) if variance > 0.0 else 1.0

"""Blocks of samples lifted to their random Fourier features, for ``kernel="rbf"``."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.row_blocks import blocks
from widemargin.uncertainty.covariance_tables import FullTable
from widemargin.uncertainty.gaussian_features import (
    NOT_NORMAL,
    ROWS,
    drawn_frequencies,
    feature_moments,
)
from widemargin.uncertainty.risk_bounds import GAUSSIAN

from .block_sources import Block, Source
from .first_pass import ProblemBuilder, Settings

Floats = NDArray[np.float64]


def frequencies(
    builder: ProblemBuilder, settings: Settings, rng: np.random.Generator
) -> Floats:
    """Draw the frequencies; "scale" is ``1 / (d var)`` of all entries of scaled X."""
    if settings.bound == GAUSSIAN:
        raise ValueError(NOT_NORMAL)
    scale, moments, gamma = builder.scaling.scale, builder.moments, settings.gamma
    if isinstance(gamma, str):
        assert moments is not None
        own = np.diag(moments.scatter) / moments.mass / np.square(scale)
        variance = own.mean() + np.var(moments.mean / scale)
        gamma = 1.0 / (len(scale) * variance) if variance > 0.0 else 1.0
    return drawn_frequencies(float(gamma), scale, settings.n_components, rng)


def features(
    source: Source[Block], W: Floats, builder: ProblemBuilder, memory_mb: float
) -> Source[Block]:
    """Return the blocks of features; refuse those in memory that would not fit."""
    m = 2 * len(W)
    for n in source.map(lambda block: block.X.shape[0]) if source.resident else ():
        needed = n * m * m * 8 / 2**20
        if needed > memory_mb:
            raise ValueError(
                f"kernel='rbf' holds a {m} x {m} covariance for each of the {n} rows, "
                f"{needed:.0f} MB, and memory_mb is {memory_mb:g}: lower n_components, "
                "raise memory_mb, or give the rows in parts to fit_blocks "
                "(solver='ssgd')."
            )
    return source.prepared(partial(_lifted, frequencies=W, builder=builder))


def _lifted(block: Block, frequencies: Floats, builder: ProblemBuilder) -> Block:
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

"""Blocks of samples lifted to their random Fourier features, for ``kernel="rbf"``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.row_blocks import blocks, dense_rows
from widemargin.uncertainty.covariance_tables import FullTable
from widemargin.uncertainty.gaussian_features import ROWS, feature_moments

from .block_sources import Block, Source
from .first_pass import ProblemBuilder

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FeatureMap:
    """Makes of a block of samples one of their features, covariances included."""

    frequencies: Floats
    builder: ProblemBuilder  # which knows the covariance of each class

    def check_memory(self, n: int, memory_mb: float) -> None:
        """Refuse what would not fit: every row has a covariance of its own."""
        m = 2 * len(self.frequencies)
        needed = n * m * m * 8 / 2**20
        if needed > memory_mb:
            raise ValueError(
                f"kernel='rbf' holds a {m} x {m} covariance for each of the {n} rows, "
                f"{needed:.0f} MB, and memory_mb is {memory_mb:g}: lower n_components, "
                "raise memory_mb, or give the rows in parts to fit_blocks "
                "(solver='ssgd')."
            )

    def lifted(self, block: Block) -> Block:
        """Return means and covariances of the features; rows without weight too.

        The covariances are given as factors: rounding would hide that matrices of low
        rank are semidefinite, and with it a good part of the certificate.
        """
        n = block.X.shape[0]
        means = np.empty((n, 2 * len(self.frequencies)))
        uncertainty = self.builder.uncertainty(block)
        factors = []
        for rows in blocks(n, ROWS):
            means[rows], covariances = feature_moments(
                block.X[rows], self.frequencies, uncertainty.take(rows)
            )
            factors.append(_trimmed_factors(covariances))
        return replace(
            block, X=means, covariance=None, covariance_factor=_padded(factors)
        )


def _trimmed_factors(covariances: Floats) -> Floats:
    """Return factors of some matrices without the columns that are zero in all."""
    factors = FullTable(covariances).factors(np.arange(len(covariances)))
    used = np.any(factors, axis=(0, 1))
    return factors[:, :, used]


def _padded(factors: list[Floats]) -> Floats:
    """Return all factors in one array, those of lower rank with columns of zeros."""
    rank = max(1, *(part.shape[2] for part in factors))
    return np.concatenate(
        [np.pad(f, ((0, 0), (0, 0), (0, rank - f.shape[2]))) for f in factors]
    )


def scale_gamma(source: Source[Block], scale: Floats) -> float:
    """Return ``1 / (d var)``, var the variance of all entries of ``X / scale``.

    Weights count repetitions, as everywhere.
    """

    def sums(block: Block) -> Floats:
        counts, total = block.weights, np.zeros(3)
        for rows in blocks(block.X.shape[0]):
            values = dense_rows(block.X, rows) / scale
            sizes = np.full(len(values), len(scale))
            powers = sizes, values.sum(axis=1), np.square(values).sum(axis=1)
            total += [(counts[rows] * power).sum() for power in powers]
        return total

    size, total, squared = reduce(np.add, source.map(sums))
    variance = squared / size - (total / size) ** 2
    return float(1.0 / (len(scale) * variance)) if variance > 0.0 else 1.0

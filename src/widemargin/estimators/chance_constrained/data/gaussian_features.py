"""Random Fourier features of normal samples: their mean and covariance, exactly.

The features of a point are ``z(x) = [cos(W x), sin(W x)] / sqrt(D)``, the D rows of W
drawn from N(0, 2 gamma I): inner products approximate ``exp(-gamma ||x - x'||^2)``
(Rahimi and Recht, 2007). For x ~ N(m, S), with a = W m and Q = W S W',

    E cos(a_i) -> cos(a_i) exp(-Q_ii / 2),   and the same for sin,
    Cov z = (1/D) ([c; s] A [c; s]' + [-s; c] B [-s; c]'),    c, s = diag(cos a, sin a),
    A = exp(-h) (cosh Q - 1),  B = exp(-h) sinh Q,  h_ij = (Q_ii + Q_jj) / 2,

entry by entry (mathematics 2.6). A linear model of these features is then a
chance-constrained problem like any other, and Cantelli's bound holds for it; for normal
samples only, since other distributions with the same m and S have other features.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.products import products
from widemargin.numerics.row_blocks import blocks, dense_rows

from .block_sources import Block, Source
from .covariance_tables import CovarianceTable, FullTable, Uncertainty
from .first_pass import ProblemBuilder

Floats = NDArray[np.float64]

NOT_NORMAL = (
    "bound='gaussian' with kernel='rbf': the features of a normal sample are not "
    "normal, so only bound='moments' is proved for them."
)
_ROWS = 256  # whose feature covariances are held at a time


def drawn_frequencies(
    gamma: float, scale: Floats, count: int, rng: np.random.Generator
) -> Floats:
    """Return the frequencies W, shape (count, d), for features in units of ``scale``.

    Their kernel is ``exp(-gamma ||(x - x') / scale||^2)``: the scaling of the samples
    and of their covariances is in W.
    """
    standard = rng.standard_normal((count, len(scale)))
    return np.asarray(np.sqrt(2.0 * gamma) * standard / scale)


def fourier_features(X: Any, frequencies: Floats) -> Floats:
    """Return the features of points, shape (n, 2 D)."""
    angles = np.asarray(products(X, frequencies), dtype=np.float64)
    features = np.hstack([np.cos(angles), np.sin(angles)])
    return np.asarray(features / np.sqrt(len(frequencies)))


def feature_moments(
    X: Any, frequencies: Floats, uncertainty: Uncertainty
) -> tuple[Floats, Floats]:
    """Return mean and covariance of the features of x_i ~ N(X_i, S_i).

    Shapes are (n, 2 D) and (n, 2 D, 2 D).
    """
    points, D = fourier_features(X, frequencies), len(frequencies)
    forms = _quadratic_forms(uncertainty.table, frequencies)
    if uncertainty.groups is not None:
        forms = forms[uncertainty.groups]
    diagonal = np.einsum("kii->ki", forms)
    half = 0.5 * (diagonal[:, :, None] + diagonal[:, None, :])
    # |Q| <= h, so that no exponential overflows; no difference of near numbers
    size, decay = np.abs(forms), np.exp(np.minimum(np.abs(forms) - half, 0.0))
    even = 0.5 * decay * np.square(np.expm1(-size))
    odd = np.copysign(0.5 * decay * -np.expm1(-2.0 * size), forms)
    cosine, sine = points[:, :D], points[:, D:]
    across = np.hstack([-sine, cosine])
    covariances = np.tile(even, (1, 2, 2)) * points[:, :, None] * points[:, None, :]
    covariances += np.tile(odd, (1, 2, 2)) * across[:, :, None] * across[:, None, :]
    return points * np.tile(np.exp(-0.5 * diagonal), (1, 2)), covariances


def _quadratic_forms(table: CovarianceTable, frequencies: Floats) -> Floats:
    """Return ``W S_k W'``, shape (k, D, D), symmetric to the last digit."""
    images = np.stack([table.images(frequency) for frequency in frequencies], axis=1)
    D, d = frequencies.shape
    forms = products(images.reshape(-1, d), frequencies).reshape(-1, D, D)
    return np.asarray(0.5 * (forms + forms.transpose(0, 2, 1)))


def feature_spreads(
    X: Any, frequencies: Floats, uncertainty: Uncertainty, w: Floats
) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of ``w'z(x_i)``, a block of rows at a time."""
    means, spreads = np.empty(X.shape[0]), np.empty(X.shape[0])
    for rows in blocks(X.shape[0], _ROWS):
        own = uncertainty.take(rows)
        features, covariances = feature_moments(X[rows], frequencies, own)
        means[rows] = (features * w).sum(axis=1)
        spreads[rows] = Uncertainty(FullTable(covariances)).spread(w)
    return means, spreads


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
        for rows in blocks(n, _ROWS):
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

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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.products import products
from widemargin.numerics.row_blocks import blocks

from .covariance_tables import CovarianceTable, FullTable, Uncertainty

Floats = NDArray[np.float64]

NOT_NORMAL = (
    "bound='gaussian' with kernel='rbf': the features of a normal sample are not "
    "normal, so only bound='moments' is proved for them."
)
ROWS = 256  # rows whose feature covariances are held at a time


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
    for rows in blocks(X.shape[0], ROWS):
        own = uncertainty.take(rows)
        features, covariances = feature_moments(X[rows], frequencies, own)
        means[rows] = (features * w).sum(axis=1)
        spreads[rows] = Uncertainty(FullTable(covariances)).spread(w)
    return means, spreads

"""From the covariances that a user describes to an :class:`Uncertainty`.

One covariance for each class (estimated, or given), or one for each sample (variances,
matrices or factors). Everything is checked here: symmetry, definiteness, shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.numerics.products import squares
from widemargin.numerics.row_blocks import blocks, dense_rows, transpose_times
from widemargin.numerics.semidefinite import proven_shifts

from .covariance_tables import (
    DiagonalTable,
    FactorTable,
    FullTable,
    Uncertainty,
)

Floats = NDArray[np.float64]

CLASS = "class"
_TOLERANCE = 1e-8  # relative: asymmetry and negative eigenvalues taken as rounding


@dataclass(frozen=True)
class Moments:
    """Rows, their weight, mean and scatter; those of parts can be merged."""

    rows: int
    mass: float
    mean: Floats
    scatter: Floats

    def merged(self, other: Moments) -> Moments:
        """Return the moments of both parts together (Chan, Golub and LeVeque)."""
        mass = self.mass + other.mass
        shift = other.mean - self.mean
        scatter = self.scatter + other.scatter
        scatter += np.outer(shift, shift) * (self.mass * other.mass / mass)
        mean = self.mean + shift * (other.mass / mass)
        return Moments(self.rows + other.rows, mass, mean, scatter)


def moments_of(X: Any, weights: Floats) -> Moments:
    """Return the moments of the rows, each counted ``weights`` times, all positive."""
    mass = float(weights.sum())
    mean = transpose_times(X, weights) / mass
    if sparse.issparse(X):
        product = X.T @ sparse.diags_array(weights) @ X
        scatter = product.toarray() - mass * np.outer(mean, mean)
        scatter = np.asarray(scatter, dtype=np.float64)
        rounding = np.sqrt(np.finfo(np.float64).eps) * np.abs(mean)  # it cancelled
    else:
        scatter = np.zeros((X.shape[1], X.shape[1]))
        for rows in blocks(X.shape[0]):
            centred = dense_rows(X, rows) - mean
            scatter += squares(centred * np.sqrt(weights[rows, None]))
        rounding = np.finfo(X.dtype).eps * np.abs(mean)
    constant = np.diag(scatter) <= mass * np.square(8.0 * rounding)
    scatter[constant, :] = scatter[:, constant] = 0.0  # constant but for rounding
    return Moments(X.shape[0], mass, mean, scatter)


def class_matrices(
    moments: list[Moments], scale: float, classes: NDArray[Any]
) -> FullTable | None:
    """Return ``scale`` times the sample covariance of each class, with ddof 1.

    Weights count repetitions, so a class of total weight at most one has no sample
    covariance unless it has no scatter at all (one sample: zero). None if rounding
    leaves open whether all matrices are semidefinite.
    """
    matrices = [
        part.scatter * _unit(part.scatter, part.mass, scale, label)
        for part, label in zip(moments, classes, strict=True)
    ]
    table = FullTable(np.stack(matrices))
    proved = proven_shifts(table.entries, np.arange(len(table))) is None
    return table if proved else None


def _unit(scatter: Floats, mass: float, scale: float, label: Any) -> float:
    """Return the factor from a class's scatter to its scaled sample covariance."""
    if not scatter.any():
        return 1.0
    if mass <= 1.0:
        raise ValueError(
            f"covariance='class' reads sample_weight as numbers of repetitions, but "
            f"class {label} has a total weight of {mass:g}, too little for a "
            "sample covariance. Rescale the weights or give the covariance matrices."
        )
    return scale / (mass - 1.0)


def centred_rows(
    X: Any, rows: NDArray[np.intp], weights: Floats, mean: Floats
) -> Floats:
    """Return a matrix A of at most d rows with ``A'A`` the scatter of some samples.

    These are the centred samples, or the triangle of their QR decomposition where
    there are more than features.
    """
    rounding = 8.0 * np.finfo(X.dtype).eps * np.abs(mean)
    factor = np.zeros((0, X.shape[1]))
    for part in blocks(len(rows)):
        centred = dense_rows(X, rows[part]) - mean
        centred[np.abs(centred) <= rounding] = 0.0
        centred *= np.sqrt(weights[part])[:, None]
        factor = stacked_rows(factor, centred)
    return factor


def stacked_rows(first: Floats, second: Floats) -> Floats:
    """Return at most d rows with the scatter of both parts."""
    factor = np.vstack([first, second])
    if len(factor) > factor.shape[1]:
        factor = np.asarray(np.linalg.qr(factor, mode="r"))
    return factor


def class_factors(
    centred: list[Floats], moments: list[Moments], scale: float, classes: NDArray[Any]
) -> FactorTable:
    """Return ``scale`` times the sample covariance of each class as ``L L'``."""
    factors = [
        rows.T * np.sqrt(_unit(rows, part.mass, scale, label))
        for rows, part, label in zip(centred, moments, classes, strict=True)
    ]
    rank = max(factor.shape[1] for factor in factors)
    padded = [np.pad(f, ((0, 0), (0, rank - f.shape[1]))) for f in factors]
    return FactorTable(np.stack(padded))


def given_covariances(
    covariance: Any, classes: NDArray[Any], n_features: int
) -> FullTable:
    """Return one matrix for every class from one matrix or a dict of them."""
    if isinstance(covariance, Mapping):
        missing = [label for label in classes.tolist() if label not in covariance]
        if missing:
            raise ValueError(
                f"covariance has no matrix for the classes {missing}: give one for "
                "each label in y."
            )
        chosen = [(covariance[k], f"covariance[{k!r}]") for k in classes.tolist()]
    else:
        chosen = [(covariance, "covariance")] * len(classes)
    shape = (n_features, n_features)
    matrices = []
    for matrix, name in chosen:
        array = np.asarray(matrix, dtype=np.float64)
        if array.shape != shape:
            raise ValueError(
                f"{name} has shape {array.shape}, expected {shape}: one matrix over "
                "the features. Covariances of single samples go to fit."
            )
        matrices.append(_checked_matrices(array[None], lambda _, name=name: name)[0])
    return FullTable(np.stack(matrices))


def sample_covariances(
    covariance: Any, factor: Any, n_samples: int, n_features: int, first: int = 0
) -> Uncertainty:
    """Return the uncertainty of samples that each have their own covariance.

    ``first`` is the number of the first of them, for messages that name one.
    """
    if covariance is not None and factor is not None:
        raise ValueError(
            "covariance and covariance_factor were both given: they describe the same "
            "thing, so give one of them."
        )
    if factor is not None:
        return Uncertainty(FactorTable(_factors(factor, n_samples, n_features, first)))
    array = np.asarray(covariance, dtype=np.float64)
    if array.shape == (n_samples, n_features):
        _check_finite(array, "covariance", first)
        if np.any(array < 0.0):
            sample = int(np.argmin(array.min(axis=1)))
            raise ValueError(
                f"covariance of sample {first + sample} has a negative variance "
                f"({array[sample].min():g}): variances must be non-negative."
            )
        return Uncertainty(DiagonalTable(array))
    if array.shape == (n_samples, n_features, n_features):
        matrices = _checked_matrices(
            array, lambda i: f"covariance of sample {first + i}", first
        )
        return Uncertainty(FullTable(matrices))
    raise ValueError(
        f"covariance has shape {array.shape}, expected ({n_samples}, {n_features}) for "
        f"variances or ({n_samples}, {n_features}, {n_features}) for matrices, one for "
        "each row of X."
    )


def _factors(factor: Any, n_samples: int, n_features: int, first: int) -> Floats:
    array = np.asarray(factor, dtype=np.float64)
    if array.ndim != 3 or array.shape[:2] != (n_samples, n_features):
        raise ValueError(
            f"covariance_factor has shape {array.shape}, expected ({n_samples}, "
            f"{n_features}, r): a (d, r) factor L of L L' for each row of X."
        )
    _check_finite(array, "covariance_factor", first)
    return array


def _check_finite(array: Floats, name: str, first: int = 0) -> None:
    for rows in blocks(len(array)):
        finite = np.isfinite(array[rows]).reshape(len(array[rows]), -1).all(axis=1)
        if not finite.all():
            entry = first + rows.start + int(np.argmin(finite))
            raise ValueError(
                f"{name} contains NaN or infinity, first in entry {entry}: "
                "uncertainties must be finite."
            )


def _checked_matrices(matrices: Floats, name: Any, first: int = 0) -> Floats:
    """Return them symmetric; raise if one is not a covariance matrix, with the reason.

    They are copied only if one of them is not symmetric to the last digit.
    """
    label = name(0) if len(matrices) == 1 else "covariance"
    _check_finite(matrices, label, first)
    symmetric = True
    for rows in blocks(len(matrices), 1024):
        part = matrices[rows]
        size = np.abs(part).max(axis=(1, 2), initial=0.0)
        asymmetry = np.abs(part - part.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0)
        if np.any(asymmetry > _TOLERANCE * size):
            worst = int(np.argmax(asymmetry - _TOLERANCE * size))
            raise ValueError(
                f"{name(rows.start + worst)} is not symmetric: entries differ from "
                f"their mirror image by up to {asymmetry[worst]:g}."
            )
        symmetric &= not asymmetry.any()
        smallest = np.linalg.eigvalsh(part)[:, 0]
        if np.any(smallest < -_TOLERANCE * size):
            worst = int(np.argmin(smallest + _TOLERANCE * size))
            raise ValueError(
                f"{name(rows.start + worst)} is not positive semidefinite: its "
                f"smallest eigenvalue is {smallest[worst]:g}."
            )
    if symmetric:
        return matrices
    copies = np.empty_like(matrices)
    for rows in blocks(len(matrices), 1024):
        part = matrices[rows]
        copies[rows] = 0.5 * (part + part.transpose(0, 2, 1))
    return copies

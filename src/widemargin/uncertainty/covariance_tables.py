"""Moment models: what is known of each sample besides its mean.

A sample is a distribution with mean ``mu_i`` and covariance ``Sigma_i``. Everything
the solvers need of the covariances is linear in ``w``: the images ``Sigma_k w`` of the
``k`` distinct covariances. Three tables hold them (full matrices, variances, low-rank
factors); an :class:`Uncertainty` has the entry of the table for each sample, so one
covariance per class (two entries) and one per sample (n entries) are the same code.

A dual point needs directions ``v_k = L_k u_k`` with ``||u_k|| <= 1``, and rounding
leaves neither the range of ``L_k`` nor the ball alone. They are therefore given as
``v_k = Sigma_k p_k``: then ``u_k = L_k'p_k``, and a bound of its norm proves it
(mathematics 2.5): images and spreads also come with error bounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.compensated import TINY, UNIT, Enclosed, inner, plain_inner
from widemargin.numerics.products import times, transposed_times
from widemargin.numerics.row_blocks import blocks
from widemargin.runtime.lazy import lazy_property

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Product = Callable[[Floats, Floats], Enclosed]

_FEW = 8  # covariances, as for classes: work on all of them is negligible
_ENTRIES = 1 << 13  # entries of covariances processed at a time with error bounds


@dataclass(frozen=True)
class Images:
    """``Sigma_k p_k`` with its error, and upper bounds of ``||L_k'p_k||``."""

    images: Enclosed
    norms: Floats


def weighted_blocks(weights: Floats, size: int = 1024) -> Iterator[Integers | slice]:
    """Return the entries with weight in blocks: what is copied of a table stays small.

    Blocks in which all have weight are slices, and nothing of them is copied.
    """
    for start in range(0, len(weights), size):
        rows = slice(start, min(start + size, len(weights)))
        used = np.flatnonzero(weights[rows])
        if len(used) == rows.stop - start:
            yield rows
        elif len(used):
            yield start + used


@dataclass(frozen=True)
class CovarianceTable(ABC):
    """What a solver may ask of the ``k`` distinct covariances.

    ``entries`` is the array that describes them, ``letter`` the name by which compiled
    code knows what kind of array that is.
    """

    entries: Floats
    letter: ClassVar[str]

    def __len__(self) -> int:
        """Return the number of distinct covariances."""
        return len(self.entries)

    def take(self, indices: Integers | slice) -> Self:
        """Return the table of the chosen entries."""
        return replace(self, entries=self.entries[indices])

    @abstractmethod
    def images(self, direction: Floats) -> Floats:
        """Return ``Sigma_k direction``, shape (k, d)."""

    def spread(self, direction: Floats) -> Floats:
        """Return ``||L_k' w||``, the standard deviation of ``w'x``, per entry."""
        squared = times(self.images(direction), direction)
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))

    @abstractmethod
    def weighted_sum(self, weights: Floats) -> Floats:
        """Return ``sum_k weights_k Sigma_k``, shape (d, d)."""

    @abstractmethod
    def rescaled(self, scale: Floats) -> Self:
        """Return the covariances of ``x / scale``."""

    @abstractmethod
    def factors(self, indices: Integers) -> Floats:
        """Return factors of the chosen entries, shape (k, d, r), zeros filled in."""

    @abstractmethod
    def dense(self) -> Floats:
        """Return all covariances as matrices, shape (k, d, d)."""

    @abstractmethod
    def enclosed(self, p: Floats, product: Product) -> Images:
        """Return ``Sigma_k p`` and ``||L_k'p||`` with error bounds."""


@dataclass(frozen=True)
class FullTable(CovarianceTable):
    """Covariance matrices, shape (k, d, d)."""

    letter: ClassVar[str] = "f"

    def images(self, direction: Floats) -> Floats:
        """Return ``Sigma_k direction``."""
        k, d, _ = self.entries.shape
        rows = self.entries.reshape(k * d, d)
        return times(rows, direction).reshape(k, d)

    def weighted_sum(self, weights: Floats) -> Floats:
        """Return ``sum_k weights_k Sigma_k``."""
        flat = self.entries.reshape(len(self), -1)
        if len(self) <= _FEW:
            total = transposed_times(flat, weights)
        else:
            total = np.zeros(flat.shape[1])
            for rows in weighted_blocks(weights):
                total += transposed_times(flat[rows], weights[rows])
        return total.reshape(self.entries.shape[1:])

    def rescaled(self, scale: Floats) -> Self:
        """Return the covariances of ``x / scale``."""
        return replace(self, entries=self.entries / np.outer(scale, scale))

    def factors(self, indices: Integers) -> Floats:
        """Return the eigenvectors times their deviations, null ones as zeros."""
        values, vectors = np.linalg.eigh(self.entries[indices])
        kept = values > 1e-14 * np.maximum(values[:, -1:], 0.0)
        deviations = np.sqrt(np.where(kept, values, 0.0))
        return np.asarray(vectors * deviations[:, None, :])

    def dense(self) -> Floats:
        """Return all covariances as matrices."""
        return np.asarray(self.entries)

    def enclosed(self, p: Floats, product: Product) -> Images:
        """Return ``Sigma_k p`` and ``||L_k'p||`` with error bounds."""
        images = product(self.entries, p[..., None, :])
        squared = product(images.value, p)
        wrong = squared.error + (images.error * np.abs(p)).sum(axis=-1) * 1.001
        return Images(images, _root_above(np.maximum(squared.value + wrong, 0.0)))


@dataclass(frozen=True)
class DiagonalTable(CovarianceTable):
    """Variances of independent features, shape (k, d)."""

    letter: ClassVar[str] = "d"

    def images(self, direction: Floats) -> Floats:
        """Return ``Sigma_k direction``."""
        return np.asarray(self.entries * direction)

    def weighted_sum(self, weights: Floats) -> Floats:
        """Return ``sum_k weights_k Sigma_k``."""
        return np.diag(transposed_times(self.entries, weights))

    def rescaled(self, scale: Floats) -> Self:
        """Return the covariances of ``x / scale``."""
        return replace(self, entries=self.entries / np.square(scale))

    def factors(self, indices: Integers) -> Floats:
        """Return the standard deviations as diagonal matrices."""
        deviations = np.sqrt(self.entries[indices])
        return np.asarray(deviations[:, :, None] * np.eye(deviations.shape[1]))

    def dense(self) -> Floats:
        """Return all covariances as matrices."""
        return np.asarray(self.entries[:, :, None] * np.eye(self.entries.shape[1]))

    def enclosed(self, p: Floats, product: Product) -> Images:
        """Return ``Sigma_k p`` and ``||L_k'p||`` with error bounds."""
        value = self.entries * p
        error = UNIT * np.abs(value) + TINY
        squared = (self.entries * np.square(p)).sum(axis=-1)
        return Images(Enclosed(value, error), _root_above(squared, p.shape[-1]))


@dataclass(frozen=True)
class FactorTable(CovarianceTable):
    """Factors ``L_k`` of ``Sigma_k = L_k L_k'``, shape (k, d, r)."""

    letter: ClassVar[str] = "l"

    def images(self, direction: Floats) -> Floats:
        """Return ``Sigma_k direction`` in O(d r) each."""
        inner = direction @ self.entries
        return np.asarray(np.matmul(self.entries, inner[:, :, None])[:, :, 0])

    @lazy_property
    def _squared(self) -> FullTable | None:
        """All ``L_k L_k'``, if few and at most twice as large as the factors.

        They serve as curvature only: rounding hides that they are singular.
        """
        k, d, r = self.entries.shape
        if 2 * r < d or k > _FEW:
            return None
        return FullTable(np.stack([factor @ factor.T for factor in self.entries]))

    def weighted_sum(self, weights: Floats) -> Floats:
        """Return ``sum_k weights_k Sigma_k``."""
        if self._squared is not None:
            return self._squared.weighted_sum(weights)
        total = np.zeros((self.entries.shape[1],) * 2)
        for rows in weighted_blocks(weights):
            scaled = self.entries[rows] * np.sqrt(weights[rows])[:, None, None]
            flat = np.moveaxis(scaled, 0, 1).reshape(len(total), -1)
            total += flat @ flat.T
        return total

    def rescaled(self, scale: Floats) -> Self:
        """Return the covariances of ``x / scale``."""
        return replace(self, entries=self.entries / scale[:, None])

    def factors(self, indices: Integers) -> Floats:
        """Return the factors as they are."""
        return np.asarray(self.entries[indices])

    def dense(self) -> Floats:
        """Return all covariances as matrices."""
        return np.asarray(self.entries @ self.entries.transpose(0, 2, 1))

    def enclosed(self, p: Floats, product: Product) -> Images:
        """Return ``Sigma_k p`` and ``||L_k'p||`` with error bounds."""
        inside = product(self.entries.transpose(0, 2, 1), p[..., None, :])
        images = product(self.entries, inside.value[:, None, :])
        carried = (np.abs(self.entries) @ inside.error[:, :, None])[:, :, 0]
        squared = np.square(inside.largest).sum(axis=-1)
        return Images(
            Enclosed(images.value, (images.error + carried) * 1.001),
            _root_above(squared, self.entries.shape[2]),
        )


def _root_above(squared: Floats, terms: int = 1) -> Floats:
    """Return upper bounds of the roots of sums of `terms` non-negative terms."""
    return np.asarray(
        np.sqrt(squared * (1.0 + (terms + 8.0) * UNIT) + terms * TINY)
        * (1.0 + 4.0 * UNIT)
    )


def enclosed_images(table: CovarianceTable, chosen: Integers, p: Floats) -> Images:
    """Return images and norms of the chosen entries; ``p`` is one row, or one each."""
    product = inner if len(chosen) <= _FEW else plain_inner
    value, error = np.empty((2, len(chosen), p.shape[-1]))
    norms = np.empty(len(chosen))
    size = max(1, _ENTRIES * len(table) // max(1, table.entries.size))
    for rows in blocks(len(chosen), size):
        own = p if p.ndim == 1 else p[rows]
        part = table.take(chosen[rows]).enclosed(own, product)
        value[rows], error[rows] = part.images.value, part.images.error
        norms[rows] = part.norms
    return Images(Enclosed(value, error), norms)


@dataclass(frozen=True)
class Uncertainty:
    """The covariance of every sample: a table and the entry each sample has.

    Parameters
    ----------
    table : CovarianceTable
        The distinct covariances.
    groups : ndarray of shape (n,) or None
        Entry of each sample; None when sample i has entry i.
    """

    table: CovarianceTable
    groups: Integers | None = None

    def entries(self, rows: Integers) -> Integers:
        """Return the entry of the table of each of some samples."""
        return rows if self.groups is None else self.groups[rows]

    def expand(self, values: Floats) -> Floats:
        """Give every sample the value of its covariance."""
        return values if self.groups is None else values[self.groups]

    def collect(self, values: Floats) -> Floats:
        """Add up the samples' values covariance by covariance."""
        if self.groups is None:
            return values
        sums = np.bincount(self.groups, values, minlength=len(self.table))
        return np.asarray(sums, dtype=np.float64)

    def spread(self, direction: Floats) -> Floats:
        """Return ``||L_i' w||``, the standard deviation of ``w'x_i``, per sample."""
        return self.expand(self.table.spread(direction))

    def take(self, rows: Integers | slice) -> Uncertainty:
        """Return the uncertainty of a subset of the samples."""
        if self.groups is None:
            return Uncertainty(self.table.take(rows))
        return Uncertainty(self.table, self.groups[rows])

    def rescaled(self, scale: Floats) -> Uncertainty:
        """Return the uncertainty of ``x / scale``."""
        return Uncertainty(self.table.rescaled(scale), self.groups)

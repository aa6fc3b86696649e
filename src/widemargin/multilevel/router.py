"""Send any point to its cluster.

**One function assigns points**: :meth:`Router.assign`, whether they are the sample that
was clustered, the other training points or test points. So a training point met again
at prediction time is in the cluster it was trained in.

Both k-means are one algorithm. With means ``centre_c = sum_j W_jc phi(x_j)``,

    ||phi(x) - centre_c||^2 = K(x, x) - 2 sum_j W_jc K(x_j, x) + q_c

where ``K(x, x)`` does not change the nearest centre, and for input space ``K`` is the
dot product, so that ``W`` collapses to the mean vectors.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel, Precomputed
from widemargin.numerics.products import products, times

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Samples = Any  # a dense (n, d) array or a CSR matrix

_BLOCK = 1 << 17  # scores per block of points: half a megabyte of float32, in cache
_MANY = 1 << 28  # scores from which repeated rows are searched for first


def order_of(labels: Indices, n_labels: int) -> Indices:
    """Rows in the order of their labels, those of one label ascending."""
    small = labels.astype(np.uint16) if n_labels <= 1 << 16 else labels  # radix sort
    return np.argsort(small, kind="stable")


class Router(Protocol):
    """What sends a point to its cluster."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters that points are sent to."""
        ...

    def assign(self, Z: Samples, threads: int = 1) -> Indices:
        """Cluster of each row of `Z`."""
        ...


class _NearestCentre:
    """Nearest centre by ``scores = offsets - 2 * similarity``, ties to the lowest."""

    offsets: Array

    @property
    def n_clusters(self) -> int:
        """Number of centres."""
        return len(self.offsets)

    def scores(self, Z: Samples, dtype: type[np.floating]) -> NDArray[np.floating]:
        """Squared distance to each centre, less a constant of the point."""
        raise TypeError("a router of centres defines its scores")

    def assign(self, Z: Samples, threads: int = 1) -> Indices:
        """Cluster of each row of `Z`, the same whatever rows are beside it.

        A matrix product rounds differently for other block shapes, so that a point
        between two centres could change sides. Such near-ties are decided in float64,
        where centres equally near to 1e-9 count as tied, and the lowest index wins.
        """
        n = Z.shape[0]
        labels = np.zeros(n, dtype=np.intp)
        if self.n_clusters == 1:
            return labels
        if n * self.n_clusters > _MANY:  # hashing is cheap in comparison
            first, back = distinct_rows(Z)
            if 2 * len(first) <= n:
                return self.assign(Z[first], threads)[back]
        rows = max(64, _BLOCK // self.n_clusters)

        def assign_from(start: int) -> None:
            block = Z[start : start + rows]
            labels[start : start + rows] = self._assign_block(block)

        starts = range(0, n, rows)
        if threads > 1 and len(starts) > threads:
            with ThreadPoolExecutor(threads) as pool:
                deque(pool.map(assign_from, starts), maxlen=0)
        else:
            for start in starts:
                assign_from(start)
        return labels

    def _assign_block(self, Z: Samples) -> Indices:
        scores = self.scores(Z, np.float32)
        labels = np.asarray(scores.argmin(axis=1))
        best = scores[np.arange(len(labels)), labels]
        scale = max(float(scores.max()), -float(best.min()))  # the largest size
        near = np.flatnonzero(scores <= (best + 1e-5 * scale)[:, None])
        counts = np.bincount(near // self.n_clusters, minlength=len(labels))
        close = np.flatnonzero(counts > 1)
        if len(close):
            exact = self.scores(Z[close], np.float64)
            slack = 1e-9 * np.abs(exact).max(axis=1, keepdims=True)
            tied = exact <= exact.min(axis=1, keepdims=True) + slack
            labels[close] = tied.argmax(axis=1)
        return labels


@dataclass(frozen=True)
class InputRouter(_NearestCentre):
    """Nearest mean in input space.

    Parameters
    ----------
    centres : array of shape (n_clusters, n_features)
        The means.
    shift : array of shape (n_features,)
        Subtracted from the means before multiplying: distances do not change, and
        float32 products stay accurate for data far from the origin.
    """

    centres: Array
    shift: Array
    offsets: Array = field(init=False, repr=False)
    _weights: dict[type, NDArray[np.floating]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shifted = self.centres - self.shift
        # |z-c|^2 = |z-s|^2 - 2 z.(c-s) + |c-s|^2 + 2 s.(c-s)
        offsets = np.einsum("ij,ij->i", shifted, shifted)
        offsets += 2 * times(shifted, self.shift)
        weights = {
            kind: np.ascontiguousarray(-2 * shifted, dtype=kind)
            for kind in (np.float32, np.float64)
        }
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "_weights", weights)

    def scores(self, Z: Samples, dtype: type[np.floating]) -> NDArray[np.floating]:
        """Squared distance to each mean, less ``|z - shift|^2``."""
        product = products(Z.astype(dtype, copy=False), self._weights[dtype])
        product += self.offsets.astype(dtype)
        return product


@dataclass(frozen=True)
class KernelRouter(_NearestCentre):
    """Nearest mean in the kernel's feature space.

    Parameters
    ----------
    samples : array or CSR of shape (n_sample, n_features)
        The clustered sample. For a precomputed kernel: ``arange`` column indices are
        in `columns` and `samples` is the kernel block of the sample.
    columns : array of shape (n_sample,)
        Indices of the sample among the training points.
    weights : array of shape (n_sample, n_clusters)
        Column c holds 1 / size at the members of cluster c.
    offsets : array of shape (n_clusters,)
        ``q_c``, the squared length of centre c.
    kernel : Kernel
        The kernel.
    """

    samples: Samples
    columns: Indices
    weights: Array
    offsets: Array
    kernel: Kernel

    def scores(self, Z: Samples, dtype: type[np.floating]) -> NDArray[np.floating]:
        """Squared distance to each centre in feature space, less ``K(z, z)``."""
        if isinstance(self.kernel, Precomputed):
            similarity = times(Z[:, self.columns], self.weights)
        else:
            gram = Gram(self.samples, self.kernel)
            similarity = gram.cross(Z, self.weights, dtype=dtype)
        return np.asarray(self.offsets - 2 * similarity, dtype=dtype)


@dataclass(frozen=True)
class RandomRouter:
    """A random partition that is a function of the point: a hash of its values.

    Equal rows meet in one cluster, dense and CSR agree, and a training point returns
    to its cluster, without geometry: the baseline for the other two.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    multipliers : array of shape (n_features,), uint64
        Random odd numbers of the multiplicative hash.
    """

    n_clusters: int
    multipliers: NDArray[np.uint64]

    def assign(self, Z: Samples, threads: int = 1) -> Indices:
        """Cluster of each row of `Z`."""
        high = row_hashes(Z, self.multipliers) >> np.uint64(33)
        hashed = high % np.uint64(self.n_clusters)
        return np.asarray(hashed, dtype=np.intp)


def row_hashes(Z: Samples, multipliers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for each row, the same for equal rows, dense or CSR."""
    if sp.issparse(Z):
        bits = _bits(Z.data) * multipliers[Z.indices]
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(bits)])
        mixed = running[Z.indptr[1:]] - running[Z.indptr[:-1]]
    else:
        mixed = np.zeros(Z.shape[0], dtype=np.uint64)
        for j, multiplier in enumerate(multipliers):
            mixed += _bits(Z[:, j]) * multiplier
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(mixed, dtype=np.uint64)


def odd_numbers(size: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Random odd numbers, the multipliers of a hash."""
    odd = rng.integers(1 << 62, size=size, dtype=np.uint64) * 2 + 1
    return odd.astype(np.uint64)


def distinct_rows(Z: Samples) -> tuple[Indices, Indices]:
    """One of each of the rows, and for every row which of those it is.

    Rows are told apart by a hash of 64 bits of their values in single precision.
    """
    hashes = row_hashes(Z, odd_numbers(Z.shape[1], np.random.default_rng(0)))
    _, first, back = np.unique(hashes, return_index=True, return_inverse=True)
    return first, back


def _bits(values: NDArray[np.floating]) -> NDArray[np.uint64]:
    """Bit pattern of the float32 values; zero (of either sign) is 0."""
    return (values.astype(np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)

"""k-means on a small sample, in input space or in a kernel's feature space.

Lloyd's iteration needs of a space only the products of its points with the centres
and the squared lengths of the centres. Two spaces provide them; everything else,
k-means++ start, empty clusters, giant clusters, is written once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.numerics.products import products, times

from .router import order_of

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

ALL = slice(None)
_ITERATIONS = 20
_LARGE = 1 << 22  # entries from which zeros are left out,
_SPARSE = 0.1  # if at most this share is non-zero


@dataclass(frozen=True)
class InputSpace:
    """Points in input space, shifted to their mean.

    A large sample of mostly zeros stays sparse, and is not shifted. That depends on its
    values, not on how they came: dense and CSR rows have the same clusters.

    Parameters
    ----------
    points : array or CSR of shape (m, d)
        Points, less `shift`.
    shift : array of shape (d,)
        Their mean before the shift; 0 for sparse points.
    """

    points: Any
    shift: Array

    @classmethod
    def of(cls, X: Any) -> InputSpace:
        """Space of the rows of `X`, dense or CSR."""
        size = X.shape[0] * X.shape[1]
        if size > _LARGE and _nonzero(X) < _SPARSE * size:
            return cls(sp.csr_array(X, dtype=np.float32), np.zeros(X.shape[1]))
        dense = np.asarray(X.toarray() if sp.issparse(X) else X)
        shift = dense.mean(axis=0, dtype=np.float64)
        return cls(np.ascontiguousarray(dense - shift, dtype=np.float32), shift)

    def __len__(self) -> int:
        """Return the number of points."""
        return int(self.points.shape[0])

    def diagonal(self) -> NDArray[np.floating]:
        """Squared length of each point."""
        if sp.issparse(self.points):
            return np.asarray(self.points.multiply(self.points).sum(axis=1)).ravel()
        return np.asarray(np.einsum("ij,ij->i", self.points, self.points))

    def rows(self, chosen: Indices) -> NDArray[np.floating]:
        """Products of the chosen points with all."""
        if sp.issparse(self.points):
            return _dense(self.points[chosen] @ self.points.T)
        return products(self.points[chosen], self.points)

    def scores(
        self, labels: Indices, mass: Array, chosen: Indices | slice = ALL
    ) -> NDArray[np.floating]:
        """Squared distance of the chosen points to each centre, less their lengths."""
        centres = _dense(_averages(labels, mass) @ self.points)
        scores = products(self.points[chosen], -2 * centres)
        scores += np.einsum("ij,ij->i", centres, centres)
        return scores

    def means(self, labels: Indices, mass: Array) -> Array:
        """Centres of the labelled points in the original coordinates."""
        averages = _averages(labels, mass)
        return _dense(averages @ self.points.astype(np.float64)) + self.shift

    def restricted(self, chosen: Indices) -> InputSpace:
        """The space of some of the points."""
        return InputSpace(self.points[chosen], self.shift)


@dataclass(frozen=True)
class KernelSpace:
    """Points known by their kernel matrix alone."""

    kernel: Array

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.kernel)

    def diagonal(self) -> Array:
        """Squared length of each point."""
        return self.kernel.diagonal().copy()

    def rows(self, chosen: Indices) -> Array:
        """Products of the chosen points with all."""
        return np.array(self.kernel[chosen])

    def scores(
        self, labels: Indices, mass: Array, chosen: Indices | slice = ALL
    ) -> NDArray[np.floating]:
        """Squared distance of the chosen points to each centre, less their lengths."""
        _, products, lengths = self._centres(labels, mass)
        return np.asarray(lengths - 2 * products[:, chosen].T)

    def means(self, labels: Indices, mass: Array) -> tuple[Array, Array]:
        """Share of each point in each centre, and the squared lengths of the centres.

        The lengths are ``q_c`` of mathematics 4.3.
        """
        averages, _, lengths = self._centres(labels, mass)
        return averages.toarray().T, lengths

    def _centres(
        self, labels: Indices, mass: Array
    ) -> tuple[sp.csr_array, Array, Array]:
        averages = _averages(labels, mass)
        products = np.asarray(averages @ self.kernel)
        lengths = np.asarray(averages.multiply(products).sum(axis=1)).ravel()
        return averages, products, lengths

    def restricted(self, chosen: Indices) -> KernelSpace:
        """The space of some of the points."""
        return KernelSpace(self.kernel[np.ix_(chosen, chosen)])


Space = InputSpace | KernelSpace


def k_means(
    space: Space, k: int, rng: np.random.Generator, *, mass: Array | None = None
) -> Indices:
    """Cluster a space by Lloyd's iteration from a k-means++ start.

    Parameters
    ----------
    space : InputSpace or KernelSpace
        The points.
    k : int
        Clusters wanted; fewer come back when there are fewer distinct points or when
        one empties on the way.
    rng : numpy.random.Generator
        Source of the k-means++ draws.
    mass : array of shape (m,), optional
        Weight of each point, by default 1.

    Returns
    -------
    labels : array of shape (m,)
        Cluster of each point, numbered from 0 without holes.
    """
    mass = np.ones(len(space)) if mass is None else mass
    seeds = plus_plus(space, k, mass, rng)
    diagonal = space.diagonal()
    labels = np.asarray(_distances(space, diagonal, seeds).argmin(axis=0))
    for _ in range(_ITERATIONS):
        labels = _without_holes(labels)
        moved = np.asarray(space.scores(labels, mass).argmin(axis=1))
        changed = np.count_nonzero(moved != labels)
        labels = moved
        if changed <= len(labels) // 200:  # 0.5 %: sizes hardly change any more
            break
    return _without_holes(labels)


def plus_plus(space: Space, k: int, mass: Array, rng: np.random.Generator) -> Indices:
    """k-means++ seeds: each drawn with probability proportional to its distance.

    A few candidates are drawn at each step and the one that lowers the total most is
    kept (Arthur and Vassilvitskii 2007, section 5). Stops early when every point
    coincides with a seed.
    """
    if k >= len(space):
        return np.arange(len(space))
    trials = 2 + int(np.log(k))
    diagonal = space.diagonal()
    tiny = 1e-5 * diagonal  # what rounding leaves of the distance of a point to itself
    seeds = [int(rng.choice(len(space), p=mass / mass.sum()))]
    nearest = _distances(space, diagonal, np.array(seeds))[0]
    nearest[nearest <= tiny] = 0
    weights = mass.astype(nearest.dtype)
    while len(seeds) < k:
        cumulated = np.cumsum(weights * nearest, dtype=np.float64)
        if cumulated[-1] <= 0:
            break
        draws = np.searchsorted(cumulated, rng.random(trials) * cumulated[-1], "right")
        draws = np.minimum(draws, len(space) - 1)
        reduced = _distances(space, diagonal, draws)
        np.minimum(reduced, nearest, out=reduced)
        best = int(times(reduced, weights).argmin())
        seeds.append(int(draws[best]))
        nearest = reduced[best]
        nearest[nearest <= tiny] = 0
    return np.array(seeds)


def split_giants(
    space: Space,
    labels: Indices,
    mass: Array,
    k: int,
    cap: float,
    rng: np.random.Generator,
) -> Indices:
    """Halve clusters heavier than `cap`, keeping at most `k` clusters.

    When there are `k` already, the lightest cluster is merged into the nearest other
    one to make room. A cluster of identical points cannot be split and is left.
    """
    labels = _without_holes(labels)
    stuck: set[int] = set()
    for _ in range(2 * k):
        weight = np.bincount(labels, weights=mass)
        eligible = np.array([w if c not in stuck else 0 for c, w in enumerate(weight)])
        giant = int(eligible.argmax())
        if eligible[giant] <= cap:
            break
        members = np.flatnonzero(labels == giant)
        halves = k_means(space.restricted(members), 2, rng, mass=mass[members])
        if halves.max() == 0:
            stuck.add(giant)
            continue
        if len(weight) >= k:
            lightest = int(weight.argmin())
            if lightest == giant or weight[lightest] > weight[giant] / 4:
                break  # no cluster is light enough to be merged
            labels = _dissolved(space, labels, mass, lightest)
            stuck = {c - (c > lightest) for c in stuck if c != lightest}
        labels[members[halves == 1]] = labels.max() + 1
        labels = _without_holes(labels)
    return labels


def _dissolved(space: Space, labels: Indices, mass: Array, cluster: int) -> Indices:
    """Labels with the members of one cluster sent to their nearest other centre."""
    members = np.flatnonzero(labels == cluster)
    scores = space.scores(labels, mass, members)
    scores[:, cluster] = np.inf
    labels = labels.copy()
    labels[members] = scores.argmin(axis=1)
    labels[labels > cluster] -= 1
    return labels


def _distances(
    space: Space, diagonal: NDArray[np.floating], chosen: Indices
) -> NDArray[np.floating]:
    """Squared distance of the chosen points to all, not below 0."""
    distances = space.rows(chosen)
    distances *= -2
    distances += diagonal
    distances += diagonal[chosen][:, None]
    return np.maximum(distances, 0, out=distances)


def _nonzero(X: Any) -> int:
    return int(np.count_nonzero(X.data if sp.issparse(X) else X))


def _dense(product: Any) -> NDArray[Any]:
    return np.asarray(product.toarray() if sp.issparse(product) else product)


def _averages(labels: Indices, mass: Array) -> sp.csr_array:
    """Sparse matrix whose row c averages the members of cluster c."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    order = order_of(labels, len(starts) - 1)
    share = mass / np.bincount(labels, weights=mass)[labels]
    return sp.csr_array(
        (share[order].astype(np.float32), order, starts),
        shape=(len(starts) - 1, len(labels)),
    )


def _without_holes(labels: Indices) -> Indices:
    """Labels renumbered so that no cluster is empty."""
    used = np.bincount(labels) > 0
    return (np.cumsum(used) - 1)[labels]

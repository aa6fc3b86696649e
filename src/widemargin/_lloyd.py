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

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_ITERATIONS = 20


@dataclass(frozen=True)
class InputSpace:
    """Points in input space, shifted to their mean.

    Parameters
    ----------
    points : array of shape (m, d)
        Points, less `shift`.
    shift : array of shape (d,)
        Their mean before the shift.
    """

    points: NDArray[np.floating]
    shift: Array

    @classmethod
    def of(cls, X: Any) -> InputSpace:
        """Space of the rows of `X`, dense or CSR."""
        dense = np.asarray(X.toarray() if sp.issparse(X) else X)
        shift = dense.mean(axis=0, dtype=np.float64)
        return cls(np.ascontiguousarray(dense - shift, dtype=np.float32), shift)

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.points)

    def diagonal(self) -> NDArray[np.floating]:
        """Squared length of each point."""
        return np.asarray(np.einsum("ij,ij->i", self.points, self.points))

    def columns(self, chosen: Indices) -> NDArray[np.floating]:
        """Products of all points with the chosen ones."""
        return np.asarray(self.points @ self.points[chosen].T)

    def averages(self, labels: Indices, mass: Array) -> sp.csr_array:
        """Averaging matrix: row c has the shares of the members of cluster c."""
        return _averages(labels, mass)

    def products(self, averages: sp.csr_array) -> NDArray[np.floating]:
        """Product of each point with each centre."""
        centres = averages @ self.points
        return np.asarray(self.points @ centres.T)

    def lengths(
        self, averages: sp.csr_array, products: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        """Squared length of each centre."""
        centres = averages @ self.points
        return np.asarray(np.einsum("ij,ij->i", centres, centres))

    def means(self, labels: Indices) -> Array:
        """Centres of the labelled points in the original coordinates."""
        averages = _averages(labels, np.ones(len(labels)))
        return np.asarray(averages @ self.points.astype(np.float64)) + self.shift

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

    def columns(self, chosen: Indices) -> Array:
        """Products of all points with the chosen ones."""
        return self.kernel[:, chosen]

    def averages(self, labels: Indices, mass: Array) -> sp.csr_array:
        """Averaging matrix: row c has the shares of the members of cluster c."""
        return _averages(labels, mass)

    def products(self, averages: sp.csr_array) -> Array:
        """Product of each point with each centre."""
        return np.asarray(averages @ self.kernel).T

    def lengths(self, averages: sp.csr_array, products: NDArray[np.floating]) -> Array:
        """Squared length of each centre: ``q_c`` of mathematics.md 4.3."""
        return np.asarray(averages.multiply(products.T).sum(axis=1)).ravel()

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
    labels = np.asarray((diagonal[seeds] - 2 * space.columns(seeds)).argmin(axis=1))
    for _ in range(_ITERATIONS):
        labels = _without_holes(labels)
        averages = space.averages(labels, mass)
        products = space.products(averages)
        lengths = space.lengths(averages, products)
        moved = np.asarray((lengths - 2 * products).argmin(axis=1))
        changed = np.count_nonzero(moved != labels)
        labels = moved
        if changed <= len(labels) // 200:  # 0.5%: what is left does not change sizes
            break
    return _without_holes(labels)


def plus_plus(space: Space, k: int, mass: Array, rng: np.random.Generator) -> Indices:
    """k-means++ seeds: each drawn with probability proportional to its distance.

    A few candidates are drawn at each step and the one that lowers the total most is
    kept (Arthur and Vassilvitskii 2007, section 5). Stops early when every point
    coincides with a seed.
    """
    trials = 2 + int(np.log(k))
    diagonal = space.diagonal()
    tiny = 1e-7 * max(float(diagonal.max()), 1e-300)
    seeds = [int(rng.choice(len(space), p=mass / mass.sum()))]
    nearest = _distances(space, diagonal, np.array(seeds))[:, 0]
    while len(seeds) < k:
        weighted = mass * np.where(nearest > tiny, nearest, 0.0)
        cumulated = np.cumsum(weighted)
        if cumulated[-1] <= 0:
            break
        draws = np.searchsorted(cumulated, rng.random(trials) * cumulated[-1], "right")
        draws = np.minimum(draws, len(space) - 1)
        reduced = np.minimum(_distances(space, diagonal, draws), nearest[:, None])
        best = int((mass @ reduced).argmin())
        seeds.append(int(draws[best]))
        nearest = reduced[:, best]
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
                break  # nothing light enough to give way
            labels = _dissolved(space, labels, mass, lightest)
            stuck = {c - (c > lightest) for c in stuck if c != lightest}
        labels[members[halves == 1]] = labels.max() + 1
        labels = _without_holes(labels)
    return labels


def _dissolved(space: Space, labels: Indices, mass: Array, cluster: int) -> Indices:
    """Labels with the members of one cluster sent to their nearest other centre."""
    members = np.flatnonzero(labels == cluster)
    averages = space.averages(labels, mass)
    products = space.products(averages)
    scores = space.lengths(averages, products) - 2 * products[members]
    scores[:, cluster] = np.inf
    labels = labels.copy()
    labels[members] = scores.argmin(axis=1)
    labels[labels > cluster] -= 1
    return labels


def _distances(
    space: Space, diagonal: NDArray[np.floating], chosen: Indices
) -> NDArray[np.floating]:
    """Squared distance of all points to the chosen ones, not below 0."""
    columns = space.columns(chosen)
    return np.asarray(np.maximum(diagonal[:, None] - 2 * columns + diagonal[chosen], 0))


def _averages(labels: Indices, mass: Array) -> sp.csr_array:
    """Sparse matrix whose row c averages the members of cluster c."""
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    share = mass / np.bincount(labels, weights=mass)[labels]
    return sp.csr_array(
        (share[order].astype(np.float32), order, starts),
        shape=(len(starts) - 1, len(labels)),
    )


def _without_holes(labels: Indices) -> Indices:
    """Labels renumbered so that no cluster is empty."""
    used = np.bincount(labels) > 0
    return (np.cumsum(used) - 1)[labels]

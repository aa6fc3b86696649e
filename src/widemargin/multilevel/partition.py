"""Divide samples into clusters.

Divide and conquer needs clusters with little kernel mass between them
(mathematics 4.2: the loss of a partition is bounded by the kernel mass between its
clusters) and of similar size (4.3: one giant cluster destroys the gain). Three ways
are offered: k-means in input space, the two-step kernel k-means of Hsieh, Si and
Dhillon (2014), and a random partition. How a point finds its cluster is in
:mod:`widemargin.multilevel.router`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Kernel, Linear, Precomputed
from widemargin.numerics.products import products

from .kmeans import InputSpace, KernelSpace, k_means, split_giants
from .router import (
    InputRouter,
    KernelRouter,
    RandomRouter,
    Router,
    Samples,
    distinct_rows,
    odd_numbers,
    order_of,
)

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# A cluster above this multiple of the average size is split (4.3). Splitting natural
# clusters costs accuracy: at 2 early prediction lost 0.3 points on ijcnn1, at 4 none.
GIANT = 4.0


@dataclass(frozen=True)
class Partition:
    """A division of the training points, with the way to route any other point.

    Parameters
    ----------
    router : Router
        Sends a point to a cell.
    groups : array of shape (router.n_clusters,)
        Cluster of each cell. Nested partitions share a router and differ in `groups`.
    cells : array of shape (n,)
        Cell of each training point.
    """

    router: Router
    groups: Indices
    cells: Indices
    labels: Indices = field(init=False, repr=False)
    _order: Indices = field(init=False, repr=False)
    _starts: Indices = field(init=False, repr=False)

    def __post_init__(self) -> None:
        labels = self.groups[self.cells]
        sizes = np.bincount(labels, minlength=int(self.groups.max()) + 1)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "_order", order_of(labels, len(sizes)))
        object.__setattr__(self, "_starts", np.concatenate([[0], np.cumsum(sizes)]))

    @property
    def n_clusters(self) -> int:
        """Number of clusters; none is empty of training points at its making."""
        return len(self._starts) - 1

    @property
    def sizes(self) -> Indices:
        """Number of training points in each cluster."""
        return np.diff(self._starts)

    def members(self, cluster: int | np.integer) -> Indices:
        """Training points of a cluster, ascending."""
        return self._order[self._starts[cluster] : self._starts[cluster + 1]]

    def assign(self, Z: Samples) -> Indices:
        """Cluster of each row of `Z`."""
        return self.groups[self.router.assign(Z)]

    def of_cells(self, cells: Indices) -> Partition:
        """Return the division of other points, of known cells, into their clusters.

        Clusters that have none of them are left out.
        """
        used = np.flatnonzero(np.bincount(self.groups[cells]))
        numbers = np.zeros(self.n_clusters, dtype=np.intp)
        numbers[used] = np.arange(len(used))
        return Partition(self.router, numbers[self.groups], cells)


def resolve_clustering(clustering: str, kernel: Kernel) -> str:
    """Way of clustering that ``"auto"`` stands for with this kernel.

    For the Gaussian kernel nearness in input space is nearness in feature space; a mean
    there costs no kernel sums, so that the sample can be larger and the clusters better
    balanced. For the linear kernel the two are the same. Every other kernel is
    clustered in feature space: the Laplacian's nearness is that of absolute
    differences, whose centres are not means.
    """
    if clustering != "auto":
        return clustering
    return "input" if isinstance(kernel, Gaussian | Linear) else "kernel"


def divide(
    X: Samples,
    kernel: Kernel,
    n_clusters: int,
    *,
    clustering: str = "auto",
    sample_size: int | None = None,
    candidates: Indices | None = None,
    seed: int = 0,
    threads: int = 1,
) -> Partition:
    """Partition the rows of `X` into at most `n_clusters` clusters.

    A sample is clustered by k-means (k-means++ start), every row goes to its nearest
    centre, empty clusters are dropped, and clusters above `GIANT` times the average
    size are split, the smallest ones giving up their centre.

    Parameters
    ----------
    X : array or CSR of shape (n, n_features)
        Samples, or the kernel matrix for ``Precomputed()``.
    kernel : Kernel
        Used by ``clustering="kernel"`` and to resolve ``"auto"``.
    n_clusters : int
        Number of clusters wanted, reduced to the number of distinct sampled points.
    clustering : {"auto", "input", "kernel", "random"}
        How to cluster.
    sample_size : int, optional
        Points to cluster; by default 5000 in input space and 1000 in feature space,
        and at least 16 for each cluster.
    candidates : array of indices, optional
        Draw the sample from these points only (the paper's adaptive clustering on
        support vectors); by default from all.
    seed : int
        Seed of every random choice made here.
    threads : int
        Threads that send rows to their clusters. Results do not depend on it.
    """
    rng = np.random.default_rng(seed)
    clustering = resolve_clustering(clustering, kernel)
    n_clusters = min(n_clusters, X.shape[0])
    if n_clusters <= 1:
        return _compact(InputRouter(np.zeros((1, X.shape[1])), np.zeros(X.shape[1])), X)
    if clustering == "random":
        return _compact(RandomRouter(n_clusters, odd_numbers(X.shape[1], rng)), X)

    drawing = sample_size, candidates, rng
    return _by_means(X, kernel, n_clusters, clustering, *drawing, threads)


def _by_means(
    X: Samples,
    kernel: Kernel,
    n_clusters: int,
    clustering: str,
    sample_size: int | None,
    candidates: Indices | None,
    rng: np.random.Generator,
    threads: int,
) -> Partition:
    """Partition by the means of a clustered sample; see :func:`divide`."""
    n = X.shape[0]
    if sample_size is None:
        sample_size = max(5000 if clustering == "input" else 1000, 16 * n_clusters)
    sample = _draw(np.arange(n) if candidates is None else candidates, sample_size, rng)
    drawn, mass = _distinct(X, kernel, sample)
    space = _space(X, kernel, clustering, drawn)
    labels = k_means(space, n_clusters, rng, mass=mass)
    if candidates is None:  # the sample stands for all: split before looking at all
        cap = 0.9 * GIANT * mass.sum() / n_clusters
        labels = split_giants(space, labels, mass, n_clusters, cap, rng)
    router = _router(space, labels, mass, X, kernel, drawn)
    partition = _compact(router, X, threads)

    # a sample of support vectors, or an unlucky one, may misjudge sizes: look at all
    for _ in range(3):
        cap = int(np.ceil(GIANT * n / n_clusters))
        giants = np.flatnonzero(partition.sizes > cap)
        if len(giants) == 0 or partition.n_clusters == 1:
            break
        extra = [_draw(partition.members(c), sample_size // 4, rng) for c in giants]
        sample = np.unique(np.concatenate([sample, *extra]))
        drawn, mass = _distinct(X, kernel, sample)
        labels = partition.labels[drawn]
        sampled = np.bincount(labels, mass, minlength=partition.n_clusters)
        stands_for = mass * partition.sizes[labels] / sampled[labels]
        space = _space(X, kernel, clustering, drawn)
        split = split_giants(space, labels, stands_for, n_clusters, cap, rng)
        if np.array_equal(split, labels):
            break
        router = _router(space, split, mass, X, kernel, drawn)
        partition = _compact(router, X, threads)
    return partition


def coarsen(partition: Partition, n_clusters: int, *, seed: int = 0) -> Partition:
    """Merge clusters into at most `n_clusters`: the next partition of a nested family.

    Needed with an intercept, where solutions of the parts are a feasible start for the
    whole only if each cluster is a union of clusters of the level below (4.5).
    """
    rng = np.random.default_rng(seed)
    if n_clusters >= partition.n_clusters:
        return partition
    sizes = partition.sizes.astype(np.float64)
    if isinstance(partition.router, RandomRouter):
        merged = np.arange(partition.n_clusters) % n_clusters
    else:
        space = KernelSpace(_centre_products(partition))
        merged = k_means(space, n_clusters, rng, mass=sizes)
        cap = GIANT * sizes.sum() / n_clusters
        merged = split_giants(space, merged, sizes, n_clusters, cap, rng)
    merged = np.unique(merged, return_inverse=True)[1]
    return Partition(partition.router, merged[partition.groups], partition.cells)


def mass_between_clusters(
    X: Samples, kernel: Kernel, *, n_clusters: int = 16, seed: int = 0
) -> float:
    """Share of the kernel mass of a sample that lies between clusters made for it.

    D(pi) of Theorem 1, over all pairs: near 0 the clusters' problems are nearly
    independent, near 1 they say little about the whole.
    """
    drawn = _draw(np.arange(X.shape[0]), 1000, np.random.default_rng(seed))
    square = isinstance(kernel, Precomputed)
    sample = X[np.ix_(drawn, drawn) if square else drawn]
    parts = divide(sample, kernel, n_clusters, seed=seed)
    return mass_apart(sample, kernel, parts.labels)


def mass_apart(
    X: Samples, kernel: Kernel, labels: Indices, *, most: int = 1000, seed: int = 0
) -> float:
    """Share of the kernel mass between rows of different labels; of `most` rows."""
    drawn = _draw(np.arange(X.shape[0]), most, np.random.default_rng(seed))
    drawn = drawn[np.argsort(labels[drawn], kind="stable")]  # each label in one piece
    block = _kernel_block(X, kernel, drawn, np.float32)
    np.abs(block, out=block)
    np.fill_diagonal(block, 0.0)
    ends = np.cumsum(np.bincount(labels[drawn])).tolist()
    total = float(block.sum(dtype=np.float64))
    within = sum(
        float(block[first:end, first:end].sum(dtype=np.float64))
        for first, end in zip([0, *ends], ends, strict=False)
    )
    return max(0.0, total - within) / max(total, 1e-300)


def _centre_products(partition: Partition) -> Array:
    """Dot products between the centres of the clusters."""
    router, groups = partition.router, partition.groups
    share = np.bincount(partition.cells, minlength=len(groups)).astype(np.float64)
    share /= np.bincount(groups, weights=share)[groups]
    mixing = sp.csr_array((share, (groups, np.arange(len(groups)))))
    if isinstance(router, InputRouter):
        centres = mixing @ (router.centres - router.shift)
        return products(centres, centres)
    assert isinstance(router, KernelRouter)
    block = _kernel_block(router.samples, router.kernel, None)
    weights = mixing @ sp.csr_array(router.weights.T)
    return np.asarray(weights @ (weights @ block).T)


def _draw(indices: Indices, size: int, rng: np.random.Generator) -> Indices:
    """At most `size` of the indices, ascending."""
    if len(indices) <= size:
        return np.asarray(indices)
    return np.sort(rng.choice(indices, size=size, replace=False))


def _distinct(X: Samples, kernel: Kernel, drawn: Indices) -> tuple[Indices, Array]:
    """One of each of the drawn rows, and how often it was drawn.

    Only where at least half are repeats: k-means costs as many products as there are
    points, and on data of few distinct rows nearly all of them would be wasted.
    """
    if not isinstance(kernel, Precomputed):
        first, back = distinct_rows(X[drawn])
        if 2 * len(first) <= len(drawn):
            return drawn[first], np.bincount(back).astype(np.float64)
    return drawn, np.ones(len(drawn))


def _kernel_block(
    X: Samples,
    kernel: Kernel,
    drawn: Indices | None,
    dtype: type[np.floating] = np.float64,
) -> NDArray[Any]:
    """Kernel matrix of the drawn points, in float32 at most where that suffices."""
    if isinstance(kernel, Precomputed):
        return np.array(X if drawn is None else X[np.ix_(drawn, drawn)], np.float64)
    gram = Gram(X if drawn is None else X[drawn], kernel)
    suffices = gram.single_precision_suffices and not gram.overflows
    every = np.arange(gram.n)
    return np.asarray(gram.rows(every, dtype=dtype if suffices else np.float64))


def _space(
    X: Samples, kernel: Kernel, clustering: str, drawn: Indices
) -> InputSpace | KernelSpace:
    if clustering == "input":
        return InputSpace.of(X[drawn])
    return KernelSpace(_kernel_block(X, kernel, drawn))


def _router(
    space: InputSpace | KernelSpace,
    labels: Indices,
    mass: Array,
    X: Samples,
    kernel: Kernel,
    drawn: Indices,
) -> InputRouter | KernelRouter:
    """Router to the means of the labelled sample."""
    if isinstance(space, InputSpace):
        return InputRouter(space.means(labels, mass), space.shift)
    kept = X[np.ix_(drawn, drawn)] if isinstance(kernel, Precomputed) else X[drawn]
    return KernelRouter(kept, drawn, *space.means(labels, mass), kernel)


def _compact(router: Router, X: Samples, threads: int = 1) -> Partition:
    """Partition of `X` by a router, without the clusters that got no point."""
    cells = router.assign(X, threads)
    sizes = np.bincount(cells, minlength=router.n_clusters)
    if np.all(sizes > 0):
        return Partition(router, np.arange(router.n_clusters), cells)
    if isinstance(router, RandomRouter):
        groups = np.cumsum(sizes > 0) - 1
        return Partition(router, np.maximum(groups, 0), cells)
    return _compact(_kept(router, np.flatnonzero(sizes > 0)), X, threads)


def _kept(router: Router, kept: Indices) -> Router:
    """The same router with only some of its centres."""
    if isinstance(router, InputRouter):
        return InputRouter(router.centres[kept], router.shift)
    assert isinstance(router, KernelRouter)
    return KernelRouter(
        router.samples,
        router.columns,
        router.weights[:, kept],
        router.offsets[kept],
        router.kernel,
    )

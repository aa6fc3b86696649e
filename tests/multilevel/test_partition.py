"""Partitions: balance, consistency of routing, nesting, degenerate data."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
)
from widemargin.multilevel import partition
from widemargin.multilevel import router as routing
from widemargin.multilevel.kmeans import (
    _LARGE,
    InputSpace,
    KernelSpace,
    k_means,
    plus_plus,
    split_giants,
)
from widemargin.multilevel.partition import (
    GIANT,
    _compact,
    coarsen,
    divide,
    resolve_clustering,
)
from widemargin.multilevel.router import InputRouter

WAYS = ("input", "kernel", "random")


def blobs(n=900, d=5, centres=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(centres, d))[
        rng.integers(centres, size=n)
    ] * 4 + rng.normal(size=(n, d))


@pytest.mark.parametrize("way", WAYS)
def test_routing_a_training_point_again_gives_its_cluster(way):
    X = blobs()
    parts = divide(X, Gaussian(0.1), 16, clustering=way, sample_size=200, seed=3)
    assert 2 <= parts.n_clusters <= 16
    assert_array_equal(parts.assign(X), parts.labels)
    one_by_one = np.concatenate([parts.assign(X[i : i + 1]) for i in range(len(X))])
    assert_array_equal(one_by_one, parts.labels)
    shuffled = np.random.default_rng(0).permutation(len(X))
    assert_array_equal(parts.assign(X[shuffled]), parts.labels[shuffled])


def test_ties_between_centres_do_not_depend_on_the_batch():
    # points on a grid, centres on the grid: many points are exactly between two
    grid = np.stack(np.meshgrid(np.arange(40.0), np.arange(40.0)), -1).reshape(-1, 2)
    router = InputRouter(grid[::37].copy(), np.array([19.5, 19.5]))
    together = router.assign(grid)
    alone = np.concatenate([router.assign(row[None]) for row in grid])
    assert_array_equal(together, alone)
    distances = ((grid[:, None] - router.centres) ** 2).sum(-1)
    assert_array_equal(together, distances.argmin(axis=1))  # the lowest index wins


def test_points_between_centres_do_not_depend_on_the_batch():
    # midpoints of pairs of centres: the float32 product cannot tell which is nearer
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(8, 54))
    pairs = rng.integers(8, size=(2000, 2))
    Z = centres[pairs].mean(axis=1)
    router = InputRouter(centres, centres.mean(axis=0))
    together = router.assign(Z)
    alone = np.concatenate([router.assign(row[None]) for row in Z])
    assert_array_equal(together, alone)


@pytest.mark.parametrize("way", WAYS)
def test_clusters_cover_all_points_once_and_none_is_empty(way):
    parts = divide(blobs(), Gaussian(0.1), 12, clustering=way, seed=1)
    members = np.concatenate([parts.members(c) for c in range(parts.n_clusters)])
    assert_array_equal(np.sort(members), np.arange(900))
    assert parts.sizes.min() > 0
    for cluster in range(parts.n_clusters):
        assert_array_equal(parts.labels[parts.members(cluster)], cluster)
        assert_array_equal(parts.members(cluster), np.sort(parts.members(cluster)))


@pytest.mark.parametrize("way", WAYS)
def test_dense_and_csr_are_divided_alike(way):
    X = blobs()
    X[np.abs(X) < 1] = 0
    dense = divide(X, Gaussian(0.1), 8, clustering=way, seed=0)
    sparse = divide(sp.csr_matrix(X), Gaussian(0.1), 8, clustering=way, seed=0)
    assert_array_equal(dense.labels, sparse.labels)
    assert_array_equal(dense.assign(sp.csr_matrix(X)), dense.labels)


def test_float32_samples_are_divided_like_their_float64_copies():
    X = blobs().astype(np.float32)
    parts = divide(X, Gaussian(0.1), 8, seed=0)
    assert_array_equal(parts.assign(X.astype(np.float64)), parts.labels)


@pytest.mark.parametrize("kernel", [Polynomial(2, 0.2, 1.0), Laplacian(0.1)], ids=str)
def test_kernel_distance_is_that_of_the_feature_space(kernel):
    X = blobs(n=120)
    parts = divide(X, kernel, 5, seed=0)
    K = Gram(X, kernel).rows(np.arange(120))
    router = parts.router
    centre_products = router.weights.T @ K @ router.weights  # the sample is all of X
    distances = (
        K.diagonal()[:, None] - 2 * K @ router.weights + np.diag(centre_products)
    )
    assert_allclose(router.offsets, np.diag(centre_products), rtol=1e-6)
    assert_array_equal(parts.labels, distances.argmin(axis=1))


def test_linear_kernel_clustering_is_clustering_in_input_space():
    X = blobs(n=300)
    labels = k_means(InputSpace.of(X), 6, np.random.default_rng(0))
    shifted = X - X.mean(axis=0)
    again = k_means(KernelSpace(shifted @ shifted.T), 6, np.random.default_rng(0))
    assert_array_equal(labels, again)


def test_precomputed_kernel_is_routed_by_its_columns():
    X = blobs(n=200)
    K = Gram(X, Gaussian(0.1)).rows(np.arange(200))
    parts = divide(K, Precomputed(), 6, sample_size=80, seed=2)
    same = divide(X, Gaussian(0.1), 6, clustering="kernel", sample_size=80, seed=2)
    assert_array_equal(parts.labels, same.labels)
    assert_array_equal(parts.assign(K), parts.labels)


def blob_and_outliers():
    """Nearly all points close together: plain k-means leaves them in one cluster."""
    rng = np.random.default_rng(0)
    far = rng.normal(size=(60, 3)) * 40
    return np.concatenate([far, rng.normal(size=(2000, 3)) * 0.05])


@pytest.mark.parametrize("way", ("input", "kernel"))
def test_a_giant_cluster_is_split(way):
    X = blob_and_outliers()
    parts = divide(X, Gaussian(0.05), 16, clustering=way, sample_size=600, seed=0)
    assert parts.sizes.max() <= 1.1 * GIANT * len(X) / 16
    assert parts.n_clusters <= 16


def test_a_giant_cluster_that_the_sample_did_not_show_is_split():
    X = blob_and_outliers()
    parts = divide(X, Gaussian(0.05), 16, candidates=np.arange(60), seed=0)
    assert parts.sizes.max() <= 1.5 * GIANT * len(X) / 16
    assert parts.n_clusters <= 16


def test_a_centre_without_points_is_dropped():
    X = blobs(100)
    far = np.full((1, 5), 1e3)
    router = InputRouter(np.concatenate([far, X[:2]]), np.zeros(5))
    parts = _compact(router, X)
    assert parts.n_clusters == parts.router.n_clusters == 2
    assert parts.sizes.min() > 0


def test_split_giants_gives_room_by_merging_the_lightest():
    rng = np.random.default_rng(0)
    space = InputSpace.of(np.concatenate([rng.normal(size=(90, 2)), [[50.0, 0.0]]]))
    labels = np.zeros(91, dtype=np.intp)
    labels[-1] = 1
    split = split_giants(space, labels, np.ones(91), 2, 60, rng)
    assert np.bincount(split).max() < 90
    assert split.max() == 1


def test_identical_points_make_one_cluster():
    for way in WAYS:
        parts = divide(np.ones((50, 3)), Gaussian(1.0), 4, clustering=way, seed=0)
        assert parts.n_clusters == 1
        assert_array_equal(parts.assign(np.ones((3, 3))), 0)


def test_more_clusters_than_points():
    X = np.arange(5.0)[:, None]
    parts = divide(X, Gaussian(1.0), 64, seed=0)
    assert parts.n_clusters <= 5
    assert_array_equal(parts.assign(X), parts.labels)


def test_seeds_are_distinct_points():
    X = np.repeat(np.arange(4.0), 25)[:, None]
    seeds = plus_plus(InputSpace.of(X), 9, np.ones(100), np.random.default_rng(0))
    assert len(np.unique(X[seeds])) == len(seeds) == 4


def test_rounding_makes_no_seeds():
    # in float32 a point is not quite at distance 0 of its twins
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 2000)), 5, axis=0)
    seeds = plus_plus(InputSpace.of(X), 100, np.ones(200), np.random.default_rng(0))
    assert len(np.unique(seeds // 5)) == len(seeds) == 40


@pytest.mark.parametrize("way", WAYS)
def test_coarser_clusters_are_unions_of_finer_ones(way):
    X = blobs()
    fine = divide(X, Gaussian(0.1), 32, clustering=way, seed=0)
    coarse = coarsen(fine, 8, seed=0)
    assert coarse.n_clusters <= 8
    for cluster in range(fine.n_clusters):
        assert len(np.unique(coarse.labels[fine.members(cluster)])) == 1
    assert_array_equal(coarse.assign(X), coarse.labels)
    assert coarsen(coarse, 99) is coarse


def test_clustering_beats_random_in_kernel_mass_between_clusters():
    # Theorem 1 is about this sum; that it falls is why one clusters at all
    X = blobs(n=400)
    K = Gram(X, Gaussian(0.1)).rows(np.arange(400))

    def between(way):
        labels = divide(X, Gaussian(0.1), 8, clustering=way, seed=0).labels
        return K[labels[:, None] != labels].sum()

    assert between("input") < 0.3 * between("random")
    assert between("kernel") < 0.3 * between("random")


def test_auto_clusters_in_input_space_where_it_is_the_same_idea():
    assert resolve_clustering("auto", Gaussian(1.0)) == "input"
    assert resolve_clustering("auto", Linear()) == "input"
    assert resolve_clustering("auto", Polynomial(3, 1.0, 0.0)) == "kernel"
    assert resolve_clustering("random", Gaussian(1.0)) == "random"


def test_same_seed_same_partition_and_other_seed_another():
    X = blobs()
    first = divide(X, Gaussian(0.1), 16, sample_size=300, seed=5)
    again = divide(X, Gaussian(0.1), 16, sample_size=300, seed=5)
    other = divide(X, Gaussian(0.1), 16, sample_size=300, seed=6)
    assert_array_equal(first.labels, again.labels)
    assert (first.labels != other.labels).any()


def test_data_far_from_the_origin_are_divided_as_near_it():
    X = blobs()
    near = divide(X, Gaussian(0.1), 9, seed=0)
    far = divide(X + 1e4, Gaussian(0.1), 9, seed=0)
    agreement = np.mean(
        (near.labels[:, None] == near.labels) == (far.labels[:, None] == far.labels)
    )
    assert agreement > 0.99


def test_blocks_of_points_do_not_change_the_labels(monkeypatch):
    X = blobs()
    parts = divide(X, Gaussian(0.1), 16, seed=0)
    assert parts.n_clusters > 8
    monkeypatch.setattr(routing, "_BLOCK", 16 * 70)
    assert_array_equal(parts.assign(X), parts.labels)


def sparse_rows(n, d=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, 0.02, "csr", random_state=seed)
    X.data[:] = rng.normal(size=X.nnz)
    return sp.csr_array(X)


def test_a_large_sample_of_zeros_is_not_filled_in():
    X = sparse_rows(3000)
    assert X.shape[0] * X.shape[1] > _LARGE
    assert sp.issparse(InputSpace.of(X).points)
    assert sp.issparse(InputSpace.of(X.toarray()).points)
    parts = divide(X, Gaussian(0.1), 16, seed=0)
    dense = divide(X.toarray(), Gaussian(0.1), 16, seed=0)
    assert_array_equal(parts.labels, dense.labels)
    assert parts.sizes.max() <= 1.1 * GIANT * 3000 / 16


@pytest.mark.parametrize("kind", ("dense", "sparse", "kernel"))
def test_scores_of_some_points_are_rows_of_the_scores_of_all(kind):
    X = sparse_rows(200, 60).toarray()
    spaces = {
        "dense": InputSpace.of(X),
        "sparse": InputSpace(sp.csr_array(X, dtype=np.float32), np.zeros(60)),
        "kernel": KernelSpace(X @ X.T),
    }
    rng = np.random.default_rng(0)
    labels, mass = rng.integers(5, size=200), rng.random(200)
    scores = spaces[kind].scores(labels, mass)
    centred = X - X.mean(axis=0) if kind == "dense" else X
    centres = np.stack(
        [np.average(centred[labels == c], axis=0, weights=mass[labels == c])
         for c in range(5)]
    )  # fmt: skip
    distances = ((centred[:, None] - centres) ** 2).sum(-1)
    lengths = (centred**2).sum(axis=1)[:, None]
    assert_allclose(scores, distances - lengths, atol=1e-5)
    chosen = np.array([3, 77, 150])
    assert_allclose(spaces[kind].scores(labels, mass, chosen), scores[chosen], 1e-5)


@pytest.mark.parametrize("make", (np.asarray, sp.csr_array))
def test_repeated_rows_are_clustered_once(make, monkeypatch):
    X = blobs(60)
    repeated = make(np.repeat(X, 50, axis=0))
    seen = []
    plain = partition.k_means

    def watched(space, k, rng, *, mass):
        seen.append((len(space), mass.sum()))
        return plain(space, k, rng, mass=mass)

    monkeypatch.setattr(partition, "k_means", watched)
    parts = divide(repeated, Gaussian(0.1), 8, seed=0)
    assert seen == [(60, 3000)]
    assert_array_equal(parts.labels.reshape(60, 50).min(axis=1), parts.labels[::50])
    assert_array_equal(parts.labels.reshape(60, 50).max(axis=1), parts.labels[::50])
    # the centres are the means of all rows, however often each is there
    means = [repeated[parts.labels == c].mean(axis=0) for c in range(parts.n_clusters)]
    near = np.linalg.norm(parts.router.centres - np.array(means), axis=1)
    assert near.max() < 2.0


def test_repeated_rows_are_routed_once(monkeypatch):
    X = np.repeat(blobs(60), 50, axis=0)
    router = InputRouter(X[::500].copy(), X.mean(axis=0))
    expected = router.assign(X)
    monkeypatch.setattr(routing, "_MANY", 1000)
    scored = []
    plain = InputRouter.scores

    def watched(self, Z, dtype):
        scored.append(Z.shape[0])
        return plain(self, Z, dtype)

    monkeypatch.setattr(InputRouter, "scores", watched)
    assert_array_equal(router.assign(X), expected)
    assert scored[0] == 60
    assert_array_equal(router.assign(sp.csr_array(X)), expected)


@pytest.mark.parametrize("n_labels", [3, 1 << 16, 1 << 17])
def test_order_of_labels_is_stable(n_labels):
    labels = np.random.default_rng(0).integers(n_labels, size=2000)
    labels[:2] = n_labels - 1, 0  # the largest of each width
    expected = np.argsort(labels, kind="stable")
    assert_array_equal(routing.order_of(labels, n_labels), expected)


def test_threads_send_rows_to_the_same_clusters(monkeypatch):
    monkeypatch.setattr(routing, "_BLOCK", 1 << 11)  # rows for several blocks
    X = blobs(n=5000)
    alone = divide(X, Gaussian(0.1), 32, seed=0)
    for threads in (2, 3):
        together = divide(X, Gaussian(0.1), 32, seed=0, threads=threads)
        assert_array_equal(together.labels, alone.labels)
        assert_array_equal(alone.router.assign(X, threads), alone.cells)


@pytest.mark.parametrize("kernel", [Gaussian(0.1), Linear(), Polynomial(9, 1e9, 0.0)])
def test_mass_apart_is_the_share_of_the_double_sum(kernel):
    """Also where float32 has no number for the entries."""
    X, labels = blobs(n=300), np.random.default_rng(0).integers(7, size=300)
    labels[labels == 3] = 4  # a number without rows
    K = np.abs(Gram(X, kernel).rows(np.arange(300)))
    np.fill_diagonal(K, 0.0)
    apart = K[labels[:, None] != labels].sum() / K.sum()
    assert_allclose(partition.mass_apart(X, kernel, labels), apart, rtol=1e-5)

"""The Gram handle: rows, diagonal, products, views, counters, every input form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel

from widemargin import _core
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import (
    MAX_DEGREE,
    CallableKernel,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions

from tests.certified import assert_certified, kernel_matrix

KERNELS = [
    Linear(),
    Gaussian(0.3),
    Laplacian(0.2),
    Polynomial(3, 0.2, 1.0),
    Polynomial(2, 0.5, -0.5),
    Polynomial(1, 1.0, 0.0),
    Sigmoid(0.1, 0.2),
]
SHAPES = [(1, 1), (3, 2), (17, 5), (64, 16), (70, 33), (101, 130)]


def samples(n=50, d=7, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("form", ["dense", "csr", "csr64"])
def test_rows_are_the_kernel(kernel, shape, form):
    X = samples(*shape)
    X[np.abs(X) < 0.5] = 0.0
    K = kernel_matrix(kernel, X)
    given = X
    if form != "dense":
        given = sparse.csr_matrix(X)
    if form == "csr64":
        given.indices = given.indices.astype(np.int64)
        given.indptr = given.indptr.astype(np.int64)
    gram = Gram(given, kernel)
    every = np.arange(len(X))
    scale = np.abs(K).max()
    assert_allclose(gram.rows(every), K, rtol=1e-11, atol=1e-11 * scale)
    single = gram.rows(every, dtype=np.float32)
    assert single.dtype == np.float32
    assert_allclose(single, K, rtol=2e-4, atol=2e-5 * scale)
    assert_allclose(gram.diagonal(), np.diag(K), rtol=1e-12, atol=1e-12 * scale)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5, 7, 8, 31, 60, 999, MAX_DEGREE])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_every_degree(degree, form):
    X = samples(20, 3)
    X /= np.linalg.norm(X, axis=1)[:, None]
    gram = Gram(form(X), Polynomial(degree, 0.5, 0.5))  # powers of 0 to 1
    inner = X @ X.T
    K = (0.5 * inner + 0.5) ** degree
    every = np.arange(20)
    # the rounding of <x, z>, absolute as the rows have norm 1, times the derivative
    slope = degree * np.abs(0.5 * inner + 0.5) ** max(degree - 1, 0)
    for dtype, unit in ((np.float64, 4e-16), (np.float32, 3e-7)):
        found = gram.rows(every, dtype=dtype)
        assert (np.abs(found - K) <= unit * slope + degree * unit * K.max()).all()
    assert_allclose(gram.diagonal(), np.diag(K), rtol=4e-16 * max(degree, 1))


def test_the_largest_integer_as_degree_takes_no_time():
    # No kernel may ask for it; a loop of as many products would be deaf to Ctrl-C.
    X = np.array([[1.0], [-1.0]])
    core = _core.dense_gram(X, "polynomial", 1.0, 0.0, 2**31 - 1, 1 << 20, 1)
    every = np.arange(2, dtype=np.int32)
    for dtype in (np.float32, np.float64):
        out = np.empty((2, 2), dtype)
        core.rows(every, every, out)
        assert_array_equal(out, [[1, -1], [-1, 1]])


@pytest.mark.parametrize("degree", [-1, MAX_DEGREE + 1, 2**31 - 1, 2.5, "3", None])
def test_a_degree_that_is_refused(degree):
    with pytest.raises(ValueError, match=r"degree=.* an integer from 0 to 1000"):
        Polynomial(degree, 1.0, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gaussian_diagonal_is_exactly_one(dtype):
    # performance section 5: rounding here shifted covtype's objective by 8e-5
    X = (1e3 + samples(40, 54)).astype(dtype)
    gram = Gram(X, Gaussian(32.0))
    assert_array_equal(gram.diagonal(), np.ones(40))
    rows = gram.rows(np.arange(40))
    assert_allclose(np.diag(rows), 1.0, rtol=1e-12)


def test_far_from_the_origin_distances_keep_their_digits():
    X = 1e4 + samples(30, 4)
    K = kernel_matrix(Gaussian(0.5), X)
    assert_allclose(Gram(X, Gaussian(0.5)).rows(np.arange(30)), K, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_laplacian_entries_keep_their_digits_wherever_the_samples_lie(form, dtype):
    X = (1e7 + samples(30, 70)).astype(dtype)
    X[:, 7:] = 0.0  # so that sparse samples stay sparse
    gram = Gram(sparse.csr_matrix(X) if form == "csr" else X, Laplacian(0.3))
    K = kernel_matrix(Laplacian(0.3), X)
    assert_allclose(gram.rows(np.arange(30)), K, rtol=1e-13)
    assert_array_equal(np.diag(gram.rows(np.arange(30))), np.ones(30))
    single = gram.rows(np.arange(30), dtype=np.float32)
    assert_array_equal(single, K.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Laplacian(0.1), Gaussian(0.1)], ids=str)
def test_sparse_entries_by_differences_depend_on_their_two_samples_only(kernel, dtype):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 200)) * (rng.random((30, 200)) < 0.06)
    X[:, 7] = 1e5  # far from the centre: Gaussian entries by differences, too
    X = sparse.csr_array(X.astype(dtype))
    X.data[X.indices % 5 == 0] = 0.0  # stored zeros
    gram = Gram(X, kernel)
    K = gram.rows(np.arange(30))
    assert_allclose(K, kernel_matrix(kernel, X.toarray()), rtol=1e-12, atol=1e-300)
    assert_array_equal(K, K.T)
    for row in range(30):  # whichever rows are evaluated with it
        assert_array_equal(gram.rows([row])[0], K[row])


@pytest.mark.parametrize("gamma", [0.0, 1e-310, 1.0, 1e308])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_laplacian_entries_are_numbers_at_the_ends_of_float64(form, gamma):
    X = np.zeros((3, 70))
    X[0, :2], X[1, :2] = 1.7e308, -1.7e308
    gram = Gram(sparse.csr_matrix(X) if form == "csr" else X, Laplacian(gamma))
    K = gram.rows(np.arange(3))
    assert_array_equal(np.diag(K), np.ones(3))
    apart = np.full(3, 1.0 if gamma == 0.0 else 0.0)
    if gamma != 1e-310:
        assert_allclose(K[np.triu_indices(3, 1)], apart, atol=1e-270)
    sums, errors = gram.bounded_times(np.ones(3), np.arange(3))
    assert np.isfinite(sums).all()
    assert np.isinf(errors).all() == (gamma == 1e-310)  # distances overflow


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_some_rows_and_some_columns(kernel):
    X = samples()
    K = kernel_matrix(kernel, X)
    gram = Gram(X, kernel)
    rows, columns = np.array([3, 49, 0, 3]), np.array([7, 1, 48])
    assert_allclose(gram.rows(rows), K[rows], rtol=1e-10, atol=1e-10)
    some = gram.rows(rows, columns)
    assert some.shape == (4, 3)
    assert_allclose(some, K[np.ix_(rows, columns)], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_times_is_the_product_and_skips_zeros(kernel, form):
    X = samples(60, 9)
    K = kernel_matrix(kernel, X)
    gram = Gram(sparse.csr_matrix(X) if form == "csr" else X, kernel)
    changes = np.zeros(60)
    changes[[4, 17, 59]] = 1.5, -2.0, 0.25
    product = gram.times(changes)
    assert product.dtype == np.float64
    assert_allclose(product, K @ changes, rtol=1e-10, atol=1e-10)
    some = np.array([58, 2])
    assert_allclose(
        gram.times(changes, indices=some), (K @ changes)[some], rtol=1e-10, atol=1e-10
    )
    assert_array_equal(gram.times(np.zeros(60)), np.zeros(60))
    single = gram.roughly_times(changes)
    assert_allclose(single, K @ changes, rtol=1e-5, atol=1e-5 * np.abs(K).max())


def test_rows_that_a_solve_left_in_the_cache_are_not_evaluated_again():
    X = samples(400, 5)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, 1.0, -1.0)
    gram = Gram(X, Gaussian(0.3))
    problem = classification_problem(gram, y, np.ones(400), True)
    solution = solve(problem, SolveOptions(shrinking=False))
    assert_certified(solution, kernel_matrix(Gaussian(0.3), X), tol=1e-3)
    inside = (solution.beta > problem.lower) & (solution.beta < problem.upper)
    changes = np.where(inside, 0.1, 0.0)
    before = gram.evaluated
    product = gram.roughly_times(changes)
    assert gram.evaluated == before and inside.any()
    exact = gram.times(changes)
    assert gram.evaluated == before + 400 * inside.sum()
    assert_allclose(product, exact, atol=1e-5)
    gram.release()
    assert_allclose(gram.roughly_times(changes), exact, atol=1e-5)
    assert gram.evaluated == before + 2 * 400 * inside.sum()


def test_evaluated_counts_entries_and_zeros_cost_nothing():
    gram = Gram(samples(60, 9), Gaussian(0.3))
    before = gram.evaluated
    gram.times(np.zeros(60))
    assert gram.evaluated == before
    changes = np.zeros(60)
    changes[[1, 2]] = 1.0
    gram.times(changes)
    assert 0 < gram.evaluated - before <= 2 * 60


def test_subset_is_a_view_without_a_copy():
    X = samples(60, 9)
    kernel = Gaussian(0.3)
    K = kernel_matrix(kernel, X)
    gram = Gram(X, kernel)
    chosen = np.array([5, 0, 40, 41])
    view = gram.subset(chosen)
    assert len(view) == view.n == 4 and len(gram) == 60
    assert_allclose(view.rows(np.arange(4)), K[np.ix_(chosen, chosen)], rtol=1e-10)
    assert_allclose(
        view.times(np.ones(4)), K[np.ix_(chosen, chosen)].sum(axis=1), rtol=1e-10
    )
    twice = view.subset(np.array([3, 1]))
    assert_allclose(twice.rows(np.array([0])), K[[[41]], [[41, 0]]].reshape(1, 2))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_cross_predicts(kernel, form):
    X, Z = samples(60, 9), samples(33, 9, seed=1)
    coefficients = np.random.default_rng(2).standard_normal((60, 3))
    expected = kernel_matrix(kernel, Z, X) @ coefficients
    as_given = sparse.csr_matrix if form == "csr" else np.asarray
    gram = Gram(as_given(X), kernel)
    found = gram.cross(as_given(Z), coefficients)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    one = gram.cross(as_given(Z), coefficients[:, 0])
    assert one.shape == (33,)
    assert_allclose(one, expected[:, 0], rtol=1e-9, atol=1e-9)


def test_sparse_samples_meet_several_sets_of_coefficients():
    # SciPy's slices of a matrix with 64-bit offsets have 32-bit ones
    X = sparse.random_array((60, 300), density=0.03, format="csr", rng=0)
    coefficients = np.random.default_rng(2).standard_normal((60, 3))
    expected = kernel_matrix(Gaussian(0.3), X.toarray()) @ coefficients
    found = Gram(X, Gaussian(0.3)).cross(X, coefficients)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_float32_samples_are_used_as_they_are():
    X = samples(40, 6).astype(np.float32)
    gram = Gram(X, Gaussian(0.5))
    K = kernel_matrix(Gaussian(0.5), X)
    assert_allclose(gram.rows(np.arange(40)), K, rtol=1e-5, atol=1e-6)


def test_precomputed_rows_are_the_matrix(tmp_path):
    K = kernel_matrix(Gaussian(0.5), samples(25, 3))
    gram = Gram(K, Precomputed())
    assert_array_equal(gram.rows(np.array([3, 8])), K[[3, 8]])
    assert_array_equal(gram.diagonal(), np.diag(K))
    chosen = np.array([9, 2, 11])
    assert_array_equal(
        gram.subset(chosen).rows(np.arange(3)), K[np.ix_(chosen, chosen)]
    )
    np.save(tmp_path / "K.npy", K)
    mapped = np.load(tmp_path / "K.npy", mmap_mode="r")
    assert_array_equal(Gram(mapped, Precomputed()).rows(np.arange(25)), K)


def test_callable_kernel_is_called_in_blocks():
    X = samples(40, 3)
    calls = []

    def laplacian(A, B):
        calls.append((len(A), len(B)))
        return laplacian_kernel(A, B, gamma=0.5)

    gram = Gram(X, CallableKernel(laplacian))
    K = laplacian_kernel(X, gamma=0.5)
    assert_allclose(gram.rows(np.arange(40)), K, rtol=1e-12)
    assert len(calls) < 10
    assert_allclose(gram.diagonal(), np.diag(K), rtol=1e-12)


def test_a_callable_that_returns_the_wrong_shape_is_refused():
    gram = Gram(samples(10, 2), CallableKernel(lambda A, B: np.ones((1, 1))))
    with pytest.raises(ValueError, match=r"kernel.*shape"):
        gram.rows(np.arange(10))


def test_indices_out_of_range_are_refused():
    gram = Gram(samples(10, 2), Gaussian(1.0))
    for bad in ([10], [-1], [2**40]):
        with pytest.raises((IndexError, ValueError)):
            gram.rows(np.array(bad))
        with pytest.raises((IndexError, ValueError)):
            gram.subset(np.array(bad))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("kernel", [Gaussian(0.05), Laplacian(0.05)], ids=str)
def test_threads_do_not_change_a_bit(kernel, form, threads):
    X = samples(400, 20)
    if form == "csr":  # wide enough to stay sparse
        X = sparse.csr_array(np.hstack([X, np.zeros((400, 100))]))
    changes = np.random.default_rng(0).standard_normal(400)
    alone = Gram(X, kernel, threads=1)
    shared = Gram(X, kernel, threads=threads)
    every = np.arange(400)
    for dtype in (np.float32, np.float64):
        assert_array_equal(
            alone.rows(every, dtype=dtype), shared.rows(every, dtype=dtype)
        )
    assert_array_equal(alone.times(changes), shared.times(changes))


def test_samples_too_large_for_a_copy_are_converted_as_they_are_packed():
    # above 128 MB of packed samples nothing is kept beside the caller's array
    few = samples(1000, 128)
    X = np.tile(few, (270, 1))
    rows, columns = np.array([0, 5, 100_007]), np.array([3, 999, 200_005, 269_999])
    small = Gram(few, Gaussian(0.003))
    for dtype, close in ((np.float64, 1e-12), (np.float32, 1e-5)):
        found = Gram(X, Gaussian(0.003)).rows(rows, columns, dtype=dtype)
        asked = small.rows(rows % 1000, columns % 1000, dtype=dtype)
        assert_allclose(found, asked, rtol=0, atol=close)


def test_sparse_samples_of_another_precision_meet():
    X = samples(40, 100)
    X[np.abs(X) < 1.5] = 0.0
    K = kernel_matrix(Gaussian(0.01), X)
    weights = np.linspace(-1.0, 1.0, 40)
    for ours, theirs in ((np.float64, np.float32), (np.float32, np.float64)):
        gram = Gram(sparse.csr_matrix(X.astype(ours)), Gaussian(0.01))
        others = sparse.csr_matrix(X.astype(theirs))
        assert_allclose(gram.cross(others, weights), K @ weights, rtol=1e-5, atol=1e-5)

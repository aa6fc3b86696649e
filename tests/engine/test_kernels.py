"""Which kernels are positive semidefinite: what convexity rests on; gamma="scale"."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from widemargin import SVC
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import (
    CallableKernel,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    scale_gamma,
)

from tests.refits import weigh_every_way

CONVEX = [
    Linear(),
    Gaussian(0.5),
    Laplacian(0.5),
    Polynomial(3, 0.5, 0.0),
    Polynomial(2, 0.5, 1.0),
    Polynomial(3, 0.0, 1.0),
]
NOT_CONVEX = [
    Sigmoid(0.5, -1.0),
    Polynomial(3, 1.0, -1.0),
    Polynomial(2, 1.0, -1.0),
    Polynomial(3, -1.0, 1.0),
]


def smallest_eigenvalue(kernel):
    X = np.random.default_rng(0).normal(size=(30, 3))
    matrix = Gram(X, kernel).rows(np.arange(30))
    values = np.linalg.eigvalsh(matrix)
    return values[0] / np.abs(values).max()


@pytest.mark.parametrize("kernel", CONVEX)
def test_semidefinite_kernels(kernel):
    assert kernel.semidefinite
    assert smallest_eigenvalue(kernel) > -1e-12


@pytest.mark.parametrize("kernel", NOT_CONVEX)
def test_kernels_that_are_not_semidefinite(kernel):
    assert not kernel.semidefinite
    assert smallest_eigenvalue(kernel) < -1e-3


def test_kernels_of_which_the_caller_says_so():
    assert Precomputed().semidefinite
    assert CallableKernel(np.dot).semidefinite


def test_an_update_follows_no_path_where_the_kernel_is_not_semidefinite(monkeypatch):
    weigh_every_way(monkeypatch)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)
    routes = {}
    for coef0 in (1.0, -1.0):
        model = SVC(kernel="poly", gamma=0.5, coef0=coef0, keep_rows=True)
        model.fit(X[:70], y[:70])
        routes[coef0] = model.partial_fit(X[70:], y[70:]).history_[-1]["route"]
    assert routes == {1.0: "path", -1.0: "refit"}


@pytest.mark.parametrize("value", [0.1, 0.3, 1.0, 1e5 / 3, -7.7])
@pytest.mark.parametrize("rows", [3, 20, 1000, 20000])
def test_nothing_varies_in_constant_features_up_to_rounding(value, rows):
    """The sum of equal numbers is off by rounding; gamma was 1e33, or no number."""
    weights = np.random.default_rng(rows).uniform(0.2, 3.0, rows)
    for X in (np.full((rows, 2), value), sparse.csr_matrix(np.full((rows, 2), value))):
        for given in (None, weights):
            assert scale_gamma(X, given) == 1.0
    varied = np.full((rows, 2), value)
    varied[0, 0] *= 1.001
    expected = 1 / (2 * varied.var())
    assert_allclose(scale_gamma(varied), expected, rtol=1e-9)
    assert_allclose(scale_gamma(sparse.csr_matrix(varied)), expected, rtol=1e-9)


def exact_gamma(X, weights):
    """1 / (n_features * Var(X)) in rational arithmetic."""
    shares = [Fraction(w) for w in weights.tolist()]
    rows = [[Fraction(x) for x in row] for row in X.tolist()]
    mass = sum(shares) * X.shape[1]
    pairs = list(zip(shares, rows, strict=True))
    mean = sum(w * sum(row) for w, row in pairs) / mass
    spread = sum(w * sum((x - mean) ** 2 for x in row) for w, row in pairs) / mass
    return float(1 / (X.shape[1] * spread))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("offset", [0.0, 1e4, -1e8, 1e12])
def test_gamma_scale_keeps_its_digits_beside_an_offset(form, offset, monkeypatch):
    # Var(X) as the difference of mean square and squared mean has none left at 1e8.
    monkeypatch.setattr("widemargin.engine.kernels.ROWS", 7)  # blocks are joined, too
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(60, 3)) + offset, rng.uniform(0.1, 5.0, 60)
    for given in (np.ones(60), weights):
        assert_allclose(scale_gamma(form(X), given), exact_gamma(X, given), rtol=1e-11)
    X[rng.random(X.shape) < 0.5] = 0.0  # what a sparse matrix does not store
    expected = exact_gamma(X, weights)
    assert_allclose(scale_gamma(form(X), weights), expected, rtol=1e-11)


def test_gamma_scale_of_entries_stored_in_parts():
    parts = sparse.csr_matrix(([1.0, 2.0, 5.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    assert_allclose(scale_gamma(parts), scale_gamma(parts.toarray()), rtol=1e-14)
    assert parts.nnz == 3  # what was given is as it was


def test_an_overflow_of_the_variance_is_named():
    X = np.random.default_rng(0).uniform(-1, 1, size=(9, 2))
    for size in (1e200, 1e308):
        for form in (np.asarray, sparse.csr_matrix):
            with pytest.raises(ValueError, match="Var\\(X\\) is inf"):
                scale_gamma(form(size * X))

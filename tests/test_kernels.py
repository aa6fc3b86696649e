"""Which kernels are positive semidefinite: what convexity rests on; gamma="scale"."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from widemargin import SVC
from widemargin.gram import Gram
from widemargin.kernels import (
    CallableKernel,
    Gaussian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    scale_gamma,
)

CONVEX = [
    Linear(),
    Gaussian(0.5),
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


def test_an_update_follows_no_path_where_the_kernel_is_not_semidefinite():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=80) > 0).astype(int)
    routes = {}
    for coef0 in (1.0, -1.0):
        model = SVC(kernel="poly", gamma=0.5, coef0=coef0, keep_rows=True)
        model.fit(X[:70], y[:70])
        routes[coef0] = model.partial_fit(X[70:], y[70:]).history_[-1]["route"]
    assert routes == {1.0: "path", -1.0: "solve"}


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
    assert_allclose(scale_gamma(sparse.csr_matrix(varied)), expected, rtol=1e-2)

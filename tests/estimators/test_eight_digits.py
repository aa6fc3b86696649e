"""Objectives of the family are scikit-learn's to 1e-8.

LIBSVM stores kernel rows in float32: its coefficients solve a matrix that is off by
6e-8 of each entry, and that is what the objective of a fit on samples may differ by.
On a kernel matrix of float32 numbers nothing is lost, and both solve the same problem.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import svm
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

import widemargin

N = 120
KERNELS = [linear_kernel, rbf_kernel, polynomial_kernel]


def matrix(X, number):
    """Return a positive definite kernel matrix whose entries are float32 numbers."""
    K = KERNELS[number % 3](X, **({} if number % 3 == 0 else {"gamma": 0.4}))
    return (K + 2.0**-6 * np.eye(len(X))).astype(np.float32).astype(np.float64)


def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 3)) + 0.5
    number = X[:, 0] + np.sin(2 * X[:, 2]) + 0.3 * rng.standard_normal(N)
    label = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.9 + 0.4 * number, 1, -1)
    label[:20] = np.arange(20) % 2 * 2 - 1
    weights = rng.uniform(0.2, 3.0, N) if seed % 2 else np.ones(N)
    return matrix(X, seed), number, label, weights


def both(name, K, y, weights, **settings):
    """Return our model and all of scikit-learn's coefficients."""
    model = getattr(widemargin, name)(kernel="precomputed", **settings)
    peer = getattr(svm, name)(kernel="precomputed", tol=1e-10, **settings)
    full = np.zeros(N)
    peer.fit(K, y, sample_weight=weights)
    full[peer.support_] = peer.dual_coef_[0]
    model.fit(K, y, sample_weight=weights)
    assert model.certificate_.gap <= 1e-8 * max(1.0, abs(model.certificate_.objective))
    return model, peer, full


every_seed = pytest.mark.parametrize("seed", range(20))


@every_seed
def test_svr(seed):
    K, y, _, weights = problem(seed)
    settings = {"C": (0.5, 3.0)[seed % 2], "epsilon": (0.0, 0.1, 0.5)[seed // 3 % 3]}
    model, peer, beta = both("SVR", K, y, weights, **settings)
    theirs = y @ beta - model.epsilon * np.abs(beta).sum() - 0.5 * beta @ K @ beta
    assert_allclose(model.certificate_.objective, theirs, rtol=1e-8)
    assert_allclose(model.predict(K), peer.predict(K), atol=1e-6)


@every_seed
def test_nu_svr(seed):
    K, y, _, weights = problem(seed)
    settings = {"C": (0.5, 3.0)[seed % 2], "nu": (0.2, 0.5, 0.9)[seed // 3 % 3]}
    model, peer, beta = both("NuSVR", K, y, weights, **settings)
    theirs = y @ beta - 0.5 * beta @ K @ beta
    assert_allclose(model.certificate_.objective, theirs, rtol=1e-8)
    assert_allclose(model.predict(K), peer.predict(K), atol=1e-6)


@every_seed
def test_nu_svc(seed):
    K, _, y, weights = problem(seed)
    nu = (0.3, 0.4, 0.45)[seed // 3 % 3]
    model, _, beta = both("NuSVC", K, y, weights, nu=nu)
    rho = nu * weights.sum() / np.abs(beta).sum()  # LIBSVM's are in units of its margin
    theirs = -0.5 * rho**2 * (beta @ K @ beta)
    assert_allclose(model.certificate_.objective, theirs, rtol=1e-8)


@every_seed
def test_one_class(seed):
    K, _, _, weights = problem(seed)
    nu = (0.05, 0.3, 0.8)[seed // 3 % 3]
    model, _, beta = both("OneClassSVM", K, None, weights, nu=nu)
    theirs = -0.5 * (beta @ K @ beta)
    assert_allclose(model.certificate_.objective, theirs, rtol=1e-8)

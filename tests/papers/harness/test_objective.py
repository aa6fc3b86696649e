"""The judge: its figures against the package's certificate and against definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.datasets import load_iris

from widemargin import SVC
from widemargin.engine.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)
from widemargin.engine.solve import solve
from widemargin_papers.harness.contestants import CONTESTANTS, Settings
from widemargin_papers.harness.objective import (
    KernelChoice,
    best_intercept,
    judge,
    judge_linear,
    judge_pairs,
    kernel_block,
    kernel_times,
)

from tests.certified import kernel_matrix
from tests.problems import dual, small

CHOICES = [
    (KernelChoice("linear"), Linear()),
    (KernelChoice("rbf", 0.4), Gaussian(0.4)),
    (KernelChoice("laplacian", 0.4), Laplacian(0.4)),
    (KernelChoice("poly", 0.4, 2, 1.0), Polynomial(2, 0.4, 1.0)),
    (KernelChoice("sigmoid", 0.4, 3, 0.2), Sigmoid(0.4, 0.2)),
]


@pytest.mark.parametrize(("choice", "kernel"), CHOICES, ids=lambda c: str(c))
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_kernels_and_products(choice, kernel, form):
    X = np.random.default_rng(0).standard_normal((37, 4))
    given = sparse.csr_matrix(X) if form == "csr" else X
    K = kernel_matrix(kernel, X)
    assert_allclose(kernel_block(choice, given, given), K, atol=1e-12)
    beta = np.where(np.arange(37) % 3 == 0, 1.0, 0.0)
    assert_allclose(kernel_times(choice, given, beta), K @ beta, atol=1e-11)


def test_an_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match="none of linear"):
        kernel_block(KernelChoice("cubic"), np.ones((1, 1)), np.ones((1, 1)))


@pytest.mark.parametrize("seed", range(10))
def test_the_intercept_is_the_best_one(seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(30) < 0.4, 1.0, -1.0)
    values, costs = rng.standard_normal(30), rng.uniform(0.1, 2, 30)

    def hinge(b):
        return float(costs @ np.maximum(0, 1 - y * (values + b)))

    b = best_intercept(y - values, y, costs)
    best = minimize_scalar(hinge, bounds=(-10, 10), method="bounded").fun
    assert hinge(b) <= best + 1e-7


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_judgement_is_the_certificate(seed, fit_intercept):
    named = small(seed, n=70)
    solution = solve(dual(named, fit_intercept=fit_intercept))
    certificate = solution.certificate
    judgement = judge(
        KernelChoice("rbf", 0.5),
        named.X,
        named.y,
        named.cost,
        solution.beta,
        intercept=fit_intercept,
    )
    assert_allclose(judgement.objective, certificate.objective, rtol=1e-6)
    assert_allclose(judgement.bound, certificate.bound, rtol=1e-6)
    assert_allclose(judgement.gap, certificate.gap, atol=1e-4)
    assert judgement.infeasible <= 1e-12


def test_an_infeasible_answer_is_put_inside_and_reported():
    named = small(1)
    judgement = judge(KernelChoice("rbf", 0.5), named.X, named.y, 1.0, 5.0 * named.y)
    assert judgement.infeasible >= 4.0
    assert judgement.gap >= 0.0


@pytest.mark.parametrize("library", ["widemargin", "scikit-learn"])
def test_several_classes_are_judged_pair_by_pair(library):
    X, y = load_iris(return_X_y=True)
    settings = Settings(C=2.0, gamma=0.5)
    contestant = CONTESTANTS[library]
    beta = contestant.answer(contestant.build(settings).fit(X, y), len(y))

    def judge_pair(X, y, beta):
        return judge(KernelChoice("rbf", 0.5), X, y, 2.0, beta)

    judgement = judge_pairs(judge_pair, X, y, beta)
    pairs = SVC(C=2.0, gamma=0.5).fit(X, y).certificate_
    objective, bound = sum(p.objective for p in pairs), sum(p.bound for p in pairs)
    assert_allclose(judgement.objective, objective, rtol=2e-3)
    assert_allclose(judgement.bound, bound, rtol=2e-3)
    assert judgement.infeasible <= 1e-2
    worse = judge_pairs(judge_pair, X, y, beta[::-1])
    assert worse.gap > 10 * judgement.gap + 1.0


def test_linear_objective():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    value = judge_linear(X, y, 3.0, np.array([0.5, 0.0]), 0.25)
    assert_allclose(value, 0.125 + 3.0 * (0.25 + 1.25))

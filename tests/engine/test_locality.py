"""Narrow Gaussian kernels: far entries are neither evaluated nor kept nor missed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Precomputed
from widemargin.engine.problem import DualProblem, classification_problem
from widemargin.engine.solve import solve

from tests.certified import assert_certified, kernel_matrix


def map_of_two_classes(n, seed=0):
    """Points on a map, of classes that take turns from place to place."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    wave = np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]) + 0.3 * rng.standard_normal(n)
    return X, np.where(wave > 0, 1.0, -1.0)


def table_of_categories(n, seed=0):
    """Two numbers and three categories, one column a category (as covtype has them)."""
    rng = np.random.default_rng(seed)
    numbers = rng.random((n, 2))
    kinds = [np.eye(k)[rng.integers(0, k, n)] for k in (8, 6, 4)]
    X = np.hstack([numbers, *kinds])
    score = numbers[:, 0] - numbers[:, 1] + X @ rng.standard_normal(X.shape[1])
    return X, np.where(score + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)


PROBLEMS = {
    # gamma, most entries evaluated in units of n x n_SV
    "map": (map_of_two_classes, 3000.0, 1.2),
    "categories": (table_of_categories, 40.0, 0.4),
}
N = 4200


def solved(name, *, threads=1, cache_mb=400):
    make, gamma, _ = PROBLEMS[name]
    X, y = make(N)
    gram = Gram(X, Gaussian(gamma), threads=threads, cache_mb=cache_mb)
    return solve(classification_problem(gram, y, 10.0)), gram


def formula(name):
    make, gamma, _ = PROBLEMS[name]
    return kernel_matrix(Gaussian(gamma), make(N)[0])


@pytest.mark.parametrize("name", PROBLEMS)
def test_few_entries_are_evaluated_and_the_certificate_holds(name):
    solution, gram = solved(name)
    assert_certified(solution, formula(name))
    needed = len(gram) * solution.support.size
    assert gram.evaluated <= PROBLEMS[name][2] * needed, gram.entries


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_answer_is_that_of_all_entries(name):
    """Of a given matrix nothing is left out."""
    K = formula(name)
    local, _ = solved(name)
    problem = local.problem
    box = problem.linear, problem.lower, problem.upper, problem.total
    whole = solve(DualProblem(Gram(K, Precomputed(), threads=1), *box))
    objectives = [
        0.5 * s.beta @ K @ s.beta - problem.linear @ s.beta for s in (local, whole)
    ]
    assert_allclose(objectives[0], objectives[1], rtol=1e-5)
    assert_allclose(K @ local.beta, K @ whole.beta, atol=0.02)


@pytest.mark.parametrize("cache_mb", [400, 2])
@pytest.mark.parametrize("name", PROBLEMS)
def test_results_do_not_depend_on_threads(name, cache_mb):
    one, first = solved(name, cache_mb=cache_mb)
    two, second = solved(name, cache_mb=cache_mb, threads=2)
    assert_array_equal(one.beta, two.beta)
    assert one.certificate.objective == two.certificate.objective
    assert one.certificate.bound == two.certificate.bound
    assert one.certificate.kkt_violation == two.certificate.kkt_violation
    assert first.entries == second.entries


def test_samples_far_from_the_others_are_local_too():
    """Their rows are evaluated by differences; the cache is a small one."""
    X, y = map_of_two_classes(N)
    X[::30] += 50.0
    kernel = Gaussian(3000.0)
    gram = Gram(X, kernel, threads=1, cache_mb=1)
    solution = solve(classification_problem(gram, y, 10.0))
    assert_certified(solution, kernel_matrix(kernel, X), rounding=2e-3)
    assert gram.evaluated <= 5.0 * len(gram) * solution.support.size, gram.entries


def test_products_leave_negligible_entries_out():
    X, y = map_of_two_classes(6000)
    gram = Gram(X, Gaussian(3000.0), threads=1, cache_mb=1)
    K = kernel_matrix(Gaussian(3000.0), X)
    values = gram.times(y)
    assert gram.evaluated < 0.3 * 6000 * 6000
    assert_allclose(values, K @ y, atol=1e-9)
    assert_allclose(gram.roughly_times(y), K @ y, atol=2e-3)
    rows = gram.rows(np.arange(0, 6000, 20))
    assert_allclose(rows, K[::20], atol=1e-12)


def test_a_tube_on_a_map():
    X, _ = map_of_two_classes(N)
    targets = np.sin(20 * X[:, 0]) + X[:, 1]
    kernel = Gaussian(2000.0)
    gram = Gram(X, kernel, threads=1, cache_mb=400)
    C, tube = np.full(N, 3.0), np.full(N, 0.05)
    solution = solve(DualProblem(gram, targets, -C, C, 0.0, tube))
    assert_certified(solution, kernel_matrix(kernel, X))

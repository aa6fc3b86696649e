"""The engine on what is degenerate, turned round or repeated (mathematics 7)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Linear, Polynomial, Sigmoid
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions

from tests.certified import assert_certified, kernel_matrix, objective
from tests.oracles.generic_qp import solve_clarabel
from tests.problems import Named, dual, small


@pytest.mark.parametrize("coef0", [-1.0, 0.0, 2.0])
def test_an_indefinite_kernel_ends_safely(coef0):
    named = small(6, n=80)
    gram = Gram(named.X, Sigmoid(1.0, coef0))
    solution = solve(
        classification_problem(gram, named.y, 1.0), SolveOptions(max_iter=20_000)
    )
    problem = solution.problem
    assert np.isfinite(solution.beta).all()
    assert (solution.beta >= problem.lower).all()
    assert (solution.beta <= problem.upper).all()
    assert solution.status in ("converged", "polished", "max_iter", "stalled")


def test_permuting_the_samples_permutes_the_answer():
    named = small(8, n=200)
    order = np.random.default_rng(0).permutation(200)
    straight = solve(dual(named), SolveOptions(exact=True))
    shuffled = Named(
        "", named.X[order], named.y[order], named.kernel, named.cost[order]
    )
    turned = solve(dual(shuffled), SolveOptions(exact=True))
    K = kernel_matrix(named.kernel, named.X[order])
    assert_certified(turned, K, tol=1e-8)
    assert_allclose(turned.values, straight.values[order], atol=1e-8)
    assert_allclose(turned.intercept, straight.intercept, atol=1e-8)


def test_swapping_the_labels_swaps_the_sign():
    named = small(9, n=200)
    straight = solve(dual(named), SolveOptions(exact=True))
    swapped = solve(
        dual(Named("", named.X, -named.y, named.kernel, named.cost)),
        SolveOptions(exact=True),
    )
    assert_certified(swapped, kernel_matrix(named.kernel, named.X), tol=1e-8)
    assert_allclose(swapped.values, -straight.values, atol=1e-8)
    assert_allclose(swapped.intercept, -straight.intercept, atol=1e-8)


def test_cost_k_is_the_sample_k_times():
    named = small(10, n=60)
    times = np.random.default_rng(0).integers(1, 4, 60)
    rows = np.repeat(np.arange(60), times)
    heavy = Named("", named.X, named.y, named.kernel, 0.7 * times)
    many = Named("", named.X[rows], named.y[rows], named.kernel, 0.7)
    one = solve(dual(heavy), SolveOptions(exact=True))
    other = solve(dual(many), SolveOptions(exact=True))
    assert_certified(one, kernel_matrix(named.kernel, named.X), tol=1e-8)
    K = kernel_matrix(named.kernel, named.X[rows])
    assert_certified(other, K, tol=1e-8)
    assert_allclose(one.values[rows], other.values, atol=1e-7)
    assert_allclose(one.intercept, other.intercept, atol=1e-7)


def test_one_class_returns_at_once():
    X = np.random.default_rng(0).standard_normal((10, 2))
    gram = Gram(X, Gaussian(1.0))
    for sign in (1.0, -1.0):
        solution = solve(classification_problem(gram, np.full(10, sign), 1.0))
        assert_array_equal(solution.beta, np.zeros(10))
        assert solution.intercept == sign
        assert_certified(solution, kernel_matrix(Gaussian(1.0), X))


def test_two_points():
    X = np.array([[0.0], [2.0]])
    gram = Gram(X, Linear())
    solution = solve(
        classification_problem(gram, np.array([-1.0, 1.0]), 10.0),
        SolveOptions(exact=True),
    )
    assert_certified(solution, X @ X.T, tol=1e-9)
    assert_allclose(solution.beta, [-0.5, 0.5])
    assert_allclose(solution.intercept, -1.0)


@pytest.mark.parametrize(
    "X",
    [np.zeros((20, 3)), np.ones((20, 3)), np.repeat([[1.0, 2.0]], 20, axis=0)],
    ids=["zero", "one", "equal"],
)
@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0), Polynomial(3, 1.0, 0.0)])
def test_samples_that_are_all_the_same(X, kernel):
    y = np.where(np.arange(20) % 4 == 0, 1.0, -1.0)
    solution = solve(
        classification_problem(Gram(X, kernel), y, 1.0), SolveOptions(exact=True)
    )
    assert_certified(solution, kernel_matrix(kernel, X), tol=1e-8)
    assert_allclose(solution.values + solution.intercept, -1.0, atol=1e-6)


def test_duplicates_with_opposite_labels():
    X = np.repeat(np.random.default_rng(0).standard_normal((15, 2)), 2, axis=0)
    y = np.tile([1.0, -1.0], 15)
    solution = solve(classification_problem(Gram(X, Gaussian(1.0)), y, 2.0))
    assert_certified(solution, kernel_matrix(Gaussian(1.0), X))
    assert solution.certificate.objective <= 2 * 15 * 2.0 + 1e-6


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("gamma", [1e-8, 1e-3, 1.0, 1e3])
def test_extreme_costs_and_widths(C, gamma):
    named = small(11, n=60, kernel=Gaussian(gamma))
    problem = classification_problem(Gram(named.X, named.kernel), named.y, C)
    K = kernel_matrix(named.kernel, named.X)
    theirs = solve_clarabel(
        K, problem.linear, problem.lower, problem.upper, problem.total
    )
    ours = solve(problem)
    assert_certified(ours, K, rounding=1e-3)
    exact = solve(problem, SolveOptions(exact=True))
    best = objective(K, theirs, named.y)
    assert objective(K, exact.beta, named.y) <= best + 1e-6 * abs(best)

"""Solving with a kink at zero: certified, and equal to two members a sample."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.certificate import violation
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Linear, Polynomial
from widemargin.engine.path import Start, reach, repair
from widemargin.engine.problem import DualProblem
from widemargin.engine.screening.screener import Screener
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.split_variables import by_sides
from widemargin.multilevel.driver import Plan, solve_divided
from widemargin.multilevel.level import Limits

from tests.certified import assert_certified, kernel_matrix

KERNELS = [Gaussian(0.5), Polynomial(2, 0.5, 1.0), Linear()]
EXACT = SolveOptions(exact=True)


def tube(seed, n, kernel=KERNELS[0], *, total=0.0, epsilon=0.1, cost=3.0, threads=1):
    """Return a regression with weights, unequal boxes and kinks that differ."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.standard_normal(n)
    costs = cost * rng.uniform(0.2, 2.0, n)
    kink = epsilon * rng.choice([0.0, 1.0, 1.0, 3.0], n)
    gram = Gram(X, kernel, threads=threads)
    return DualProblem(gram, y, -costs, costs * rng.uniform(0, 2, n), total, kink)


@pytest.mark.parametrize("total", [0.0, 1.5, None])
@pytest.mark.parametrize("kernel", KERNELS)
def test_it_equals_two_members_a_sample(kernel, total):
    problem = tube(5, 120, kernel, total=total)
    solution, twofold = solve(problem, EXACT), solve(by_sides(problem), EXACT)
    K = kernel_matrix(kernel, problem.gram.samples)
    assert_certified(solution, K, tol=1e-6)
    assert solution.status.value == twofold.status.value == "polished"
    ours = solution.values + solution.intercept
    theirs = twofold.values[:120] + twofold.intercept
    assert_allclose(ours, theirs, atol=1e-9)
    mine, other = solution.certificate, twofold.certificate
    assert_allclose(mine.objective, other.objective, rtol=1e-9)
    assert_allclose(mine.bound, other.bound, rtol=1e-9)
    at_kink = (solution.beta == 0.0) & (problem.kink > 0.0)
    assert 0 < np.count_nonzero(at_kink) < 120


@pytest.mark.parametrize("total", [0.0, None])
@pytest.mark.parametrize("epsilon", [1e-3, 0.3])
@pytest.mark.parametrize("cost", [0.01, 30.0])
def test_a_solve_to_a_tolerance_is_certified(cost, epsilon, total):
    problem = tube(1, 250, total=total, epsilon=epsilon, cost=cost)
    K = kernel_matrix(problem.gram.kernel, problem.gram.samples)
    for tol in (1e-3, 1e-7):
        solution = solve(problem, SolveOptions(tol=tol))
        assert_certified(solution, K, tol=tol)
        plain = solve(problem, SolveOptions(tol=tol, shrinking=False))
        assert_certified(plain, K, tol=tol)


@pytest.mark.parametrize("total", [0.0, None])
def test_stages_shrinking_and_skipped_gradients_leave_a_true_certificate(total):
    """More samples than a first stage; every value is summed again here."""
    problem = tube(2, 6000, total=total, epsilon=0.3)
    solution = solve(problem)
    assert solution.evidence is not None and solution.stale is not None
    fresh = problem.gram.times(solution.beta)
    assert violation(problem, solution.beta, fresh) <= 1e-3
    assert_allclose(solution.certificate.kkt_violation, 1e-3, atol=1e-3)
    other = solve(tube(2, 6000, total=total, epsilon=0.3, threads=2))
    assert_array_equal(solution.beta, other.beta)


def test_a_kink_of_zero_is_none_and_a_wide_one_leaves_nothing():
    problem = tube(3, 200)
    box = problem.gram, problem.linear, problem.lower, problem.upper, 0.0
    none = solve(DualProblem(*box), EXACT)
    zero = solve(DualProblem(*box, np.zeros(200)), EXACT)
    assert_allclose(
        zero.values + zero.intercept, none.values + none.intercept, atol=1e-9
    )
    wide = solve(DualProblem(*box, np.full(200, 1e3)), EXACT)
    assert not wide.beta.any() and wide.certificate.objective < 1e-300


def test_it_goes_on_from_another_solution_and_through_clusters():
    problem = tube(4, 900)
    K = kernel_matrix(problem.gram.kernel, problem.gram.samples)
    cold = solve(problem)
    narrower = DualProblem(
        problem.gram, problem.linear, problem.lower, problem.upper, 0.0,
        0.9 * problem.kink,
    )  # fmt: skip
    assert_certified(solve(narrower, start=cold), K)
    again = solve(problem, start=cold)
    assert again.n_iter < cold.n_iter / 10
    divided = solve_divided(
        problem, Plan(2, seed=0), SolveOptions(), Limits.of(problem.gram)
    )
    assert_certified(divided, K)


def test_the_path_repairs_it_by_sides():
    problem = tube(6, 150)
    K = kernel_matrix(problem.gram.kernel, problem.gram.samples)
    near = solve(problem, SolveOptions(tol=1e-2))
    reached, beta, account = repair(near)
    assert reached is not None and account.steps > 0
    assert_array_equal(reached.beta, beta)
    assert_certified(reached, K, tol=1e-9)
    with pytest.raises(ValueError, match="a path knows no kink"):
        reach(Start.of(near), problem)


def test_what_knows_no_kink_says_so():
    problem = tube(7, 30)
    for options in (
        SolveOptions(selection="second_order"),
        SolveOptions(screen=Screener()),
    ):
        with pytest.raises(ValueError, match="know no kink"):
            solve(problem, options)


@pytest.mark.parametrize("total", [0.0, None])
def test_newton_in_the_primal_starts_it_by_sides(total):
    """A linear kernel with enough samples for Newton steps in the primal."""
    problem = tube(8, 5000, Linear(), total=total)
    solution = solve(problem)
    values = kernel_matrix(Linear(), problem.gram.samples) @ solution.beta
    assert violation(problem, solution.beta, values) <= 1e-3
    assert solution.n_iter < 500


def test_a_path_ends_what_creeps():
    """On unscaled features pair steps took 20,000 a sample, and did not get there."""
    rng = np.random.default_rng(4)
    X = 300.0 * rng.standard_normal((300, 6))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(300)
    costs = np.full(300, 100.0)
    gram = Gram(X, Linear())
    problem = DualProblem(gram, y, -costs, costs, 0.0, np.full(300, 0.1))
    solution = solve(problem)
    values = kernel_matrix(Linear(), X) @ solution.beta
    assert violation(problem, solution.beta, values) <= 1e-3
    assert solution.n_iter < 200 * problem.n

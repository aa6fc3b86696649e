"""The dual problem: shape checks, the C-SVC builder, the reduced problem."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import DualProblem, classification_problem, only_point
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions

from tests.certified import assert_certified, kernel_matrix, objective
from tests.problems import dual, small


@pytest.fixture
def gram():
    rng = np.random.default_rng(0)
    return Gram(rng.standard_normal((6, 2)), Gaussian(1.0))


def test_classification_problem_has_the_signed_box(gram):
    y = np.array([1, -1, 1, -1, 1, -1])
    costs = np.arange(1.0, 7.0)
    problem = classification_problem(gram, y, costs)
    assert_array_equal(problem.linear, y)
    assert_array_equal(problem.lower, [0, -2, 0, -4, 0, -6])
    assert_array_equal(problem.upper, [1, 0, 3, 0, 5, 0])
    assert problem.total == 0.0 and problem.n == 6
    assert classification_problem(gram, y, 2.0, fit_intercept=False).total is None


def test_shapes_are_refused_by_name(gram):
    six, five = np.zeros(6), np.zeros(5)
    with pytest.raises(ValueError, match=r"linear has shape \(5,\).*6 samples"):
        DualProblem(gram, five, six, six, None)
    with pytest.raises(ValueError, match="lower has shape"):
        DualProblem(gram, six, five, six, None)
    with pytest.raises(ValueError, match="upper has shape"):
        DualProblem(gram, six, six, five, None)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_values_are_refused(gram, bad):
    six, broken = np.zeros(6), np.full(6, bad)
    with pytest.raises(ValueError, match="NaN or infinity"):
        DualProblem(gram, broken, six, six, None)


def test_an_empty_box_and_an_unreachable_sum_are_refused(gram):
    six, one = np.zeros(6), np.ones(6)
    with pytest.raises(ValueError, match="lower must not exceed upper"):
        DualProblem(gram, six, one, six, None)
    with pytest.raises(ValueError, match="cannot be reached"):
        DualProblem(gram, six, six, one, 7.0)
    assert DualProblem(gram, six, six, one, 6.0).total == 6.0


def test_problem_is_frozen(gram):
    problem = classification_problem(gram, np.array([1, -1] * 3), 1.0)
    with pytest.raises(AttributeError):
        problem.total = 1.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_reduced_problem_reproduces_the_full_optimum(seed, fit_intercept):
    # mathematics 0, last row of the table: fix some members at the optimum,
    # solve for the rest, and the whole is optimal again.
    named = small(seed)
    K = kernel_matrix(named.kernel, named.X)
    problem = dual(named, fit_intercept=fit_intercept)
    full = solve(problem, SolveOptions(exact=True))
    assert_certified(full, K, tol=1e-8)
    rng = np.random.default_rng(seed)
    active = np.sort(rng.choice(problem.n, 25, replace=False))
    reduced = problem.reduced(active, full.beta)
    assert reduced.n == 25
    again = solve(reduced, SolveOptions(exact=True))
    assert_certified(again, K[np.ix_(active, active)], tol=1e-8)
    whole = full.beta.copy()
    whole[active] = again.beta
    assert_allclose(
        objective(K, whole, named.y), objective(K, full.beta, named.y), rtol=1e-10
    )


@pytest.mark.parametrize("unit", [1.0, 1e-13, 1e13])
def test_the_only_point_of_a_box_and_a_sum(unit):
    """Whatever the unit of the costs, and up to the rounding of sums."""
    upper = unit * np.random.default_rng(0).uniform(0.1, 1.0, 1000)
    lower = np.zeros(1000)
    most = float(upper.sum())
    sums_of_parts = float(upper[:300].sum()) + float(upper[300:].sum())
    assert_array_equal(only_point(lower, upper, 0.0), lower)
    assert_array_equal(only_point(-upper, lower, 0.0), lower)
    assert_array_equal(only_point(lower, upper, most), upper)
    assert_array_equal(only_point(lower, upper, sums_of_parts), upper)
    for total in (0.5 * most, 1e-9 * most, (1 - 1e-9) * most, None):
        assert only_point(lower, upper, total) is None


def test_nobody_has_one_point():
    assert only_point(np.zeros(0), np.zeros(0), None).size == 0


def test_one_point_is_feasible_only_where_the_sums_themselves_say_so():
    """Weights of twelve orders: the light class is not rounding of the heavy one."""
    lower = np.append(0.0, np.full(200, -1e6))
    upper = np.append(1e-6, np.zeros(200))
    assert only_point(lower, upper, 0.0) is None
    assert_allclose(only_point(np.zeros(3), np.ones(3), 0.0), np.zeros(3))
    assert_allclose(only_point(-np.ones(3), np.zeros(3), -3.0), -np.ones(3))

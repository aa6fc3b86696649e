"""Solving with a second sum: both sums kept, and the multiplier where sides meet."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin.engine.certificate import violation
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import DualProblem, SecondSum
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions


def two_classes(n, share):
    """Return the problem at margin 1 and a start that has `share` of either class."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 4))
    signs = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    gram = Gram(X, Gaussian(0.3))
    box = np.minimum(signs, 0.0), np.maximum(signs, 0.0)
    half = share * min(np.sum(signs > 0), np.sum(signs < 0))
    start = np.where(signs > 0, half / np.sum(signs > 0), -half / np.sum(signs < 0))
    return DualProblem(gram, signs, *box, 0.0), start


def tube(n, share):
    """Return a regression at some tube, and a start that spends a share of its box."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 4))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    ones = np.ones(n)
    start = np.where(y > np.median(y), share, -share)
    start[np.argsort(y)[n // 2]] = 0.0 if n % 2 else start[np.argsort(y)[n // 2]]
    problem = DualProblem(Gram(X, Gaussian(0.3)), y, -ones, ones, 0.0, 0.01 * ones)
    return problem, start - start.mean()


@pytest.mark.parametrize("n", [300, 2600])  # all in one working set, and several
@pytest.mark.parametrize("make", [two_classes, tube])
def test_both_sums_are_kept_and_the_solution_is_optimal(make, n):
    problem, start = make(n, 0.4)
    second = SecondSum(has_margin=make is two_classes)
    found = solve(problem, SolveOptions(second_sum=second, certify=False), start=start)
    assert found.converged
    assert_allclose(found.beta.sum(), 0.0, atol=1e-9)
    assert_allclose(np.abs(found.beta).sum(), np.abs(start).sum(), rtol=1e-12)
    # of the plain problem at the multiplier found it is a solution
    unit = abs(found.problem.linear[0]) if second.has_margin else 1.0
    values = problem.gram.times(found.beta)
    assert violation(found.problem, found.beta, values) <= 1.001e-3 * unit
    plain = solve(found.problem, SolveOptions(tol=1e-5))
    mine, best = found.certificate, plain.certificate
    assert mine.bound <= best.objective and best.bound <= mine.objective
    assert mine.gap <= 1e-3 * abs(best.objective)


def test_any_number_of_threads_gives_the_same_point():
    problem, start = two_classes(2600, 0.3)
    points = []
    for threads in (1, 3):
        gram = Gram(problem.gram.samples, Gaussian(0.3), threads=threads)
        own = DualProblem(gram, problem.linear, problem.lower, problem.upper, 0.0)
        options = SolveOptions(second_sum=SecondSum(has_margin=True))
        points.append(solve(own, options, start=start))
    np.testing.assert_array_equal(points[0].beta, points[1].beta)
    np.testing.assert_array_equal(points[0].problem.linear, points[1].problem.linear)

"""Vertices of the feasible set: the least of a linear function, ties by number."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from widemargin.engine.feasible import lowest_vertex, project
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import DualProblem


def problem_of(lower, upper, total, seed=0):
    X = np.random.default_rng(seed).standard_normal((lower.size, 2))
    gram = Gram(X, Gaussian(0.5), cache_mb=1)
    return DualProblem(gram, np.zeros(lower.size), lower, upper, total)


@pytest.mark.parametrize("seed", range(20))
def test_no_feasible_point_has_a_lower_value(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    lower, upper = -rng.uniform(0, 1, n), rng.uniform(0, 2, n)
    if seed % 2:
        lower, upper = np.full(n, -0.5), np.full(n, 0.25)
    share = (0.0, 1.0, rng.uniform())[seed % 3]
    total = float(lower.sum() + share * (upper - lower).sum())
    gradient = np.round(rng.standard_normal(n), seed % 4)  # some are equal
    beta = lowest_vertex(problem_of(lower, upper, total), gradient)
    assert np.all((lower <= beta) & (beta <= upper))
    assert_allclose(beta.sum(), total, atol=1e-12)
    assert np.count_nonzero((lower < beta) & (beta < upper)) <= 1 + (share in (0, 1))
    best = linprog(
        gradient,
        A_eq=np.ones((1, n)),
        b_eq=[total],
        bounds=np.stack([lower, upper], axis=1),
    )
    assert_allclose(gradient @ beta, best.fun, atol=1e-9)


@pytest.mark.parametrize("widths", [np.ones(6), np.array([1.0, 2, 1, 2, 1, 2])])
def test_of_equal_gradients_the_first_are_taken(widths):
    problem = problem_of(np.zeros(6), widths, 3.5)
    gradient = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    beta = lowest_vertex(problem, gradient)
    expected = [1, 1, 0.5, 1, 0, 0] if widths[1] == 1 else [0, 2, 0, 1.5, 0, 0]
    assert_array_equal(beta, expected)


def test_rounding_of_the_sum_takes_no_member_from_its_kink():
    """Members at zero, as of a tube, have more room to their bounds than any other."""
    beta = np.array([0.0, 0.7, -0.7 + 1e-15, 0.0, 1.0, -1.0])
    box = np.full(6, -1.0), np.ones(6)
    settled = project(beta, *box, 0.0, kinked=True)
    assert settled.sum() == 0.0
    assert_array_equal(settled[[0, 3, 4, 5]], beta[[0, 3, 4, 5]])

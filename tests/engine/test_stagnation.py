"""Solves whose precision is exhausted end by themselves, slow ones go on."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Linear, Polynomial
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.stagnation import DOUBLINGS, Stagnation
from widemargin.runtime.deadline import Deadline

from tests.problems import dual, small


@pytest.mark.parametrize(
    ("kernel", "offset", "seed"),
    [(Linear(), 1e7, 0), (Polynomial(2, 0.01, 1.0), 3e5, 2)],
)
def test_a_hopeless_solve_ends_by_itself(kernel, offset, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(offset, 1.0, (38, 3)), rng.choice([-1.0, 1.0], 38)
    problem = classification_problem(Gram(X, kernel), y, 1.4, fit_intercept=False)
    limited = SolveOptions(exact=True, deadline=Deadline.after(30.0))
    solution = solve(problem, limited)
    assert solution.status == "stalled"
    assert solution.n_iter <= 20_000 * problem.n


def points(problem, violations):
    """Gradients that violate by so much, at the point zero."""
    signs = np.where(problem.linear > 0, -1.0, 1.0)
    return [0.5 * violation * signs for violation in violations]


def verdicts(violations):
    problem = dual(small(3, n=20))
    stagnation, everyone = Stagnation(problem), np.ones(problem.n, dtype=bool)
    return [
        stagnation.reached(np.zeros(problem.n), gradient, everyone)
        for gradient in points(problem, violations)
    ]


def test_a_violation_that_falls_is_progress():
    assert not any(verdicts(0.95 ** np.arange(40)))


def test_a_violation_that_stays_is_none():
    assert verdicts(np.ones(DOUBLINGS + 1)) == [False] * DOUBLINGS + [True]


def test_a_violation_of_the_size_of_its_rounding_is_the_end():
    X, y = np.full((20, 2), 1e7), np.resize([1.0, -1.0], 20)
    problem = classification_problem(Gram(X, Linear()), y, 1.0)
    beta, everyone = 0.5 * y, np.ones(20, dtype=bool)
    small, large = points(problem, [1e-3, 1e9])
    assert Stagnation(problem).reached(beta, small, everyone)
    assert not Stagnation(problem).reached(beta, large, everyone)

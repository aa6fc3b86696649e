"""Where many rows tie on the margin: kernels of few dimensions, optima with w = 0."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin import _core
from widemargin.engine import path, updates
from widemargin.engine.bounded_values import BoundedValues
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Linear, Polynomial
from widemargin.engine.path.dependent_rows import independent, rank_bound
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status

from tests.certified import assert_certified, kernel_matrix


def tied(n, kernel, *, equality=True, seed=0):
    """Return a problem whose optimum is w = 0: one class is cheap, the other dear.

    All negatives then lie on the margin, and any of many points is optimal.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    signs = np.where(rng.random(n) < 0.1, 1.0, -1.0)
    ends = np.where(signs > 0, 1.0, -7.0)
    linear = np.where(signs > 0, 1.0, -1.0 / 7.0)
    total = 0.0 if equality else None
    bounds = np.minimum(ends, 0), np.maximum(ends, 0)
    return X, DualProblem(Gram(X, kernel), linear, *bounds, total)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 1.0, 1.0)], ids=str)
@pytest.mark.parametrize("equality", [True, False])
def test_dependent_rows_are_exchanged_away_and_nothing_else_changes(kernel, equality):
    X, problem = tied(900, kernel, equality=equality)
    # a feasible point with every row inside: w is whatever it is
    beta = 0.01 * np.sign(problem.upper + problem.lower)
    positives = beta > 0
    beta[positives] = 0.01 * (~positives).sum() / positives.sum()
    near = Solution(
        problem, beta, problem.gram.times(beta), Status.CONVERGED, exact=True
    )
    assert near.margin.size == 900 > rank_bound(problem)
    spared = independent(near)
    assert spared.margin.size <= rank_bound(problem)
    assert_allclose(spared.values, near.values, atol=1e-9)
    assert_allclose(spared.values, kernel_matrix(kernel, X) @ spared.beta, atol=1e-9)
    assert (spared.beta >= problem.lower).all()
    assert (spared.beta <= problem.upper).all()
    if equality:
        assert_allclose(spared.beta.sum(), beta.sum(), atol=1e-10)


def test_independent_rows_are_left_alone():
    _, problem = tied(60, Gaussian(5.0))
    assert rank_bound(problem) == 60
    solved = solve(problem, SolveOptions(exact=True))
    assert independent(solved) is solved
    _, flat = tied(60, Linear())
    spared = independent(solve(flat, SolveOptions(exact=True)))
    assert independent(spared) is spared


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 1.0, 1.0)], ids=str)
def test_a_tied_optimum_is_reached_without_a_step_for_every_row(kernel):
    X, problem = tied(3000, kernel)
    solved, account = updates.fresh(problem)
    assert account.steps < 100  # there were thousands: one for each tied row, and more
    assert solved.margin.size <= rank_bound(problem)
    assert_certified(solved, kernel_matrix(kernel, X), tol=1e-8, rounding=1e-9)


def test_adding_to_a_model_that_left_its_ties_inside():
    X, problem = tied(1200, Linear())
    old = problem.gram.subset(np.arange(1150))
    start = DualProblem(
        old, problem.linear[:1150], problem.lower[:1150], problem.upper[:1150], 0.0
    )
    solved = solve(start, SolveOptions(exact=True))
    moved, account = updates.add(solved, problem, updates.UpdateOptions(route="path"))
    assert account.exchanges < 100  # the ties were gone before the path began
    assert_certified(moved, kernel_matrix(Linear(), X), tol=1e-8, rounding=1e-9)


def one_newcomer(upper, gradient):
    """Follow the box of one newcomer opening beside two rows of the margin set."""
    K = np.array([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    low, high = np.array([-5.0, -5.0, 0.0]), np.array([5.0, 5.0, 0.0])
    *_, counts = _core.follow_path(
        np.zeros(3), np.array([0.0, 0.0, gradient]), np.diag(K).copy(), low, high,
        low, np.array([5.0, 5.0, upper]), np.zeros(3), K[2] * upper,
        np.array([2, 2, 1], np.int8), True, 0.0, 1.0, lambda row: K[row].copy(), 50, 0,
    )  # fmt: skip
    return counts


def test_the_last_stretch_is_a_step_only_if_a_row_still_moves():
    """As in the paper's loop, which runs while newcomers are on their way."""
    assert one_newcomer(upper=0.1, gradient=-1.0)["steps"] == 1  # to its bound
    # K_nn + K_MM/4 ... = 3: the gradient 1 is used up at 1/3, where the row stays
    assert one_newcomer(upper=1.0, gradient=-1.0)["steps"] == 1
    assert one_newcomer(upper=0.0, gradient=-1.0)["steps"] == 0


def test_a_sum_that_misses_by_rounding_asks_for_no_step():
    """Added up, 0.1 + 0.2 - 0.3 is not 0: the total has to move by 5e-17.

    That was counted as a last stretch on which no row moves; one by one again for
    every row, which flattered the chunk.
    """
    beta = np.array([0.1, 0.2, -0.3, 0.0])
    assert beta.sum() != 0.0
    linear, wide = 2 * beta + [0.0, 0.0, 0.0, 1.0], np.array([5.0, 5.0, 5.0, 0.0])
    gram = Gram(np.sqrt(2.0) * np.eye(4), Linear())
    values = BoundedValues(gram.times(beta), np.zeros(4), np.ones(4, dtype=bool))
    start = path.Start(beta, values, -wide, wide, linear, 0.0)
    opened = np.array([5.0, 5.0, 5.0, 1.0])
    target = DualProblem(gram, linear, -wide, opened, 0.0)
    moved, _, account = path.reach(start, target)
    assert account.steps == 1  # the newcomer ends inside its box: it enters, no more
    assert_certified(moved, 2 * np.eye(4), tol=1e-12)


def before(problem, n):
    """Return the problem on the first n rows."""
    bounds = problem.lower[:n], problem.upper[:n]
    gram = problem.gram.subset(np.arange(n))
    return DualProblem(gram, problem.linear[:n], *bounds, 0.0)


@pytest.mark.parametrize("seed", range(6))
def test_newcomers_that_tie_up_to_rounding_ask_for_no_step(seed):
    """Where w = 0 the gradient of a new negative is rounding, of either sign.

    Rounding sent them on their way all the same, and each came back by events of its
    own: the chunk took many times the steps of its rows one by one, which stayed.
    """
    X, problem = tied(450, Linear(), seed=seed)
    solved, _ = updates.fresh(before(problem, 400))
    assert np.abs(solved.values).max() < 1e-9  # w = 0
    together, chunk = updates.add(solved, problem, updates.UpdateOptions(route="path"))
    single = 0
    for n in range(401, 451):
        solved, account = updates.add(
            solved, before(problem, n), updates.UpdateOptions(route="path")
        )
        single += account.steps
    assert 0 < chunk.steps <= single
    for moved in (together, solved):
        assert_certified(moved, kernel_matrix(Linear(), X), tol=1e-8, rounding=1e-9)


def test_a_tie_is_left_by_the_steepest_row():
    """Of rows that meet gradient 0 together the steepest enters, not the first.

    A newcomer at -1 goes up; the rows at 0.1 and at 2 can each stop w on its way, and
    rounding puts the flat one a hair before the steep. Entering first, it would run
    through its whole box at eta = 0.05, and the steep one would enter after all.
    """
    x = np.array([0.1, 2.0, -1.0])
    K = np.outer(x, x)
    low, high = np.zeros(3), np.array([0.5, 0.5, 0.0])
    entered = []

    def column(row):
        entered.append(row)
        return K[row].copy()

    beta, *_, counts = _core.follow_path(
        np.zeros(3), np.array([1e-17, 3e-16, -1.0]), np.diag(K).copy(), low, high,
        low, np.array([0.5, 0.5, 1.0]), np.zeros(3), K[2].copy(),
        np.array([0, 0, 1], np.int8), False, 0.0, 1.0, column, 50, 0,
    )  # fmt: skip
    assert entered == [1]
    assert counts["steps"] == 2  # it enters, and the newcomer goes to its bound
    assert_allclose(beta, [0.0, 0.5, 1.0], atol=1e-12)

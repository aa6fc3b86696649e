"""Chains over one matrix: the solutions of single solves, and plateaus for nothing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin._core import kept_slab_bytes
from widemargin.engine.gram import Gram, release_kept_memory
from widemargin.engine.intercept import optimal_intercept
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import DualProblem, Terms, classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.warm_start_chain import (
    MatrixMemory,
    fits_a_chain,
    kernel_matrix,
    matrix_precision,
    solve_chain,
)

from tests.certified import assert_certified

COSTS = np.geomspace(0.01, 1000, 8)


def noisy(n, seed=0):
    """Rows whose classes overlap: some members stay at their bounds."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, y


def parts(n):
    """Return members, in no order, and the others."""
    order = np.random.default_rng(1).permutation(n)
    return order[: 3 * n // 4], order[3 * n // 4 :]


def chain_of(n, gamma, intercept, tol, dtype):
    X, y = noisy(n)
    gram = Gram(X, Gaussian(gamma))
    members, others = parts(n)
    view = gram.subset(members)
    problems = [
        classification_problem(view, y[members], np.full(members.size, cost), intercept)
        for cost in COSTS
    ]
    matrix = kernel_matrix(gram, dtype)
    found = solve_chain(matrix, members, others, problems, tol)
    return gram, members, others, problems, found


@pytest.mark.parametrize("intercept", [True, False])
def test_a_start_moves_as_the_solutions_of_similar_problems(intercept):
    gram, members, others, problems, found = chain_of(
        800, 0.3, intercept, 1e-7, np.float64
    )
    matrix = kernel_matrix(gram, np.float64)
    given = matrix, members, others, problems, 1e-5
    read = np.concatenate([members, others])

    def moving(betas):
        similar = betas, betas @ matrix[np.ix_(read, read)]
        return zip(solve_chain(*given, similar=similar), found, strict=True)

    own = np.zeros((len(found), read.size))
    own[:, : members.size] = [step.beta for step in found]
    for step, same in moving(own):
        assert step.n_iter == 0  # the start is the solution
        assert_allclose(step.values, same.values, atol=1e-6 * (1 + abs(own).max()))
    wild = own[::-1] + np.random.default_rng(0).standard_normal(own.shape)
    for step, same in moving(wild):
        terms = step.problem
        assert step.converged and step.violation <= 1e-5
        assert np.all((terms.lower <= step.beta) & (step.beta <= terms.upper))
        full = np.zeros(gram.n)
        full[members] = step.beta
        for rows, values in ((members, step.values), (others, step.other_values)):
            scale = 1 + abs(wild).sum(axis=1).max()
            assert_allclose(values, gram.times(full, rows), atol=1e-12 * scale)
        assert_allclose(
            step.values + step.intercept, same.values + same.intercept, atol=1e-3
        )


# 120 members are one working set, 600 need several, of 40 in 800 rows are gathered
@pytest.mark.parametrize("n", [160, 800])
@pytest.mark.parametrize("intercept", [True, False])
def test_each_step_is_the_solution_of_its_problem(n, intercept):
    gram, members, others, problems, found = chain_of(
        n, 0.3, intercept, 1e-7, np.float64
    )
    assert len(found) == len(problems)
    for problem, step in zip(problems, found, strict=True):
        single = solve(problem, SolveOptions(tol=1e-7))
        assert_certified(single, problem.gram.rows(np.arange(problem.n)))
        assert step.converged
        assert np.all((step.beta >= problem.lower) & (step.beta <= problem.upper))
        if intercept:
            assert abs(step.beta.sum()) < 1e-9 * (1 + np.abs(step.beta).sum())
        scale = 1 + np.abs(step.beta).sum()
        assert_allclose(step.values, problem.gram.times(step.beta), atol=1e-12 * scale)
        full = np.zeros(n)
        full[members] = step.beta
        assert_allclose(step.other_values, gram.times(full, others), atol=1e-12 * scale)
        assert step.certificate.kkt_violation <= 1e-7
        objective = single.certificate.objective
        assert_allclose(step.certificate.objective, objective, rtol=1e-5)
        assert_allclose(step.values, single.values, atol=1e-5)  # as far as 1e-7 tells
        assert_allclose(step.intercept, single.intercept, atol=1e-5)
        terms = problem.linear, problem.lower, problem.upper, problem.total
        assert step.intercept == optimal_intercept(step.values, *terms)


def test_few_rows_of_a_large_matrix():
    X, y = noisy(800)
    gram = Gram(X, Gaussian(0.3))
    members, others = np.arange(5, 800, 20), np.arange(6, 800, 40)
    problem = classification_problem(gram.subset(members), y[members], 1.0)
    (step,) = solve_chain(
        kernel_matrix(gram, np.float64), members, others, [problem], 1e-8
    )
    single = solve(problem, SolveOptions(tol=1e-8))
    assert_allclose(step.values, single.values, atol=1e-7)
    full = np.zeros(800)
    full[members] = step.beta
    assert_allclose(step.other_values, gram.times(full, others), atol=1e-10)


def test_a_plateau_takes_no_step():
    """Once no member is at its bound, larger costs have the same solution."""
    _, _, _, problems, found = chain_of(160, 30.0, True, 1e-6, np.float64)
    free = [bool((np.abs(s.beta) < np.abs(p.upper - p.lower)).all())
            for p, s in zip(problems, found, strict=True)]  # fmt: skip
    first = free.index(True)
    assert 0 < first < len(found) - 1
    assert all(step.n_iter == 0 for step in found[first + 1 :])
    assert_allclose(found[-1].beta, found[first].beta, rtol=0, atol=0)


def test_a_chain_has_no_more_support_vectors_than_its_problems():
    """What a rare class at its bound adds to the sum is not shared out over all."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 2))
    y = np.where(np.arange(1200) < 30, 1.0, -1.0)
    gram, everyone = Gram(X, Gaussian(1.0)), np.arange(1200)
    problems = [classification_problem(gram, y, np.full(1200, cost)) for cost in COSTS]
    matrix = kernel_matrix(gram, np.float64)
    found = solve_chain(matrix, everyone, everyone[:0], problems, 1e-3)
    for problem, step in zip(problems, found, strict=True):
        single = solve(problem, SolveOptions(tol=1e-3))
        assert np.count_nonzero(step.beta) <= 2 * np.count_nonzero(single.beta)


def test_single_precision_reaches_the_tolerance_it_is_chosen_for():
    X, _ = noisy(160)
    gram = Gram(X, Gaussian(0.3))
    _, _, _, problems, found = chain_of(160, 0.3, True, 1e-3, np.float32)
    assert matrix_precision(gram, problems, 1e-3) is np.float32
    assert matrix_precision(gram, problems, 1e-6) is np.float64
    for problem, step in zip(problems, found, strict=True):
        single = solve(problem, SolveOptions(tol=1e-9, exact=True))
        assert_allclose(step.values, single.values, atol=0.02)


def test_large_bounds_need_double_precision():
    X, y = noisy(160)
    gram = Gram(X, Gaussian(0.3))
    large = [classification_problem(gram, y, np.full(160, 1e7))]
    assert matrix_precision(gram, large, 1e-3) is np.float64


def test_a_monitor_ends_a_chain():
    X, y = noisy(3000)
    gram = Gram(X, Gaussian(3.0))
    problems = [classification_problem(gram, y, np.full(3000, c)) for c in COSTS]
    matrix, everyone = kernel_matrix(gram, np.float32), np.arange(3000)
    found = solve_chain(
        matrix, everyone, everyone[:0], problems, 1e-3, lambda *_: False
    )
    assert len(found) < len(problems)


def test_what_a_chain_cannot_start():
    X, y = noisy(20)
    gram = Gram(X, Gaussian(1.0))
    ones = np.ones(20)
    assert fits_a_chain(classification_problem(gram, y, ones))
    assert not fits_a_chain(DualProblem(gram, 0 * y, 0 * ones, ones, 3.0))
    assert not fits_a_chain(DualProblem(gram, 0 * y, 0.5 * ones, ones, None))


def test_more_free_members_than_a_working_set_holds_do_not_creep():
    """Sets of 512 took 356,014 pair steps, and stalled on a narrower kernel."""
    rng = np.random.default_rng(0)
    n = 2200
    X = rng.random((n, 4))
    y = np.sin(3.0 * X[:, 0]) + 0.5 * rng.normal(size=n)
    matrix = kernel_matrix(Gram(X, Gaussian(20.0)), np.float32)
    kink = np.full(n, 0.05)
    problems = [Terms(y, np.full(n, -C), np.full(n, C), 0.0, kink) for C in (10.0, 1e2)]
    last = solve_chain(matrix, np.arange(n), np.arange(0), problems, 1e-3)[-1]
    free = np.count_nonzero((last.beta != 0.0) & (np.abs(last.beta) < 1e2))
    assert last.converged and last.violation <= 1e-3
    assert free > 1700
    assert last.n_iter < 150_000


def test_matrices_take_memory_that_the_process_keeps():
    """The next search finds cleared pages: these took longer than the entries."""
    release_kept_memory()
    memory = MatrixMemory()
    memory.reserve(4 * 3000**2)
    first = memory.matrix(2000, np.float32).ctypes.data
    assert memory.matrix(3000, np.float32).ctypes.data == first  # it grows in its place
    del memory
    assert kept_slab_bytes() >= 4 * 3000**2
    assert MatrixMemory().matrix(3000, np.float32).ctypes.data == first
    release_kept_memory()
    assert kept_slab_bytes() == 0

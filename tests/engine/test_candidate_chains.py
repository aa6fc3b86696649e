"""Chains over candidates: the solutions over all rows, from far fewer entries."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine import candidate_chains
from widemargin.engine.candidate_chains import solve_by_candidates
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import Terms
from widemargin.engine.warm_start_chain import (
    Chain,
    kernel_matrix,
    several_times,
    solve_chain,
)

COSTS = (0.1, 1.0, 10.0, 100.0)


@pytest.fixture(autouse=True)
def few_first_candidates(monkeypatch):
    monkeypatch.setattr(candidate_chains, "FIRST_ROWS", 200)
    monkeypatch.setattr(candidate_chains, "MOST_CANDIDATES", 1.0)


def chains_of(n, kind, gamma=1.0):
    """Return a handle and three folds with the problems of four costs."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 2))
    y = np.where(X[:, 0] + 0.2 * rng.standard_normal(n) > 1.0, 1.0, -1.0)
    targets = np.sin(2 * X[:, 0]) + 0.05 * rng.standard_normal(n)
    fold = np.arange(n) % 3
    chains = []
    for number in range(3):
        members, others = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        problems = []
        for cost in COSTS:
            high = np.full(members.size, cost)
            if kind == "tube":
                kink = np.full(members.size, 0.1)
                problems.append(Terms(targets[members], -high, high, 0.0, kink))
                continue
            own = y[members]
            lower, upper = np.where(own < 0, -high, 0.0), np.where(own > 0, high, 0.0)
            total = None if kind == "no intercept" else 0.0
            problems.append(Terms(own, lower, upper, total, None))
        chains.append(Chain(members, others, problems))
    return Gram(X, Gaussian(gamma)), chains


@pytest.mark.parametrize("kind", ["classes", "no intercept", "tube"])
def test_all_members_meet_their_conditions(kind):
    gram, chains = chains_of(1500, kind)
    found = solve_by_candidates(gram, chains, 1e-6, np.float64, 1500)
    matrix = kernel_matrix(gram, np.float64)
    for chain, row in zip(chains, found, strict=True):
        whole = solve_chain(matrix, chain.members, chain.others, chain.problems, 1e-6)
        for terms, step, other in zip(chain.problems, row, whole, strict=True):
            assert step.problem is terms
            assert step.certificate.kkt_violation <= 1.001e-6
            assert np.all((terms.lower <= step.beta) & (step.beta <= terms.upper))
            full = np.zeros(gram.n)
            full[chain.members] = step.beta
            scale = 1 + np.abs(full).sum()
            for rows, values in (
                (chain.members, step.values),
                (chain.others, step.other_values),
            ):
                assert_allclose(values, gram.times(full, rows), atol=1e-12 * scale)
            assert_allclose(step.other_values, other.other_values, atol=1e-3)
            assert_allclose(step.intercept, other.intercept, atol=1e-3)


def test_few_support_vectors_need_few_entries():
    gram, chains = chains_of(6000, "classes")
    solve_by_candidates(gram, chains, 1e-3, np.float32, 6000)
    assert gram.evaluated < 0.42 * gram.n**2


def test_threads_change_nothing():
    gram, chains = chains_of(1500, "classes")
    first = solve_by_candidates(gram, chains, 1e-3, np.float32, 1500)

    def backwards(work, items):
        return [work(item) for item in reversed(list(items))]

    second = solve_by_candidates(gram, chains, 1e-3, np.float32, 1500, mapped=backwards)
    for row, other in zip(first, second, strict=True):
        for step, same in zip(row, other, strict=True):
            assert_array_equal(step.beta, same.beta)
            assert_array_equal(step.other_values, same.other_values)


def test_too_many_candidates_are_left_to_plain_fits():
    gram, chains = chains_of(1500, "classes")
    assert solve_by_candidates(gram, chains, 1e-3, np.float32, 210) is None


def test_more_candidates_than_a_survey_expects_do_not_end_the_folds(monkeypatch):
    """Solved but for a few violators, they would be for nothing."""
    monkeypatch.setattr(candidate_chains, "MOST_CANDIDATES", 0.9)
    held = []

    def noting(matrix, *given):
        held.append(len(matrix))
        return solve_chain(matrix, *given)

    monkeypatch.setattr(candidate_chains, "solve_chain", noting)
    gram, chains = chains_of(1500, "classes", gamma=20.0)
    found = solve_by_candidates(gram, chains, 1e-3, np.float32, 1500)
    assert max(held) > 0.9 * gram.n
    assert all(step.converged for row in found for step in row)


def test_a_first_stage_of_support_vectors_alone_is_enough_to_give_up(monkeypatch):
    """A kernel so narrow that every row is one: later stages would be for nothing."""
    monkeypatch.setattr(candidate_chains, "MOST_CANDIDATES", 0.75)
    gram, chains = chains_of(1500, "classes", gamma=1e4)
    assert solve_by_candidates(gram, chains, 1e-3, np.float32, 1500) is None
    assert gram.evaluated < 0.2 * 1500**2


def test_a_chain_that_was_ended_ends_all(monkeypatch):
    def ended(*given):
        return solve_chain(*given)[:1]

    monkeypatch.setattr(candidate_chains, "solve_chain", ended)
    gram, chains = chains_of(1500, "classes")
    found = solve_by_candidates(gram, chains, 1e-3, np.float32, 1500)
    assert found == [[], [], []]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_several_products_in_one_sweep(dtype):
    gram, _ = chains_of(1500, "classes")
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((3, 1500)) * (rng.random((3, 1500)) < 0.4)
    rows = np.arange(100, 1400)
    tolerance = 1e-3 if dtype is np.float32 else 1e-11
    assert_allclose(
        several_times(gram, weights, rows, dtype),
        [gram.times(row, rows) for row in weights],
        atol=tolerance,
    )


def test_rare_members_are_found():
    """A fold of few rows, and a class that the first choice may lack."""
    rng = np.random.default_rng(1)
    gram = Gram(rng.standard_normal((1500, 2)), Gaussian(1.0))
    y = np.where(np.arange(1500) < 3, 1.0, -1.0)
    chains = []
    for members in (np.arange(1500), np.arange(12)):
        own, high = y[members], np.full(members.size, 10.0)
        lower, upper = np.where(own < 0, -high, 0.0), np.where(own > 0, high, 0.0)
        problem = Terms(own, lower, upper, 0.0, None)
        chains.append(Chain(members, members[:0], [problem]))
    found = solve_by_candidates(gram, chains, 1e-5, np.float64, 1500)
    for (step,) in found:
        assert step.certificate.kkt_violation <= 1.001e-5
        assert np.count_nonzero(step.beta > 0) == 3

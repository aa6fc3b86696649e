"""Kernel entries counted: a bound for each problem, so that a regression is seen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.gram import Gram
from widemargin.engine.kernel_table import BatchOptions, KernelTable, ProblemBatch
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import DualProblem, classification_problem
from widemargin.engine.solve import solve


def clouds(n, d, seed):
    """Two overlapping clouds in d features, of which the first four tell them apart."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, d))
    X[:, :4] += y[:, None]
    return X, y


def solved(d, gamma, threads=1, n=6000, **gram):
    X, y = clouds(n, d, seed=3)
    handle = Gram(X, Gaussian(gamma), threads=threads, cache_mb=400, **gram)
    return solve(classification_problem(handle, y, 5.0)), handle


@pytest.mark.parametrize(
    ("d", "gamma", "most"),
    [(4, 0.5, 6.5), (16, 0.05, 3.55), (200, 0.002, 2.2)],
    ids=["narrow", "medium", "wide"],
)
def test_entries_stay_near_what_is_needed(d, gamma, most):
    solution, gram = solved(d, gamma)
    assert solution.certificate.kkt_violation <= 1e-3
    needed = len(gram) * solution.support.size
    assert gram.evaluated <= most * needed, gram.entries


def test_a_rare_class_leaves_most_samples_inactive():
    """Nearly all of the frequent class lie at its margin, and few of them ever move."""
    rng = np.random.default_rng(5)
    X, rare = rng.standard_normal((4000, 4)), np.arange(4000) < 120
    y = np.where(rare, 1.0, -1.0)
    X[rare] += 1.5
    gram = Gram(X, Gaussian(0.5), threads=1, cache_mb=400)
    solution = solve(classification_problem(gram, y, 10.0))
    assert solution.certificate.kkt_violation <= 1e-3
    assert solution.support.size < 600
    most = (
        500 + 3 * solution.support.size
    )  # free, or among those that may be at a bound
    assert gram.entries["tables"] <= 3 * most * most


def test_entries_by_purpose_and_seconds_by_activity_add_up():
    _, gram = solved(4, 0.5)
    assert sum(gram.entries.values()) == gram.evaluated
    for purpose in ("stages", "inactive"):
        assert gram.entries[purpose] > 0, purpose
    assert gram.entries["certificate"] > 0
    assert set(gram.seconds) == {"entries", "pair_steps", "row_sums", "arranging"}
    assert gram.seconds["entries"] > 0


def test_on_wide_data_inactive_samples_and_certificates_evaluate_little():
    solution, gram = solved(200, 0.002)
    support = solution.support.size
    # Stages extend the rows they have; of the certificate the support vectors remain,
    # each pair of them once, and what float32 sums of cached rows do not settle.
    assert gram.entries["stages"] + gram.entries["inactive"] <= len(gram) * support
    assert gram.entries["certificate"] <= 0.75 * support * support


def test_of_support_vectors_each_pair_is_evaluated_once():
    X, y = clouds(1000, 20, seed=3)
    gram = Gram(X, Gaussian(0.5), threads=1, cache_mb=400)  # all are support vectors
    half = 0.5 * 1000 * 1000
    values, errors, squares = gram.bounded_products(np.arange(1000), y[None, :])
    assert gram.entries["certificate"] <= 1.1 * half
    expected = gram.times(y)
    assert (np.abs(values - expected) <= errors + 1e-12).all()
    assert_allclose(squares[0], y @ expected, rtol=1e-12)
    table = KernelTable(gram)
    everything = np.array([0, 1000]), np.arange(1000, dtype=np.int32)
    box = np.minimum(y, 0.0), np.maximum(y, 0.0)
    batch = ProblemBatch(*everything, y, *box, np.zeros(1))
    found = table.solve(batch, BatchOptions(polish="never"))
    assert np.count_nonzero(found.beta) == 1000
    assert gram.entries["certificate"] <= 2.2 * half


def test_working_sets_are_small_where_the_start_has_few_support_vectors():
    X, _ = clouds(6000, 4, seed=3)
    gram, none = Gram(X, Gaussian(0.2), threads=1, cache_mb=400), np.zeros(6000)
    solution = solve(DualProblem(gram, none, none, none + 1.0, 60.0))  # nu = 0.01
    assert solution.certificate.kkt_violation <= 1e-3
    assert gram.entries["blocks"] <= 3e5, gram.entries  # whole sets have 1e6 each
    assert gram.entries["products"] <= 100 * 6000  # 60 of the start, 32 probes
    # most rows of the support vectors are cached: float32 sums settle all others
    assert gram.entries["certificate"] <= 0.1 * 6000 * solution.support.size


def test_a_working_set_that_holds_most_free_members_is_chosen_less_often():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((6000, 6))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(6000)
    gram, cost = Gram(X, Gaussian(0.3), threads=1, cache_mb=400), np.full(6000, 5.0)
    problem = DualProblem(gram, y, -cost, cost, 0.0)
    solution = solve(problem)
    assert solution.certificate.kkt_violation <= 1e-3
    assert 2000 < np.count_nonzero(problem.free(solution.beta)) < 2280
    assert gram.entries["blocks"] <= 3 * 6000**2, gram.entries  # 4.4 with 1008 members


def test_what_float32_may_lose_is_left_to_it_and_one_verification_does():
    X, _ = clouds(2500, 4, seed=5)
    y = np.sin(X[:, 0]) + np.random.default_rng(5).normal(size=2500)
    gram, cost = Gram(X, Gaussian(0.5), threads=1, cache_mb=400), np.full(2500, 60.0)
    problem = DualProblem(gram, y, -cost, cost, 0.0)
    solution = solve(problem)
    assert solution.certificate.kkt_violation <= 1e-3
    assert 2.0 * gram.float32_error(solution.beta) > 0.1 * 1e-3  # it is not little
    # each pair of support vectors once; a second verification would be twice that
    assert gram.entries["certificate"] <= 0.6 * 2500**2, gram.entries


def test_wide_data_gives_the_same_bits_for_any_number_of_threads():
    one, first = solved(200, 0.002, threads=1)
    two, second = solved(200, 0.002, threads=2)
    assert_array_equal(one.beta, two.beta)
    assert_array_equal(one.known_values, two.known_values)
    assert first.entries == second.entries
    assert one.certificate.gap == two.certificate.gap


@pytest.mark.parametrize(("offset", "C"), [(8.0, 1e3), (16.0, 1e3), (8.0, 1e4)])
def test_where_float32_falls_short_the_proof_shows_where_to_go_on(offset, C):
    # Verified values are what a refinement needs: no second product over all rows, and
    # no rows in float64.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 6))
    X[:750] += offset
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(1500) > 0, 1.0, -1.0)
    gram = Gram(X, Gaussian(0.3), threads=1, cache_mb=200)
    solution = solve(classification_problem(gram, y, C))
    assert solution.status == "converged"
    assert solution.certificate.kkt_violation <= 1e-3
    assert gram.float32_error(solution.beta) > 1e-3  # by estimate it is not enough
    assert gram.entries["products"] == 0

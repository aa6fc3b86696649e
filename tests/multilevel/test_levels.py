"""Divide and conquer on dual problems: the lemmas, the bounds, the exact finish."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_moons

from widemargin.engine.feasible import project
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Precomputed
from widemargin.engine.problem import DualProblem, classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.multilevel import level as level_module
from widemargin.multilevel.driver import (
    Plan,
    automatic_levels,
    levels_pay,
    precision_recall,
    run_levels,
    solve_divided,
)
from widemargin.multilevel.level import Division, Limits, solve_level
from widemargin.multilevel.partition import divide

from tests.certified import assert_certified, kernel_matrix, objective

EXACT = SolveOptions(tol=1e-9, exact=True)


def moons(n=240, C=2.0, gamma=2.0, fit_intercept=True, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    gram = Gram(np.ascontiguousarray(X), Gaussian(gamma))
    signs = np.where(y > 0, 1.0, -1.0)
    return X, classification_problem(gram, signs, np.full(n, C), fit_intercept)


def one_level(X, problem, n_clusters, options=EXACT, way="input", seed=0):
    partition = divide(X, problem.gram.kernel, n_clusters, clustering=way, seed=seed)
    start = project(np.zeros(problem.n), problem.lower, problem.upper, problem.total)
    everyone = np.arange(problem.n)
    division = Division(X, problem.gram.kernel, [problem], [everyone])
    return solve_level(1, partition, division, [start], options, Limits())


def plain(problem, tol=1e-9):
    solution = solve(problem, SolveOptions(tol=tol, exact=True))
    assert solution.certificate.kkt_violation <= 2 * tol
    return solution


@pytest.mark.parametrize("way", ["input", "kernel", "random"])
def test_lemma_1_concatenation_solves_the_block_kernel_problem(way):
    X, problem = moons(fit_intercept=False)
    level = one_level(X, problem, 8, way=way)
    K = kernel_matrix(Gaussian(2.0), X)
    labels = level.partition.labels
    block = np.where(labels[:, None] == labels, K, 0.0)
    whole = DualProblem(
        Gram(block, Precomputed()), problem.linear, problem.lower, problem.upper, None
    )
    solution = plain(whole, 1e-10)
    assert_certified(solution, block, tol=1e-9, rounding=1e-9)
    assert_allclose(level.betas[0], solution.beta, atol=1e-8)
    assert_allclose(
        objective(block, level.betas[0], problem.linear),
        objective(block, solution.beta, problem.linear),
        rtol=1e-8,
    )


def between(K, labels, chosen=None):
    """D(pi) of Theorem 1 over ordered pairs, or of Theorem 3 within `chosen`."""
    apart = labels[:, None] != labels
    if chosen is not None:
        apart &= chosen[:, None] & chosen
    return np.abs(K[apart]).sum()


@pytest.mark.parametrize("seed", range(12))
def test_bounds_of_theorems_1_and_3(seed):
    rng = np.random.default_rng(seed)
    n, C = 60, float(rng.choice([0.1, 1.0, 10.0]))
    X = rng.normal(size=(n, 3))
    signs = np.where(X[:, 0] + rng.normal(size=n) * 0.7 > 0, 1.0, -1.0)
    kernel = Gaussian(float(rng.choice([0.3, 1.0, 3.0])))
    problem = classification_problem(Gram(X, kernel), signs, np.full(n, C), False)
    level = one_level(X, problem, int(rng.integers(2, 9)), seed=seed)
    K = kernel_matrix(kernel, X)
    best = plain(problem)
    excess = objective(K, level.betas[0], signs) - objective(K, best.beta, signs)
    labels = level.partition.labels
    either = (level.betas[0] != 0) | (best.beta != 0)
    assert excess >= -1e-7
    assert excess <= 0.5 * C**2 * between(K, labels) + 1e-9  # Theorem 1
    assert excess <= 0.5 * C**2 * between(K, labels, either) + 1e-9  # Theorem 3
    distance = np.sum((level.betas[0] - best.beta) ** 2)
    smallest = np.linalg.eigvalsh(K)[0]
    assert distance * smallest <= C**2 * between(K, labels) + 1e-9


@pytest.mark.parametrize("apart", [2.5, 3.5, 6.0, 8.0])
@pytest.mark.parametrize("C", [0.5, 5.0])
def test_theorem_2_rows_beyond_its_threshold_are_no_support_vectors(apart, C):
    """It takes clusters that hardly see each other for a row to be beyond it."""
    rng = np.random.default_rng(int(apart))
    corners = np.array([[0.0, 0.0], [1.5, 0.0], [apart, 0.0], [apart + 1.5, 0.0]])
    X = np.repeat(corners, 10, axis=0) + 0.35 * rng.normal(size=(40, 2))
    signs = np.tile(np.repeat([1.0, -1.0], 10), 2)
    kernel = Gaussian(1.0)
    problem = classification_problem(Gram(X, kernel), signs, np.full(40, C), False)
    level = one_level(X, problem, 2)
    K, labels = kernel_matrix(kernel, X), level.partition.labels
    mass, smallest = between(K, labels), np.linalg.eigvalsh(K)[0]
    beta = level.betas[0]
    block = np.where(labels[:, None] == labels, K, 0.0)
    gradient = signs * (block @ beta) - 1.0  # of the paper's block problem
    # C D (1 + sqrt(n) K_max / sqrt(sigma_n D)), without its division by D
    threshold = C * mass + C * np.sqrt(40 * mass / smallest) * K.diagonal().max()
    beyond = (beta == 0.0) & (gradient > threshold)
    best = plain(problem)
    assert_array_equal(best.beta[beyond], 0.0)
    if apart == 8.0:
        assert np.count_nonzero(beyond) >= 5


def assert_as_good_as_direct(solution, K):
    assert_certified(solution, K, tol=1e-8, rounding=1e-8)
    problem = solution.problem
    assert_allclose(
        objective(K, solution.beta, problem.linear),
        objective(K, plain(problem).beta, problem.linear),
        rtol=1e-6,
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("refine", [True, False])
def test_final_objective_is_that_of_a_direct_solve(fit_intercept, refine):
    X, problem = moons(fit_intercept=fit_intercept)
    records = []
    solution = solve_divided(
        problem, Plan(2, refine=refine), SolveOptions(tol=1e-8), record=records.append
    )
    K = kernel_matrix(Gaussian(2.0), X)
    assert_as_good_as_direct(solution, K)
    stages = [record["stage"] for record in records]
    middle = ["refine"] if refine else []
    assert stages == ["level 2", "level 1", *middle]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_any_dual_problem_goes_through_the_levels(fit_intercept):
    # shifted boxes and a sum that is not zero, as in ramp and reduced problems
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 3))
    gram = Gram(X, Gaussian(1.0))
    lower = -rng.uniform(0, 2, 150)
    upper = lower + rng.uniform(0.1, 3, 150)
    total = float(0.3 * lower.sum() + 0.7 * upper.sum()) if fit_intercept else None
    problem = DualProblem(gram, rng.normal(size=150), lower, upper, total)
    solution = solve_divided(
        problem, Plan(2, n_branches=3), SolveOptions(tol=1e-8), record=lambda _: None
    )
    K = kernel_matrix(Gaussian(1.0), X)
    assert_as_good_as_direct(solution, K)


def test_levels_start_from_any_point_or_solution():
    _, problem = moons()
    cold = solve(problem, SolveOptions(tol=1e-6))
    wild = np.full(problem.n, 100.0)  # far outside the box: projected
    for start in (cold, cold.beta, wild):
        warm = solve_divided(problem, Plan(1), SolveOptions(tol=1e-6), start=start)
        assert warm.converged
        assert_allclose(warm.certificate.bound, cold.certificate.bound, rtol=1e-6)


def test_one_cluster_is_the_plain_problem():
    X, problem = moons()
    level = one_level(X, problem, 1)
    solution = plain(problem)
    assert_allclose(level.betas[0], solution.beta, atol=1e-7)
    assert_allclose(level.intercepts[0, 0], solution.intercept, atol=1e-7)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_problems_of_a_small_cluster_are_one_compiled_call(fit_intercept, monkeypatch):
    """Three pairs of classes, from nothing and from a point with other sums."""
    X, y = make_blobs(600, centers=3, cluster_std=4.0, random_state=0)
    gram = Gram(X, Gaussian(0.2))
    rows = [np.flatnonzero(y != c) for c in range(3)]
    problems = [
        classification_problem(
            gram.subset(own), np.where(y[own] == (c + 1) % 3, 1.0, -1.0),
            np.full(own.size, 2.0), fit_intercept,
        )
        for c, own in enumerate(rows)
    ]  # fmt: skip
    partition = divide(X, gram.kernel, 4, seed=0)
    division = Division(X, gram.kernel, problems, rows)
    task = 1, partition, division
    middle = [0.5 * (problem.lower + problem.upper) for problem in problems]
    starts = [
        [np.zeros(problem.n) for problem in problems],
        [project(own, p.lower, p.upper, p.total)
         for own, p in zip(middle, problems, strict=True)],
    ]  # fmt: skip
    for start in starts:
        given = start, SolveOptions(), Limits()
        with monkeypatch.context() as patch:
            patch.setattr(level_module, "_together", lambda *_: None)
            alone = solve_level(*task, *given)
        with monkeypatch.context() as patch:
            if start is starts[0]:  # the sums over a cluster are alike
                patch.setattr(level_module, "solve", None)
            together = solve_level(*task, *given)
        for ours, others in zip(together.parts, alone.parts, strict=True):
            for one, other in zip(ours, others, strict=True):
                assert one.status.solved and one.kkt_violation <= 1e-3
                assert one.bound <= min(one.objective, other.objective)
                assert_allclose(one.objective, other.objective, rtol=1e-3)
        for number, problem in enumerate(problems):
            beta = together.betas[number]
            assert (problem.lower <= beta).all() and (beta <= problem.upper).all()
            if fit_intercept:
                sums = np.bincount(partition.labels[rows[number]], beta)
                wanted = np.bincount(partition.labels[rows[number]], start[number])
                assert_allclose(sums, wanted, atol=1e-9)


def test_concatenations_stay_feasible_on_every_level():
    _, problem = moons()
    seen = []
    run_levels(
        Division.of(problem), Plan(3), SolveOptions(tol=1e-3), Limits(),
        record=lambda _: None, completed=seen.append,
    )  # fmt: skip
    assert [level.number for level in seen] == [3, 2, 1]
    for level in seen:
        beta = level.betas[0]
        assert (beta >= problem.lower).all() and (beta <= problem.upper).all()
        for cluster in range(level.partition.n_clusters):
            assert abs(beta[level.partition.members(cluster)].sum()) <= 1e-10
    for fine, coarse in pairwise(seen):
        for cluster in range(fine.partition.n_clusters):
            members = fine.partition.members(cluster)
            assert len(np.unique(coarse.partition.labels[members])) == 1


def test_levels_lower_the_objective_of_the_whole():
    X, problem = moons(n=400, fit_intercept=False)
    K = kernel_matrix(Gaussian(2.0), X)
    seen = []
    run_levels(
        Division.of(problem), Plan(3), SolveOptions(tol=1e-6), Limits(),
        record=lambda _: None, completed=seen.append,
    )  # fmt: skip
    values = [objective(K, level.betas[0], problem.linear) for level in seen]
    best = objective(K, plain(problem).beta, problem.linear)
    assert values[0] >= values[-1] >= best - 1e-6


def test_same_level_whatever_the_number_of_jobs():
    X, problem = moons(n=600)
    partition = divide(X, problem.gram.kernel, 8, seed=0)
    start = np.zeros(problem.n)

    def level(n_jobs):
        division, limits = Division.of(problem), Limits(n_jobs=n_jobs)
        return solve_level(
            1, partition, division, [start], SolveOptions(tol=1e-3), limits
        )

    alone, together = level(1), level(4)
    assert_array_equal(alone.betas[0], together.betas[0])
    assert_array_equal(alone.intercepts, together.intercepts)


@pytest.mark.parametrize(
    ("clusters", "cache", "threads"),
    [(1, 600, 6), (2, 300, 3), (4, 150, 1), (9, 100, 1)],
)
def test_few_clusters_share_all_threads_and_memory(
    clusters, cache, threads, monkeypatch
):
    X, problem = moons(n=300)
    partition = divide(X, problem.gram.kernel, clusters, seed=0)
    made = []

    def noted(*arguments, **settings):
        made.append(settings)
        return Gram(*arguments, **settings)

    monkeypatch.setattr(level_module, "Gram", noted)
    solved = solve_level(
        1, partition, Division.of(problem), [np.zeros(300)], SolveOptions(),
        Limits(600.0, 1, 6),
    )  # fmt: skip
    own = {"cache_mb": cache, "threads": threads}
    assert made == [own] * len(made) and made  # some have one class, and no Gram
    monkeypatch.undo()
    alone = solve_level(
        1, partition, Division.of(problem), [np.zeros(300)], SolveOptions(), Limits()
    )
    assert_array_equal(solved.betas[0], alone.betas[0])


def test_dense_and_csr_levels_agree():
    X, problem = moons()
    dense = one_level(X, problem, 6)
    gram = Gram(sp.csr_matrix(X), Gaussian(2.0))
    again = DualProblem(gram, problem.linear, problem.lower, problem.upper, 0.0)
    sparse = one_level(sp.csr_matrix(X), again, 6)
    assert_array_equal(dense.partition.labels, sparse.partition.labels)
    assert_allclose(dense.betas[0], sparse.betas[0], atol=1e-6)


def test_clusters_of_one_class_are_constant():
    X = np.concatenate([np.zeros((20, 1)), np.full((20, 1), 100.0)])
    X += np.random.default_rng(0).normal(size=X.shape)
    signs = np.repeat([1.0, -1.0], 20)
    problem = classification_problem(Gram(X, Gaussian(1.0)), signs, np.ones(40))
    level = one_level(X, problem, 2)
    assert level.partition.n_clusters == 2
    assert_array_equal(level.betas[0], 0.0)
    signs_of = signs[[level.partition.members(c)[0] for c in range(2)]]
    assert_array_equal(level.intercepts[:, 0], signs_of)
    assert sum(part.objective for part in level.parts[0]) == 0.0


def test_history_tells_clusters_times_and_support():
    _, problem = moons(n=400)
    records = []
    solution = solve_divided(
        problem, Plan(2), SolveOptions(tol=1e-6), record=records.append
    )
    first = records[0]
    assert first["clusters"] <= 16 and first["size"] == 400
    assert first["seconds"] == pytest.approx(
        first["clustering_seconds"] + first["training_seconds"]
    )
    assert len(first["sizes"]) == first["clusters"] and sum(first["sizes"]) == 400
    assert first["smallest_cluster"] == min(first["sizes"])
    assert first["largest_cluster"] == max(first["sizes"])
    for record in records[:2]:
        assert 0 < record["precision"] <= 1 and 0 < record["recall"] <= 1
    assert records[1]["recall"] > 0.8  # level 1 knows most of them (Figure 2)
    assert records[-1]["stage"] == "refine" and records[-1]["gap"] >= 0
    assert solution.converged


def test_precision_and_recall():
    found = precision_recall(np.array([1, 2, 3, 4]), np.array([3, 4, 5]))
    assert found == {"precision": 0.5, "recall": 2 / 3}
    assert precision_recall(np.array([], int), np.array([], int)) == {
        "precision": 0.0, "recall": 0.0,
    }  # fmt: skip


def test_levels_pay_for_local_kernels_and_many_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))[rng.integers(60, size=600)] * 40
    X += rng.normal(size=X.shape)
    assert not levels_pay(X, Gaussian(1.0))  # too few
    monkeypatch.setattr("widemargin.multilevel.driver.LEVELS_FROM", 500)
    assert levels_pay(X, Gaussian(1.0))
    assert not levels_pay(X, Gaussian(1e-4))  # reaches everywhere
    K = kernel_matrix(Gaussian(1.0), X)
    assert levels_pay(K, Precomputed())


def test_automatic_levels_grow_with_n():
    assert automatic_levels(600, 4) == 0
    assert automatic_levels(50_000, 4) == 3
    assert automatic_levels(464_810, 4) == 4
    assert automatic_levels(10**9, 4) == 5

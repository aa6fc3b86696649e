"""The engine: certificate on every solve, oracles, warm starts, limits, precision."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.svm import SVC

from widemargin.engine import refinement
from widemargin.engine.feasible import project
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
)
from widemargin.engine.problem import DualProblem, classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.runtime.deadline import Deadline

from tests.certified import assert_certified, kernel_matrix, objective, violation
from tests.oracles.generic_qp import solve_clarabel
from tests.oracles.libsvm import solve_libsvm
from tests.oracles.reference_smo import minimise
from tests.problems import Named, built_problems, dual, real_problems, small

KERNELS = [Gaussian(0.5), Laplacian(0.5), Linear(), Polynomial(2, 0.5, 1.0)]
EVERY = [*real_problems(), *built_problems()]
RULES = ["blocks", "second_order", "first_order"]
RULES += ["libsvm_second_order", "libsvm_first_order"]


def test_there_are_enough_problems():
    assert len(EVERY) >= 20


@pytest.mark.parametrize("named", EVERY, ids=str)
def test_objective_and_decision_values_are_libsvms(named):
    K = kernel_matrix(named.kernel, named.X)
    theirs, decision, _ = solve_libsvm(K, named.y, named.cost)
    best = objective(K, theirs, named.y)
    ours = solve(dual(named))
    assert_certified(ours, K)
    assert objective(K, ours.beta, named.y) >= best - 1e-6 * abs(best)
    exact = solve(dual(named), SolveOptions(exact=True))
    assert_certified(exact, K, tol=1e-8)
    assert_allclose(objective(K, exact.beta, named.y), best, rtol=1e-6)
    # LIBSVM keeps its kernel rows in float32: so far can its decision values be off.
    rounding = np.finfo(np.float32).eps * np.abs(K).max()
    float32 = 1e-6 + 4 * rounding * np.linalg.norm(theirs)
    assert_allclose(exact.values + exact.intercept, decision, atol=float32)


@pytest.mark.parametrize("named", EVERY, ids=str)
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-5, 1e-7])
def test_violation_is_below_tol(named, tol):
    K = kernel_matrix(named.kernel, named.X)
    solution = solve(dual(named), SolveOptions(tol=tol))
    assert_certified(solution, K, tol=tol)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", KERNELS)
def test_objective_is_clarabels(seed, fit_intercept, kernel):
    named = small(seed, n=60, kernel=kernel)
    problem = dual(named, fit_intercept=fit_intercept)
    K = kernel_matrix(kernel, named.X)
    theirs = solve_clarabel(
        K, problem.linear, problem.lower, problem.upper, problem.total
    )
    ours = solve(problem, SolveOptions(exact=True))
    assert_certified(ours, K, tol=1e-8)
    best = objective(K, theirs, problem.linear)
    assert_allclose(objective(K, ours.beta, problem.linear), best, rtol=1e-6)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("with_equality", [True, False])
def test_general_boxes_linear_terms_and_sums(seed, with_equality):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 4))
    lower = -rng.uniform(0, 2, 50)
    upper = lower + rng.uniform(0, 3, 50)
    lower[:5] = upper[:5]  # fixed members
    total = float(rng.uniform(0.3, 0.7) * (upper - lower).sum() + lower.sum())
    linear = rng.standard_normal(50)
    gram = Gram(X, Gaussian(0.5))
    problem = DualProblem(gram, linear, lower, upper, total if with_equality else None)
    K = kernel_matrix(Gaussian(0.5), X)
    theirs = solve_clarabel(K, linear, lower, upper, problem.total)
    for accuracy in ("tol", "exact"):
        ours = solve(problem, SolveOptions(exact=accuracy == "exact"))
        tol = 1e-3 if accuracy == "tol" else 1e-8
        assert_certified(ours, K, tol=tol)
        assert_array_equal(ours.beta[:5], lower[:5])
    best = objective(K, theirs, linear)
    found = objective(K, ours.beta, linear)
    assert_allclose(found, best, rtol=1e-6, atol=1e-7 * abs(best))
    _, values = minimise(K, linear, lower, upper, problem.total)
    assert_allclose(ours.values, values, atol=1e-7)


@pytest.mark.parametrize("named", built_problems()[::2], ids=str)
@pytest.mark.parametrize("selection", RULES)
def test_every_selection_rule_reaches_the_optimum(named, selection):
    K = kernel_matrix(named.kernel, named.X)
    solution = solve(dual(named), SolveOptions(tol=1e-4, selection=selection))
    assert_certified(solution, K, tol=1e-4)


LIBSVM_STEPS = ["wine 0 or 1", "breast cancer", "digits 3 or 8", "moons", "circles"]


@pytest.mark.parametrize("name", LIBSVM_STEPS)
def test_libsvms_rule_takes_libsvms_number_of_steps(name):
    # mathematics 0.3: ties to the last index, float32 rows, no shrinking. LIBSVM groups
    # the samples by class, and its first class is the positive one.
    (named,) = [one for one in EVERY if one.name == name]
    theirs = SVC(C=1.0, gamma=named.kernel.gamma, shrinking=False)
    theirs.fit(named.X, named.y, sample_weight=named.cost)
    order = np.argsort(named.y, kind="stable")
    grouped = Named(
        "", named.X[order], -named.y[order], named.kernel, named.cost[order]
    )
    ours = solve(dual(grouped), SolveOptions(selection="libsvm_second_order"))
    assert_certified(ours, kernel_matrix(named.kernel, named.X[order]))
    assert ours.n_iter == theirs.n_iter_[0]


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("named", EVERY[::3], ids=str)
def test_shrinking_changes_nothing_but_time(named, shrinking):
    K = kernel_matrix(named.kernel, named.X)
    solution = solve(dual(named), SolveOptions(tol=1e-6, shrinking=shrinking))
    assert_certified(solution, K, tol=1e-6)


@pytest.mark.parametrize("named", EVERY[::3], ids=str)
@pytest.mark.parametrize("start", ["optimum", "random", "outside", "zero"])
def test_warm_is_cold(named, start):
    K = kernel_matrix(named.kernel, named.X)
    problem = dual(named)
    cold = solve(problem, SolveOptions(exact=True))
    rng = np.random.default_rng(0)
    starts = {
        "optimum": cold.beta,
        "random": rng.uniform(problem.lower, problem.upper),
        "outside": 10 * rng.standard_normal(problem.n),
        "zero": np.zeros(problem.n),
    }
    warm = solve(problem, SolveOptions(exact=True), start=starts[start])
    assert_certified(warm, K, tol=1e-8)
    assert_allclose(
        objective(K, warm.beta, named.y), objective(K, cold.beta, named.y), rtol=1e-9
    )
    assert_allclose(
        warm.values + warm.intercept, cold.values + cold.intercept, atol=1e-6
    )
    if start == "optimum":
        assert warm.n_iter <= max(5, cold.n_iter // 5)


@pytest.mark.parametrize("seed", range(20))
def test_projection_is_the_nearest_feasible_point(seed):
    rng = np.random.default_rng(seed)
    lower = -rng.uniform(0, 2, 30)
    upper = lower + rng.uniform(0, 3, 30)
    total = float(lower.sum() + rng.uniform() * (upper - lower).sum())
    given = 3 * rng.standard_normal(30)
    point = project(given, lower, upper, total)
    assert (point >= lower).all() and (point <= upper).all()
    assert_allclose(point.sum(), total, atol=1e-12 * np.abs(point).sum())
    nearest = solve_clarabel(np.eye(30), given, lower, upper, total)
    assert_allclose(point, nearest, atol=1e-6)
    assert_array_equal(project(given, lower, upper, None), np.clip(given, lower, upper))


def test_evaluated_entries_are_counted_and_shared_between_solves():
    # Of few features, entries are evaluated again: that takes less than moving them.
    named = small(3, n=300, d=100, kernel=Gaussian(0.01))
    gram = Gram(named.X, named.kernel, cache_mb=50.0)
    first = solve(classification_problem(gram, named.y, 1.0))
    assert 0 < gram.evaluated <= 3 * 300 * 300
    again = solve(classification_problem(gram, named.y, 1.0), start=first.beta)
    fresh = Gram(named.X, named.kernel, cache_mb=50.0)
    solve(classification_problem(fresh, named.y, 1.1), start=first.beta)
    kept = gram.evaluated
    solve(classification_problem(gram, named.y, 1.1), start=first.beta)
    assert gram.evaluated - kept < fresh.evaluated  # the rows were there already
    K = kernel_matrix(named.kernel, named.X)
    assert_certified(again, K)


@pytest.mark.parametrize("named", EVERY[1::4], ids=str)
def test_dense_csr_float32_and_fortran_agree(named):
    K = kernel_matrix(named.kernel, named.X)
    best = objective(K, solve(dual(named), SolveOptions(exact=True)).beta, named.y)
    for X, tolerance in (
        (np.asfortranarray(named.X), 1e-8),
        (np.repeat(named.X, 2, axis=1)[:, ::2], 1e-8),  # neither order: strided
        (sparse.csr_matrix(named.X), 1e-8),
        (np.ascontiguousarray(named.X.astype(np.float32)), 1e-4),
        (np.asfortranarray(named.X.astype(np.float32)), 1e-4),
        (sparse.csr_matrix(named.X.astype(np.float32)), 1e-4),
    ):
        problem = classification_problem(Gram(X, named.kernel), named.y, named.cost)
        solution = solve(problem, SolveOptions(exact=True))
        rounding = None if tolerance < 1e-6 else 1e-3
        assert_certified(solution, K, tol=1e-8, rounding=rounding)
        assert_allclose(objective(K, solution.beta, named.y), best, rtol=tolerance)


def test_precomputed_is_the_kernel_itself():
    named = small(5)
    K = kernel_matrix(named.kernel, named.X)
    options = SolveOptions(exact=True)
    given = solve(dual(named), options)
    gram = Gram(K, Precomputed())
    taken = solve(classification_problem(gram, named.y, named.cost), options)
    assert_certified(taken, K, tol=1e-8)
    assert_allclose(taken.values, given.values, atol=1e-8)


def test_limits_are_said_and_the_certificate_is_still_true():
    named = built_problems()[1]
    K = kernel_matrix(named.kernel, named.X)
    stopped = solve(dual(named), SolveOptions(max_iter=5, tol=1e-9))
    assert stopped.status == "max_iter"
    assert stopped.n_iter <= 5
    assert stopped.certificate.kkt_violation > 1e-9
    assert_allclose(
        stopped.certificate.kkt_violation,
        violation(K, stopped.beta, stopped.problem),
        rtol=1e-3,
    )
    assert abs(stopped.beta.sum()) <= 1e-9


def test_max_time_is_kept():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 30))
    y = np.where(rng.random(20_000) > 0.5, 1.0, -1.0)  # pure noise: hard
    problem = classification_problem(Gram(X, Gaussian(0.1)), y, 100.0)
    stopped = solve(problem, SolveOptions(deadline=Deadline.after(0.3), tol=1e-6))
    assert stopped.status == "max_time"  # what it skips then: test_solve_unseen
    assert stopped.certificate.gap > 0.0
    assert (stopped.beta >= problem.lower).all() and (
        stopped.beta <= problem.upper
    ).all()


def test_a_monitor_sees_progress_and_may_stop():
    seen = []

    def monitor(n_iter, violation, active):
        seen.append((n_iter, violation, active))
        return len(seen) < 3  # False stops

    rng = np.random.default_rng(0)
    X = rng.standard_normal((6_000, 10))
    y = np.where(rng.random(6_000) > 0.5, 1.0, -1.0)
    # noise and a wide kernel: seconds, where the monitor is called every 20 ms
    problem = classification_problem(Gram(X, Gaussian(0.01)), y, 1e5)
    stopped = solve(problem, SolveOptions(monitor=monitor, tol=1e-6))
    assert len(seen) == 3
    assert stopped.status == "interrupted"


@pytest.mark.parametrize("cache_mb", [1.0, 10.0, 400.0])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_large_enough_for_blocks_and_stages(cache_mb, form):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((7_000, 6))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(7_000) > 0, 1.0, -1.0)
    given = sparse.csr_matrix(X) if form == "csr" else X
    gram = Gram(given, Gaussian(0.3), cache_mb=cache_mb, threads=2)
    solution = solve(classification_problem(gram, y, 3.0))
    support = np.flatnonzero(solution.beta)
    values = np.zeros(7_000)
    for rows in np.array_split(np.arange(7_000), 7):
        block = kernel_matrix(Gaussian(0.3), X[rows], X[support])
        values[rows] = block @ solution.beta[support]
    gradient = values - y
    up = gradient[solution.beta < solution.problem.upper].min()
    down = gradient[solution.beta > solution.problem.lower].max()
    assert down - up <= 1e-3 + 1e-4
    assert_allclose(solution.values, values, atol=1e-4)
    assert abs(solution.beta.sum()) <= 1e-12 * np.abs(solution.beta).sum()
    assert solution.status in ("converged", "polished")


def test_exact_says_polished():
    solution = solve(dual(small(1)), SolveOptions(exact=True))
    assert solution.status == "polished"
    assert solution.certificate.kkt_violation <= 1e-9


@pytest.mark.parametrize("seed", [2, 8, 19, 23, 30, 32, 38])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 1.0, 1.0)], ids=str)
def test_rows_equal_but_for_float32_are_no_obstacle_to_exact(kernel, seed):
    """The polish alone stopped at 1e-8 to 1e-7 on eight of these."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (40, 2)).astype(float)
    y = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    X = (X + 0.7 * (y > 0)[:, None]).astype(np.float32)
    problem = classification_problem(Gram(X, kernel), y, 5.0 * np.ones(40))
    solution = solve(problem, SolveOptions(exact=True))
    assert solution.status == "polished"
    K = kernel_matrix(kernel, X.astype(float))
    assert_certified(solution, K, tol=1e-8, rounding=1e-9)


def test_options_that_cannot_be_met_are_refused_by_name():
    for tol in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="tol"):
            SolveOptions(tol=tol)
    with pytest.raises(ValueError, match="selection"):
        SolveOptions(selection="third_order")
    with pytest.raises(ValueError, match="start"):
        solve(dual(small(1)), start=np.zeros(3))


@pytest.mark.parametrize("n", [*range(2, 12), 17, 31])
def test_what_the_memory_held_before_does_not_matter(n):
    """Rows are padded to whole vectors, and nobody clears the padding."""
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 2)), np.where(np.arange(n) % 2, 1.0, -1.0)
    for size in (16, 64, 256, 1024, 4096):
        left_behind = [np.full(size, np.nan, dtype=np.float32) for _ in range(50)]
        del left_behind
        problem = classification_problem(Gram(X, Gaussian(1.0)), y, np.ones(n))
        solution = solve(problem, SolveOptions(tol=1e-4, polish_limit=0))
        assert solution.status == "converged"
        assert_certified(solution, kernel_matrix(Gaussian(1.0), X), tol=1e-4)


def creeping(n=500, C=1e4):
    """Return a problem whose pair steps creep: smooth kernel, few features, large C."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.where(rng.random(n) < 0.15, -1.0, 1.0) * np.sign(
        X[:, 0] - 0.5 * X[:, 1] ** 2
    )
    gram = Gram(X, Gaussian(1.0))
    return X, classification_problem(gram, y, np.full(n, C), True)


def test_where_pair_steps_creep_a_path_ends_the_solve(monkeypatch):
    X, problem = creeping()
    matrix = kernel_matrix(Gaussian(1.0), X)
    leapt = solve(problem, SolveOptions(tol=1e-3))
    assert leapt.n_iter % problem.n == 0  # it paused, and did not go on in pairs
    assert_certified(leapt, matrix, tol=1e-8)
    monkeypatch.setattr(refinement, "SLOW", 1_000_000)
    crept = solve(problem, SolveOptions(tol=1e-3))
    assert crept.n_iter > 2 * leapt.n_iter
    assert leapt.certificate.objective <= crept.certificate.objective
    assert_allclose(leapt.certificate.objective, crept.certificate.bound, rtol=1e-3)


@pytest.mark.parametrize("size", [1e4, 1e5])
def test_features_that_nobody_scaled_are_no_matter_of_millions_of_steps(size):
    """The path ends within the tolerance, if not within rounding."""
    rng = np.random.default_rng(0)
    X = size * rng.normal(size=(60, 3))
    y = np.where(X[:, 0] / size + rng.normal(size=60) > 0.0, 1.0, -1.0)
    problem = classification_problem(Gram(X, Linear()), y, np.ones(60))
    solution = solve(problem, SolveOptions(tol=1e-3, max_iter=1_000_000))
    assert solution.status == "converged"
    assert solution.recomputed().certificate.kkt_violation <= 1e-3


def test_a_path_that_gives_up_leaves_the_solve_to_pair_steps(monkeypatch):
    X, problem = creeping(200, 1e3)
    asked = []

    def gives_up(near, seed=0):
        asked.append(near.n_iter)
        return None, near.beta, None

    monkeypatch.setattr(refinement, "SLOW", 1)
    monkeypatch.setattr(refinement, "STEP_SECONDS", 1.0)
    monkeypatch.setattr(refinement, "repair", gives_up)
    solution = solve(problem, SolveOptions(tol=1e-3))
    assert len(asked) > 1
    assert_certified(solution, kernel_matrix(Gaussian(1.0), X), tol=1e-3)


def test_a_limit_of_steps_holds_across_pauses(monkeypatch):
    _, problem = creeping(200, 1e3)
    monkeypatch.setattr(refinement, "SLOW", 1)
    monkeypatch.setattr(refinement, "STEP_SECONDS", 0.0)
    assert solve(problem, SolveOptions(tol=1e-9, max_iter=1000)).n_iter <= 1000
    assert solve(problem, SolveOptions(tol=1e-9, max_iter=1000)).status == "max_iter"

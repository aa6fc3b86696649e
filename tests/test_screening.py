"""Safe screening: what is fixed is certain, at every iterate, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.certificate import dual_objective, duality_gap, intercept_interval
from widemargin.gram import Gram
from widemargin.kernels import Gaussian, Linear, Sigmoid
from widemargin.problem import DualProblem, classification_problem
from widemargin.reproduction.ramp import printed_rule
from widemargin.screening import (
    Screener,
    ball_rule,
    free_masses,
    inflated_gap,
    intercept_bounds,
    interval_rule,
    rank_rule,
    reduce,
    screen,
)
from widemargin.solve import project, solve

from tests.oracles.reference_smo import iterates

ITERATES = 40  # of each random problem, all of them checked
MARGIN = 1e-8  # accuracy to which the reference optimum is known


def random_problem(rng, *, intercept, size=None, clip=True):
    """Return a small problem with zero rows, duplicates, moved boxes and any C."""
    n = size or int(rng.integers(5, 26))
    X = rng.normal(size=(n, int(rng.integers(1, 5))))
    X[rng.random(n) < 0.08] = 0.0
    if rng.random() < 0.3:
        X[: n // 3] = X[rng.integers(0, n, size=n // 3)]
    noise = rng.choice([0.3, 1.0, 3.0])
    y = np.where(X[:, 0] + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    kernel = Linear() if rng.random() < 0.5 else Gaussian(10 ** rng.uniform(-1, 1))
    gram = Gram(X, kernel)
    costs = np.full(n, 10 ** rng.uniform(-1, 2))
    if rng.random() < 0.3:
        costs *= rng.uniform(0.5, 2.0, size=n)
    pull = costs * y
    clipped = (
        (rng.random(n) < 0.2) if clip and rng.random() < 0.4 else np.zeros(n, bool)
    )
    shift = np.where(clipped, pull, 0.0)
    return DualProblem(
        gram,
        y,
        np.minimum(0, pull) - shift,
        np.maximum(0, pull) - shift,
        0.0 if intercept else None,
    )


def matrix(problem):
    return problem.gram.rows(np.arange(problem.gram.n))


class Truth:
    """What is certain at the optimum: who is at which bound in every solution."""

    def __init__(self, problem):
        solution = solve(problem, tol=1e-10, accuracy="exact")
        assert solution.certificate.kkt_violation <= 1e-7
        targets = problem.linear - solution.values
        left = right = 0.0
        if problem.total is not None:
            box = problem.lower, problem.upper, problem.total
            left, right = intercept_interval(solution.values, problem.linear, *box)
        slack = MARGIN * max(1.0, np.abs(targets).max())
        width = problem.upper - problem.lower
        near_lower = solution.beta - problem.lower <= 1e-6 * width
        near_upper = problem.upper - solution.beta <= 1e-6 * width
        self.solution = solution
        self.may_be_lower = (targets <= left + slack) & near_lower
        self.may_be_upper = (targets >= right - slack) & near_upper

    def assert_allows(self, screened):
        assert not np.any(screened.at_lower > self.may_be_lower)
        assert not np.any(screened.at_upper > self.may_be_upper)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_screened_samples_are_decided_at_every_iterate(intercept, seed):
    """4 seeds x 260 problems with and without intercept: 2,080, at every iterate."""
    rng = np.random.default_rng([seed, intercept])
    decided = 0
    for _ in range(260):
        problem = random_problem(rng, intercept=intercept)
        arrays = problem.linear, problem.lower, problem.upper, problem.total
        truth = Truth(problem)
        for point, values in iterates(matrix(problem), *arrays, max_iter=ITERATES):
            screened = screen(problem, point, values)  # both rules: n is small
            truth.assert_allows(screened)
            decided += np.count_nonzero(~screened.active)
    assert decided > 10_000  # a rule that never decides is safe too


def counterexample():
    """Return the problem of mathematics 5.2 after one step, and its optimum."""
    gram = Gram(np.array([[-2.0], [-1.0], [0.0]]), Linear())
    y = np.array([1.0, -1.0, 1.0])
    problem = DualProblem(gram, y, np.minimum(y, 0), np.maximum(y, 0), 0.0)
    return problem, np.array([1.0, -1.0, 0.0]), np.array([0.5, -1.0, 0.5])


def test_three_points_on_which_the_printed_rule_is_wrong():
    problem, beta, best = counterexample()
    solution = solve(problem, tol=1e-12)
    assert_allclose(solution.beta, best, atol=1e-9)
    assert_allclose(solution.intercept, 1.0, atol=1e-9)
    values = problem.gram.times(beta)
    left, right = intercept_interval(
        values, problem.linear, problem.lower, problem.upper, 0.0
    )
    assert_allclose((left + right) / 2, 0.0)
    gap = duality_gap(beta, problem.linear - values, problem.lower, problem.upper)
    assert_allclose(gap, 2.0)
    diagonal = problem.gram.diagonal()
    low, high = printed_rule(values - problem.linear, diagonal, gap)
    assert high[2] and not low[2]  # fixes beta_3 = 1; the optimum has 1/2
    screened = screen(problem, beta, values)
    assert_allclose(screened.gap, 2.0)
    assert screened.active[2]
    Truth(problem).assert_allows(screened)


def test_printed_rule_is_wrong_on_random_problems_too():
    """Shows that the random problems above can tell a safe rule from an unsafe one."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(100):
        problem = random_problem(rng, intercept=True)
        box = problem.lower, problem.upper
        best = problem.linear - Truth(problem).solution.values
        left, right = intercept_interval(
            problem.linear - best, problem.linear, *box, problem.total
        )
        arrays = problem.linear, *box, problem.total
        for point, values in iterates(matrix(problem), *arrays, max_iter=10):
            ends = intercept_interval(values, *arrays)
            gradient = values + sum(ends) / 2 - problem.linear
            gap = duality_gap(point, -gradient, *box)
            low, high = printed_rule(gradient, problem.gram.diagonal(), gap)
            wrong += np.count_nonzero(low & (best > right + 1e-6))
            wrong += np.count_nonzero(high & (best < left - 1e-6))
    assert wrong > 0


@pytest.mark.parametrize("error", [0.0, 1e-3])
def test_inflated_gap_bounds_the_gap_of_every_reading(error):
    rng = np.random.default_rng(1)
    for _ in range(50):
        problem = random_problem(rng, intercept=True)
        box = problem.lower, problem.upper
        beta = rng.uniform(*box)
        residual = rng.normal(size=problem.n)
        bound = inflated_gap(beta, residual, *box, error)
        if error == 0.0:
            assert_allclose(bound, duality_gap(beta, residual, *box), rtol=1e-12)
        for _ in range(5):
            misread = residual + rng.uniform(-error, error, size=problem.n)
            assert duality_gap(beta, misread, *box) <= bound * (1 + 1e-12)


def test_values_with_a_known_error_still_decide_safely():
    """Kernel values in float32 are such a case."""
    rng = np.random.default_rng(2)
    decided = 0
    for _ in range(100):
        problem = random_problem(rng, intercept=True)
        truth = Truth(problem)
        arrays = problem.linear, problem.lower, problem.upper, problem.total
        for point, values in iterates(matrix(problem), *arrays, max_iter=30):
            noise = rng.uniform(-1e-3, 1e-3, size=problem.n)
            screened = screen(problem, point, values + noise, error=1e-3)
            decided += np.count_nonzero(~screened.active)
            truth.assert_allows(screened)
    assert decided > 1000


def test_rank_rule_decides_what_the_interval_rule_decides_and_more():
    rng = np.random.default_rng(3)
    more = 0
    for _ in range(60):
        problem = random_problem(rng, intercept=True)
        arrays = problem.linear, problem.lower, problem.upper, problem.total
        for point, values in iterates(matrix(problem), *arrays, max_iter=20):
            interval = screen(problem, point, values, rank=False)
            rank = screen(problem, point, values, rank=True)
            assert np.all(rank.at_lower >= interval.at_lower)
            assert np.all(rank.at_upper >= interval.at_upper)
            more += np.count_nonzero(~rank.active) - np.count_nonzero(~interval.active)
    assert more > 100


def test_rank_rule_alone_equals_its_definition():
    rng = np.random.default_rng(4)
    for _ in range(30):
        n = 12
        targets, lower = rng.normal(size=n), -rng.uniform(size=n)
        upper = lower + rng.uniform(0.5, 1.5, size=n)
        total = float(rng.uniform(lower.sum(), upper.sum()))
        reach = rng.uniform(0, 1, size=(n, n))
        width, needed = upper - lower, upper.sum() - total
        low, high = rank_rule(targets, np.arange(n), reach, lower, upper, total)
        for i in range(n):
            above = sum(
                width[j] for j in range(n) if targets[j] - targets[i] > reach[i, j]
            )
            below = sum(
                width[j] for j in range(n) if targets[i] - targets[j] > reach[i, j]
            )
            assert low[i] == (above > width.sum() - needed)
            assert high[i] == (below > needed)


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_nothing_is_decided_by_an_unbounded_intercept(end):
    """All of one class clipped: the intercept has no bound on one side (0.2)."""
    lower, upper = np.zeros(4), np.ones(4)
    total = 0.0 if end == "lower" else 4.0
    targets = np.array([-3.0, -1.0, 1.0, 3.0])
    for masks in (
        interval_rule(targets, np.full(4, 1e-3), lower, upper, total),
        rank_rule(targets, np.arange(4), np.full((4, 4), 1e-3), lower, upper, total),
    ):
        assert not np.any(masks)


def test_a_quantile_reached_only_up_to_rounding_does_not_slip():
    """Ten boxes of 0.1 sum to less than 1 in floating point."""
    n = 20
    upper, lower = np.full(n, 0.1), np.zeros(n)
    targets = np.arange(n, dtype=float)
    low, high = interval_rule(targets, np.full(n, 1e-6), lower, upper, 1.0)
    # mass 1 below the intercept: it lies between the tenth and the eleventh target
    assert_array_equal(np.flatnonzero(low), np.arange(9))
    assert_array_equal(np.flatnonzero(high), np.arange(11, n))


def test_a_box_without_width_is_decided_from_the_start():
    problem = random_problem(np.random.default_rng(5), intercept=True, size=10)
    upper = problem.upper.copy()
    upper[3] = problem.lower[3]
    problem = DualProblem(problem.gram, problem.linear, problem.lower, upper, 0.0)
    screened = screen(problem, np.zeros(10), np.zeros(10))
    assert screened.at_lower[3] and not screened.at_upper[3]


def test_ball_rule_keeps_the_sign():
    low, high = ball_rule(np.array([2.0, -2.0, 0.5, -0.5]), np.ones(4))
    assert_array_equal(low, [True, False, False, False])
    assert_array_equal(high, [False, True, False, False])


@pytest.mark.parametrize("intercept", [True, False])
def test_reduced_problem_has_the_corrected_sum_and_the_same_optimum(intercept):
    rng = np.random.default_rng(6)
    reduced = moved = 0
    for _ in range(60):
        problem = random_problem(rng, intercept=intercept)
        optimum = solve(problem, tol=1e-10, accuracy="exact")
        # Near the optimum, but with every sample a little off its bound.
        point = project(
            0.999 * optimum.beta + 0.0005 * (problem.lower + problem.upper),
            problem.lower,
            problem.upper,
            problem.total,
        )
        screened = screen(problem, point, problem.gram.times(point))
        if not 0 < np.count_nonzero(screened.active) < problem.n:
            continue
        reduced += 1
        rest = reduce(problem, screened, point)
        moved += not np.array_equal(rest.beta, point)
        part = rest.problem
        if intercept:
            fixed = np.delete(rest.beta, rest.active)
            assert_allclose(part.total, problem.total - fixed.sum(), atol=1e-10)
            scale = max(1.0, np.abs(rest.beta).sum())
            assert_allclose(rest.beta.sum(), problem.total, atol=1e-12 * scale)
        assert np.all(rest.beta >= problem.lower) and np.all(rest.beta <= problem.upper)
        assert_array_equal(
            rest.beta[screened.at_lower], problem.lower[screened.at_lower]
        )
        assert_array_equal(
            rest.beta[screened.at_upper], problem.upper[screened.at_upper]
        )
        small = solve(part, tol=1e-10, start=rest.beta[rest.active])
        whole = solve(problem, tol=1e-10)
        beta = rest.embed(small.beta)
        dual = [
            dual_objective(b, problem.gram.times(b), problem.linear)
            for b in (beta, whole.beta)
        ]
        assert_allclose(dual[0], dual[1], rtol=1e-9, atol=1e-12)
    assert reduced >= 20 and moved >= 15


@pytest.mark.parametrize("rank", [True, False])
def test_at_the_optimum_only_margin_and_degenerate_samples_stay(rank):
    """Property 2, corrected: what stays has its target at an optimal intercept."""
    rng = np.random.default_rng(7)
    number = 0
    while number < 50:
        problem = random_problem(rng, intercept=True)
        solution = solve(problem, tol=1e-12, accuracy="exact")
        screened = screen(problem, solution.beta, solution.values, rank=rank)
        targets = problem.linear - solution.values
        left, right = intercept_interval(
            solution.values, problem.linear, problem.lower, problem.upper, problem.total
        )
        below, above = free_masses(problem.lower, problem.upper, problem.total)
        if min(below, above) <= 0.0:
            continue  # one side of the intercept is open: nothing can be screened
        number += 1
        reach = np.sqrt(screened.gap * problem.gram.diagonal().max()) + 1e-8
        stays = (targets >= left - 2 * reach) & (targets <= right + 2 * reach)
        assert reach < 1e-3, number
        assert np.all(screened.active <= stays), number


def blobs(n, *, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return rng.normal(scale=noise, size=(n, 3)) + np.outer(y, [1.0, 0.5, 0.0]), y


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("rank", [True, False])
def test_solving_with_and_without_screening_is_the_same(
    shrinking, tol, intercept, rank
):
    X, y = blobs(1000)
    problem = classification_problem(
        Gram(X, Gaussian(0.3)), y, np.full(1000, 5.0), intercept
    )
    screener = Screener(smallest=0, rank=rank)
    screened = solve(problem, tol=tol, shrinking=shrinking, screen=screener)
    plain = solve(problem, tol=tol, shrinking=shrinking)
    for solution in (screened, plain):
        assert solution.status == "converged"
        assert solution.recomputed().certificate.kkt_violation <= tol
    ours, theirs = screened.certificate, plain.certificate
    assert abs(ours.objective - theirs.objective) <= max(ours.gap, theirs.gap)
    if tol < 1e-6:
        assert_allclose(ours.objective, theirs.objective, rtol=1e-9)
        assert screener.checks[-1]["share"] > 0.5
    shares = [check["share"] for check in screener.checks]
    assert shares and all(0.0 <= share < 1.0 for share in shares)


def test_after_the_polish_the_objectives_agree_to_nine_digits():
    rng = np.random.default_rng(8)
    for _ in range(60):
        problem = random_problem(rng, intercept=bool(rng.random() < 0.5), size=25)
        ends = [
            solve(problem, tol=1e-9, accuracy="exact", screen=screener).certificate
            for screener in (None, Screener(smallest=0, rank=True))
        ]
        assert ends[0].kkt_violation <= 1e-8 and ends[1].kkt_violation <= 1e-8
        assert_allclose(ends[0].objective, ends[1].objective, rtol=1e-9, atol=1e-12)


def test_a_warm_start_is_screened_before_the_first_step():
    """Propagation (5.4): the rule at the start decides without a step or a row."""
    X, y = blobs(3000)
    gram = Gram(X, Gaussian(0.3), cache_mb=400)
    problem = classification_problem(gram, y, np.full(3000, 1.0))
    first = solve(problem, tol=1e-7)
    before = gram.evaluated
    screener = Screener()
    again = solve(problem, tol=1e-7, start=first, screen=screener)
    assert screener.checks[0]["n_iter"] == 0
    assert screener.checks[0]["share"] > 0.8
    assert gram.evaluated - before < 0.05 * 3000 * len(first.support)
    assert_allclose(again.beta, first.beta)


def test_a_sample_wrongly_removed_comes_back():
    """The last look is at all samples, whoever decided: a bad rule cannot spoil it."""
    X, y = blobs(800)
    problem = classification_problem(Gram(X, Gaussian(0.3)), y, np.full(800, 1.0))
    calls = []

    def reckless(problem, n_iter, remaining, beta, gradient, error):
        calls.append(len(remaining))
        keep = np.ones(len(remaining), dtype=bool)
        keep[: len(remaining) // 2] = False
        return keep

    solution = solve(problem, tol=1e-4, shrinking=False, screen=reckless)
    assert calls
    assert solution.recomputed().certificate.kkt_violation <= 1e-4


def test_an_error_in_the_rule_reaches_the_caller():
    X, y = blobs(800)
    problem = classification_problem(Gram(X, Gaussian(0.3)), y, np.full(800, 1.0))

    def broken(*arguments):
        raise RuntimeError("a rule that fails")

    with pytest.raises(RuntimeError, match="a rule that fails"):
        solve(problem, tol=1e-4, shrinking=False, screen=broken)


def test_an_indefinite_kernel_is_not_screened():
    X, y = blobs(300)
    remaining = np.arange(300, dtype=np.int32)
    kept = []
    for kernel in (Gaussian(0.3), Sigmoid(0.5, -1.0)):
        problem = classification_problem(Gram(X, kernel), y, np.full(300, 1.0))
        solution = solve(
            classification_problem(Gram(X, Gaussian(0.3)), y, np.full(300, 1.0)),
            tol=1e-8,
        )
        gradient = solution.values - y
        keep = Screener(smallest=0)(problem, 0, remaining, solution.beta, gradient, 0.0)
        kept.append(np.count_nonzero(keep))
    assert kept[0] < 150 and kept[1] == 300


def test_removed_samples_pull_as_fixed_ones_do():
    """The engine's remaining samples are the reduced problem: same sum, same rule."""
    rng = np.random.default_rng(16)
    compared = 0
    for _ in range(80):
        problem = random_problem(rng, intercept=True)
        rough = solve(problem, tol=1e-2)
        first = screen(problem, rough.beta, rough.values, rank=False)
        if not 2 < np.count_nonzero(first.active) < problem.n:
            continue
        compared += 1
        rest = reduce(problem, first, rough.beta)
        part = rest.problem
        point = rest.beta[rest.active]
        apart = screen(part, point, part.gram.times(point), rank=False)
        settled = (apart.at_lower & (point == part.lower)) | (
            apart.at_upper & (point == part.upper)
        )
        gradient = problem.gram.times(rest.beta) - problem.linear
        screener = Screener(smallest=0)
        keep = screener(
            problem, 0, rest.active.astype(np.int32), rest.beta, gradient, 0.0
        )
        assert_allclose(screener.checks[0]["gap"], apart.gap, rtol=1e-6, atol=1e-9)
        assert_array_equal(keep, ~settled)
    assert compared >= 30


def test_few_samples_are_not_checked():
    X, y = blobs(300)
    problem = classification_problem(Gram(X, Gaussian(0.3)), y, np.full(300, 1.0))
    screener = Screener(smallest=301)
    assert solve(problem, screen=screener).converged
    assert screener.checks == []


def test_intercept_bounds_are_those_of_the_certificate():
    rng = np.random.default_rng(9)
    for equal in (True, False):
        for _ in range(50):
            n = int(rng.integers(2, 30))
            targets = rng.choice(rng.normal(size=n), size=n)  # with ties
            width = np.full(n, 0.1) if equal else rng.uniform(0.1, 1.0, size=n)
            share = rng.integers(1, n) / n if equal else rng.uniform(0.05, 0.95)
            below = float(share * width.sum())
            ours = intercept_bounds(targets, width, below)
            theirs = intercept_interval(
                np.zeros(n), targets, np.zeros(n), width, width.sum() - below
            )
            assert_allclose(ours, theirs, rtol=1e-12)
    assert intercept_bounds(np.array([1.0, 2.0]), np.zeros(2), 0.0) == (1.0, 2.0)

"""Safe screening: what is fixed is certain, at every iterate, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.certificate import dual_objective, duality_gap
from widemargin.engine.feasible import project
from widemargin.engine.gram import Gram
from widemargin.engine.intercept import intercept_interval as interval
from widemargin.engine.kernels import Linear
from widemargin.engine.problem import DualProblem
from widemargin.engine.screening.rules import (
    ball_rule,
    free_masses,
    inflated_gap,
    intercept_bounds,
    interval_rule,
    rank_rule,
    screen,
)
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin_papers.ramp.printed_rules import printed_rule

from tests.engine.screened_problems import random_problem, with_decided_fixed
from tests.oracles.reference_smo import iterates

ITERATES = 200  # of each random problem at most, all of them checked
MARGIN = 1e-8  # accuracy to which the reference optimum is known


def matrix(problem):
    return problem.gram.rows(np.arange(problem.gram.n))


class Truth:
    """What is certain at the optimum: who is at which bound in every solution."""

    def __init__(self, problem):
        solution = solve(problem, SolveOptions(tol=1e-10, exact=True))
        assert solution.certificate.kkt_violation <= 1e-7
        targets = problem.linear - solution.values
        left = right = 0.0
        if problem.total is not None:
            box = problem.lower, problem.upper, problem.total
            left, right = interval(solution.values, problem.linear, *box)
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


def later_points(problem):
    """Points on the way to the optimum that pair steps would reach after their cut."""
    for tol in (1e-1, 1e-3, 1e-5, 1e-7):
        beta = solve(problem, SolveOptions(tol=tol)).beta
        yield beta, problem.gram.times(beta)


CAMPAIGN = [pytest.param(260, seed, marks=pytest.mark.campaign) for seed in range(4)]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("problems", "seed"), [(200, 4), *CAMPAIGN])
def test_screened_samples_are_decided_at_every_iterate(intercept, problems, seed):
    """Follow most runs to their end; look at four places more of those cut short."""
    rng = np.random.default_rng([seed, intercept])
    decided = ended = 0
    for _ in range(problems):
        problem = random_problem(rng, intercept=intercept)
        arrays = problem.linear, problem.lower, problem.upper, problem.total
        truth = Truth(problem)
        points = iterates(matrix(problem), *arrays, tol=1e-6, max_iter=ITERATES)
        steps = -1  # the first point is the start
        for point, values in points:
            steps += 1
            screened = screen(problem, point, values)  # both rules: n is small
            truth.assert_allows(screened)
            decided += np.count_nonzero(~screened.active)
        ended += steps < ITERATES
        for point, values in later_points(problem) if steps == ITERATES else ():
            truth.assert_allows(screen(problem, point, values))
    assert decided > 40 * problems  # a rule that never decides is safe too
    assert ended > 0.55 * problems


def counterexample():
    """Return the problem of mathematics 5.2 after one step, and its optimum."""
    gram = Gram(np.array([[-2.0], [-1.0], [0.0]]), Linear())
    y = np.array([1.0, -1.0, 1.0])
    problem = DualProblem(gram, y, np.minimum(y, 0), np.maximum(y, 0), 0.0)
    return problem, np.array([1.0, -1.0, 0.0]), np.array([0.5, -1.0, 0.5])


def test_three_points_on_which_the_printed_rule_is_wrong():
    problem, beta, best = counterexample()
    solution = solve(problem, SolveOptions(tol=1e-12))
    assert_allclose(solution.beta, best, atol=1e-9)
    assert_allclose(solution.intercept, 1.0, atol=1e-9)
    values = problem.gram.times(beta)
    left, right = interval(values, problem.linear, problem.lower, problem.upper, 0.0)
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
        left, right = interval(
            problem.linear - best, problem.linear, *box, problem.total
        )
        arrays = problem.linear, *box, problem.total
        for point, values in iterates(matrix(problem), *arrays, max_iter=10):
            ends = interval(values, *arrays)
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


@pytest.mark.parametrize("equal", [True, False])
def test_rank_rule_alone_equals_its_definition(equal):
    """With equal boxes the masses meet exactly: then the intercept may be at ``i``."""
    rng = np.random.default_rng(4)
    for _ in range(30):
        n = 12
        targets = rng.normal(size=n)
        lower = -np.ones(n) if equal else -rng.uniform(size=n)
        upper = lower + (1.0 if equal else rng.uniform(0.5, 1.5, size=n))
        total = float(rng.uniform(lower.sum(), upper.sum()))
        total = -float(rng.integers(1, n)) if equal else total
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
        optimum = solve(problem, SolveOptions(tol=1e-10, exact=True))
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
        part, active, start = with_decided_fixed(problem, screened, point)
        moved += not np.array_equal(start, point)
        if intercept:
            fixed = np.delete(start, active)
            assert_allclose(part.total, problem.total - fixed.sum(), atol=1e-10)
            scale = max(1.0, np.abs(start).sum())
            assert_allclose(start.sum(), problem.total, atol=1e-12 * scale)
        assert np.all(start >= problem.lower) and np.all(start <= problem.upper)
        for decided, bound in (
            (screened.at_lower, problem.lower),
            (screened.at_upper, problem.upper),
        ):
            assert_array_equal(start[decided], bound[decided])
        small = solve(part, SolveOptions(tol=1e-10), start=start[active])
        whole = solve(problem, SolveOptions(tol=1e-10))
        beta = start.copy()
        beta[active] = small.beta
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
        solution = solve(problem, SolveOptions(tol=1e-12, exact=True))
        screened = screen(problem, solution.beta, solution.values, rank=rank)
        targets = problem.linear - solution.values
        left, right = interval(
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


@pytest.mark.parametrize("rank", [True, False])
def test_on_the_way_only_margin_and_degenerate_samples_stay(rank):
    """Property 2, corrected: after finitely many steps, and before the last."""
    rng = np.random.default_rng(7)
    number = early = 0
    while number < 50:
        problem = random_problem(rng, intercept=True)
        arrays = problem.linear, problem.lower, problem.upper, problem.total
        if min(free_masses(*arrays[1:])) <= 0.0:
            continue  # one side of the intercept is open: nothing can be screened
        points = list(iterates(matrix(problem), *arrays, tol=1e-12, max_iter=3000))
        if len(points) > 3000:
            continue  # pair steps creep: cut before its end
        number += 1
        values = solve(problem, SolveOptions(tol=1e-12, exact=True)).values
        targets = problem.linear - values
        left, right = interval(values, *arrays)
        slack = 1e-4 * max(1.0, np.abs(targets).max())
        stays = (targets >= left - slack) & (targets <= right + slack)

        def settled(point, problem=problem, stays=stays):
            return np.all(screen(problem, *point, rank=rank).active <= stays)

        assert settled(points[-1]), number
        early += any(settled(point) for point in points[:-1])
    # the others reach a vertex, and the gap zero, by their last step
    assert early >= 30


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
            theirs = interval(
                np.zeros(n), targets, np.zeros(n), width, width.sum() - below
            )
            assert_allclose(ours, theirs, rtol=1e-12)
    assert intercept_bounds(np.array([1.0, 2.0]), np.zeros(2), 0.0) == (1.0, 2.0)

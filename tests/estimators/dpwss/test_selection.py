"""The drawn pair rule: compiled against readable, and against the law it claims."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from widemargin.engine.certificate import dual_objective
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Linear
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import DrawnPairs, solve
from widemargin.engine.solve_options import SolveOptions

from tests.certified import assert_certified
from tests.oracles.drawn_pairs import candidates, draw_probabilities
from tests.problems import Named, dual


def overlapping(seed=0, n=40, d=4, cost=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + 0.4 * y[:, None]
    return dual(Named("overlapping", X, y, Linear(), cost))


def halfway(problem, steps=15):
    """A feasible point in the middle of a run, where scores differ."""
    return solve(problem, SolveOptions(selection=DrawnPairs(), max_iter=steps, seed=3))


def at(problem, point):
    gradient = point.values - problem.linear
    return point.beta, gradient, problem.lower, problem.upper


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 200.0])
@pytest.mark.parametrize("sigma", [0.1, 0.7])
def test_draws_match_the_softmax(epsilon, sigma):
    # Chi-square over 4000 seeds; false-alarm rate 1e-4 if the seeds were fresh.
    problem = overlapping()
    point = halfway(problem)
    expected = candidates(*at(problem, point), sigma=sigma)
    law = draw_probabilities(expected.scores, epsilon, sigma)
    assert len(law) >= 3
    counts = np.zeros(problem.n)
    rule = DrawnPairs(epsilon, sigma)
    for seed in range(4000):
        after = solve(
            problem, SolveOptions(selection=rule, max_iter=1, seed=seed), start=point
        )
        change = after.beta - point.beta
        assert np.argmax(change) == expected.i
        counts[np.argmin(change)] += 1
    drawn = counts[expected.members]
    assert drawn.sum() == 4000
    likely = 4000 * law >= 5
    observed = np.append(drawn[likely], drawn[~likely].sum())
    wanted = np.append(4000 * law[likely], 4000 * law[~likely].sum())
    keep = wanted > 1e-9
    if keep.sum() > 1:
        test = stats.chisquare(observed[keep], wanted[keep])
        assert test.pvalue > 1e-4


def test_the_first_draw_is_uniform_over_the_other_class():
    problem = overlapping()
    start = np.zeros(problem.n)
    first = candidates(start, -problem.linear, problem.lower, problem.upper, sigma=0.7)
    assert_allclose(first.scores, 1.0)
    assert_allclose(
        sorted(problem.linear[first.members]), np.full(problem.n // 2, -1.0)
    )
    assert first.i == np.flatnonzero(problem.linear > 0)[-1]  # LIBSVM's tie rule


def replay(problem, rule, seed, steps):
    """Follow a compiled run step by step and check each against the readable rule."""
    used: set[tuple[int, int]] = set()
    point = solve(problem, SolveOptions(selection=rule, max_iter=0, seed=seed))
    for step in range(1, steps + 1):
        wanted = candidates(
            *at(problem, point),
            sigma=rule.sigma,
            used=used if rule.once else frozenset(),
            robust_maximum=rule.robust_maximum,
        )
        after = solve(
            problem,
            SolveOptions(selection=rule, max_iter=step, seed=seed, shrinking=False),
        )
        if after.n_iter < step:
            return point, wanted, after.status
        change = after.beta - point.beta
        if change.any():  # a step clipped to nothing leaves no trace
            i, j = int(np.argmax(change)), int(np.argmin(change))
            gradient = point.values - problem.linear
            if i == wanted.i and rule.sigma < 0.99:
                assert j in wanted.members
            # Equal up to rounding may be told apart differently.
            assert gradient[i] <= gradient[wanted.i] + 1e-12
            assert gradient[j] >= gradient[wanted.members].min() - 1e-12
            assert (i, j) not in used or not rule.once
            used.add((i, j))
        point = after
    return point, wanted, point.status


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("once", [False, True])
def test_the_compiled_rule_follows_the_readable_one(once, robust):
    problem = overlapping(n=14, d=2)
    rule = DrawnPairs(1.0, 0.5, once, robust)
    point, _, status = replay(problem, rule, seed=4, steps=60)
    assert point.n_iter >= 5 and status in ("max_iter", "exhausted", "converged")


def test_exhausted_means_no_candidate_is_left():
    problem = overlapping(n=14, d=2)
    point, left, status = replay(problem, DrawnPairs(1.0, 0.7), seed=1, steps=500)
    assert status == "exhausted"
    assert len(left.members) == 0 and left.violation > 1e-3
    assert point.certificate.kkt_violation == pytest.approx(left.violation)


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("sigma", [0.1, 0.5, 0.9])
def test_without_the_once_rule_it_converges(sigma, shrinking):
    problem = overlapping(n=80)
    exact = solve(problem, SolveOptions(exact=True))
    drawn = solve(
        problem,
        SolveOptions(selection=DrawnPairs(1.0, sigma, once=False), shrinking=shrinking),
    )
    assert drawn.status == "converged"
    K = problem.gram.rows(np.arange(problem.n))
    assert_certified(drawn, K, tol=1e-3)
    best = dual_objective(exact.beta, exact.values, problem.linear)
    found = dual_objective(drawn.beta, drawn.values, problem.linear)
    assert_allclose(found, best, rtol=1e-4)


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("shrinking", [False, True])
def test_objective_never_rises_and_the_sum_stays(once, shrinking):
    problem = overlapping(n=60)
    rule = DrawnPairs(0.1, 0.3, once)
    last = 0.0
    for steps in range(1, 150, 4):
        point = solve(
            problem,
            SolveOptions(selection=rule, max_iter=steps, seed=7, shrinking=shrinking),
        )
        now = dual_objective(point.beta, point.values, problem.linear)
        assert now <= last + 1e-12 * abs(last)
        assert abs(point.beta.sum()) <= 1e-12 * np.abs(point.beta).sum()
        assert (point.beta >= problem.lower).all()
        assert (point.beta <= problem.upper).all()
        last = now


@pytest.mark.parametrize("sigma", [1.0, 1 - 1e-12])
def test_sigma_to_one_is_the_maximal_violating_pair(sigma):
    problem = overlapping(n=14, d=2)
    rule = DrawnPairs(1.0, sigma, once=False)
    replay(problem, rule, seed=0, steps=80)  # each step is one of the admitted pairs
    for steps in (5, 10, 20, 40):  # and these are the maximal ones alone
        point = solve(problem, SolveOptions(selection=rule, max_iter=steps, seed=0))
        _, gradient, lower, upper = at(problem, point)
        admitted = candidates(point.beta, gradient, lower, upper, sigma=sigma)
        assert gradient[admitted.i] == gradient[point.beta < upper].min()
        largest = gradient[point.beta > lower].max()
        assert_allclose(gradient[admitted.members], largest, rtol=1e-9)
    drawn = solve(problem, SolveOptions(selection=rule))
    wss1 = solve(problem, SolveOptions(selection="first_order"))
    assert drawn.status == wss1.status == "converged"
    ends = [dual_objective(s.beta, s.values, problem.linear) for s in (drawn, wss1)]
    assert_allclose(*ends, rtol=1e-5)


def test_at_sigma_one_ties_are_drawn_uniformly():
    problem = overlapping()  # at zero every pair of the two classes ties
    rule = DrawnPairs(1.0, 1.0)
    counts = np.zeros(problem.n)
    for seed in range(2000):
        after = solve(problem, SolveOptions(selection=rule, max_iter=1, seed=seed))
        counts[after.beta < 0] += 1
    negatives = counts[problem.linear < 0]
    assert negatives.sum() == 2000
    assert stats.chisquare(negatives).pvalue > 1e-4  # false-alarm rate 1e-4


def test_infinite_epsilon_takes_the_best_and_draws_nothing():
    problem = overlapping(n=50)
    rule = DrawnPairs(np.inf, 0.3, once=False)
    runs = [
        solve(problem, SolveOptions(selection=rule, seed=seed)).beta
        for seed in range(3)
    ]
    assert_allclose(runs[0], runs[1], atol=0)
    assert_allclose(runs[0], runs[2], atol=0)
    assert draw_probabilities(np.array([0.5, 1.0, 1.0]), np.inf, 0.3).tolist() == [
        0.0,
        0.5,
        0.5,
    ]


def test_once_uses_every_ordered_pair_at_most_once():
    problem = overlapping(n=10, d=2)
    run = solve(problem, SolveOptions(selection=DrawnPairs(1.0, 0.01), seed=0))
    assert run.n_iter <= 10 * 9
    free = solve(
        problem, SolveOptions(selection=DrawnPairs(1.0, 0.01, once=False), seed=0)
    )
    assert free.status == "converged"


def test_robust_maximum_stops_later_on_average():
    problem = overlapping(n=60)
    ends = {True: [], False: []}
    for robust in ends:
        for seed in range(20):
            run = solve(
                problem,
                SolveOptions(selection=DrawnPairs(1.0, 0.7, True, robust), seed=seed),
            )
            ends[robust].append(dual_objective(run.beta, run.values, problem.linear))
    assert np.mean(ends[True]) < np.mean(ends[False])


@pytest.mark.parametrize("rule", [DrawnPairs(), "libsvm_second_order", "first_order"])
def test_pair_rules_start_at_zero_however_many_rows(rule):
    problem = overlapping(n=30000, d=3)
    assert not solve(problem, SolveOptions(selection=rule, max_iter=0)).beta.any()
    one = solve(problem, SolveOptions(selection=rule, max_iter=1))
    assert np.count_nonzero(one.beta) == 2


@pytest.mark.parametrize("rule", [DrawnPairs(1.0, 0.3, False), "second_order"])
def test_rows_leaving_the_cache_change_nothing(rule):
    # Rows are read where the cache has them: the first of a pair must outlive the
    # fetching of the second, also when the cache holds its least, four rows.
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 5)), np.where(np.arange(300) % 2 == 0, 1.0, -1.0)
    ends = []
    for megabytes in (100.0, 1e-3):
        gram = Gram(X, Linear(), cache_mb=megabytes)
        run = solve(
            classification_problem(gram, y, np.full(300, 10.0)),
            SolveOptions(selection=rule, max_iter=2000, seed=5),
        )
        ends.append((gram.evaluated, run.beta))
    assert ends[1][0] > 2 * ends[0][0]  # rows did leave
    assert_array_equal(ends[0][1], ends[1][1])


def test_draws_need_an_intercept():
    problem = overlapping()
    free = dual(
        Named("free", np.eye(4), np.array([1.0, -1, 1, -1]), Linear()),
        fit_intercept=False,
    )
    with pytest.raises(ValueError, match="needs an intercept"):
        solve(free, SolveOptions(selection=DrawnPairs()))
    assert (
        solve(problem, SolveOptions(selection=DrawnPairs(), max_iter=3)).status
        == "max_iter"
    )

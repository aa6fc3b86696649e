"""Safe screening inside a solve: the same answer, sooner, and mistakes come back."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Laplacian, Polynomial, Sigmoid
from widemargin.engine.polish import polish
from widemargin.engine.problem import classification_problem
from widemargin.engine.screening.rules import screen
from widemargin.engine.screening.screener import Screener
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions

from tests.engine.screened_problems import random_problem, with_decided_fixed


def blobs(n, *, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return rng.normal(scale=noise, size=(n, 3)) + np.outer(y, [1.0, 0.5, 0.0]), y


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("rank", [True, False])
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.1)], ids=str)
def test_solving_with_and_without_screening_is_the_same(
    shrinking, tol, intercept, rank, kernel
):
    X, y = blobs(1000)
    problem = classification_problem(Gram(X, kernel), y, np.full(1000, 5.0), intercept)
    screener = Screener(smallest=0, rank=rank)
    screened = solve(
        problem, SolveOptions(tol=tol, shrinking=shrinking, screen=screener)
    )
    plain = solve(problem, SolveOptions(tol=tol, shrinking=shrinking))
    for solution in (screened, plain):
        assert solution.status == "converged"
        assert solution.recomputed().certificate.kkt_violation <= tol
    ours, theirs = screened.certificate, plain.certificate
    assert abs(ours.objective - theirs.objective) <= max(ours.gap, theirs.gap)
    if tol < 1e-6:
        assert_allclose(ours.objective, theirs.objective, rtol=1e-8)
        assert screener.checks[-1]["share"] > 0.5
    shares = [check["share"] for check in screener.checks]
    assert shares and all(0.0 <= share < 1.0 for share in shares)


def test_after_the_polish_the_objectives_agree_to_nine_digits():
    rng = np.random.default_rng(8)
    acted = 0
    for _ in range(60):
        problem = random_problem(rng, intercept=bool(rng.random() < 0.5), size=25)
        screener = Screener(smallest=0, rank=True)
        ends = [
            solve(
                problem, SolveOptions(tol=1e-9, exact=True, screen=screen)
            ).certificate
            for screen in (None, screener)
        ]
        assert ends[0].kkt_violation <= 1e-8 and ends[1].kkt_violation <= 1e-8
        assert_allclose(ends[0].objective, ends[1].objective, rtol=1e-9, atol=1e-12)
        acted += any(check["share"] > 0.1 for check in screener.checks)
    assert acted >= 20  # the others are linear and solved at their start, or undecided


def test_a_warm_start_is_screened_before_the_first_step():
    """Propagation (5.4): the rule at the start decides without a step or a row."""
    X, y = blobs(3000)
    gram = Gram(X, Gaussian(0.3), cache_mb=400)
    problem = classification_problem(gram, y, np.full(3000, 1.0))
    first = solve(problem, SolveOptions(tol=1e-7))
    before = gram.evaluated
    screener = Screener()
    again = solve(
        problem, SolveOptions(tol=1e-7, screen=screener, certify=False), start=first
    )
    assert screener.checks[0]["n_iter"] == 0
    assert screener.checks[0]["share"] > 0.8
    assert gram.evaluated - before < 0.05 * 3000 * len(first.support)
    assert_allclose(again.beta, first.beta)


class Rule:
    """A function as a screening rule that keeps no account of its checks."""

    def __init__(self, function):
        self.checks = []
        self.function = function

    def __call__(self, *arguments):
        return self.function(*arguments)


def half_taken_out(n=8000):
    """Return a rule that takes out every other sample when first asked, and its log."""
    asked = []

    def rule(problem, n_iter, remaining, beta, gradient, error):
        asked.append((n_iter, len(remaining)))
        keep = np.ones(len(remaining), dtype=bool)
        if len(remaining) == n:
            keep[::2] = False
        return keep

    return Rule(rule), asked


def test_samples_taken_out_are_out_until_the_last_look():
    X, y = blobs(8000)
    gram = Gram(X, Gaussian(0.3), cache_mb=1)  # rows are evaluated again and again
    problem = classification_problem(gram, y, np.full(8000, 1.0))
    rule, asked = half_taken_out()
    solution = solve(problem, SolveOptions(tol=1e-4, shrinking=False, screen=rule))
    assert [count for _, count in asked[:2]] == [8000, 4000]
    assert solution.recomputed().certificate.kkt_violation <= 1e-4


def test_rows_at_hand_are_not_given_up_for_samples_taken_out():
    """A solve that begins near its end, with the rows of the last one, keeps them."""
    X, y = blobs(8000)
    rule, asked = half_taken_out()

    def evaluated(screen):
        gram = Gram(X, Gaussian(0.3), cache_mb=400)
        problem = classification_problem(gram, y, np.full(8000, 1.0))
        start = solve(problem, SolveOptions(tol=1e-2, shrinking=False))
        before = gram.evaluated
        solve(
            problem, SolveOptions(tol=1e-4, shrinking=False, screen=screen), start=start
        )
        return gram.evaluated - before

    assert evaluated(rule) == evaluated(None)
    assert asked[0] == (0, 8000)  # it is asked, all the same (5.4)


@pytest.mark.parametrize("intercept", [True, False])
def test_without_the_samples_that_left_the_end_is_the_same(intercept):
    """A rule that knows the optimum: most samples do leave, and nine digits agree."""
    X, y = blobs(4000)
    gram = Gram(X, Gaussian(0.3), cache_mb=1)
    problem = classification_problem(gram, y, np.full(4000, 50.0), intercept)
    best = polish(solve(problem, SolveOptions(tol=1e-4, shrinking=False)), tol=1e-4)
    distance = np.abs(best.values + best.intercept - problem.linear)
    certain = (distance > 0.01) & ~problem.free(best.beta)
    asked = []

    def rule(problem, n_iter, remaining, beta, gradient, error):
        asked.append(len(remaining))
        return ~(certain & (beta == best.beta))[remaining]

    left = solve(problem, SolveOptions(tol=1e-4, shrinking=False, screen=Rule(rule)))
    if intercept:  # without one the solve ends before its rows are evaluated twice over
        assert min(asked) < 0.5 * 4000
    polished = polish(left, tol=1e-4)
    assert polished.status == best.status == "polished"
    assert_allclose(
        polished.certificate.objective, best.certificate.objective, rtol=1e-9
    )


def test_a_solution_tells_of_the_checks_of_its_own_solve():
    X, y = blobs(400)
    screener = Screener(smallest=0)
    told = []
    for accuracy in ("tol", "exact"):
        problem = classification_problem(Gram(X, Gaussian(0.3)), y, np.full(400, 1.0))
        solution = solve(
            problem, SolveOptions(tol=1e-6, exact=accuracy == "exact", screen=screener)
        )
        told.append(solution.screened)
    assert told[0] and told[1] and told[0] + told[1] == screener.checks
    assert solve(problem).screened is None


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

    solution = solve(
        problem, SolveOptions(tol=1e-4, shrinking=False, screen=Rule(reckless))
    )
    assert calls
    assert solution.recomputed().certificate.kkt_violation <= 1e-4


def test_an_error_in_the_rule_reaches_the_caller():
    X, y = blobs(800)
    problem = classification_problem(Gram(X, Gaussian(0.3)), y, np.full(800, 1.0))

    def broken(*arguments):
        raise RuntimeError("a rule that fails")

    with pytest.raises(RuntimeError, match="a rule that fails"):
        solve(problem, SolveOptions(tol=1e-4, shrinking=False, screen=Rule(broken)))


def test_an_indefinite_kernel_is_not_screened():
    X, y = blobs(300)
    remaining = np.arange(300, dtype=np.int32)
    kept = []
    for kernel in (Gaussian(0.3), Sigmoid(0.5, -1.0), Polynomial(3, 1.0, -1.0)):
        problem = classification_problem(Gram(X, kernel), y, np.full(300, 1.0))
        solution = solve(
            classification_problem(Gram(X, Gaussian(0.3)), y, np.full(300, 1.0)),
            SolveOptions(tol=1e-8),
        )
        gradient = solution.values - y
        keep = Screener(smallest=0)(problem, 0, remaining, solution.beta, gradient, 0.0)
        kept.append(np.count_nonzero(keep))
    assert kept[0] < 150 and kept[1:] == [300, 300]


def test_removed_samples_pull_as_fixed_ones_do():
    """The engine's remaining samples are the reduced problem: same sum, same rule."""
    rng = np.random.default_rng(16)
    compared = 0
    for _ in range(80):
        problem = random_problem(rng, intercept=True)
        rough = solve(problem, SolveOptions(tol=1e-2))
        first = screen(problem, rough.beta, rough.values, rank=False)
        if not 2 < np.count_nonzero(first.active) < problem.n:
            continue
        compared += 1
        part, active, start = with_decided_fixed(problem, first, rough.beta)
        point = start[active]
        apart = screen(part, point, part.gram.times(point), rank=False)
        settled = (apart.at_lower & (point == part.lower)) | (
            apart.at_upper & (point == part.upper)
        )
        gradient = problem.gram.times(start) - problem.linear
        screener = Screener(smallest=0)
        remaining = active.astype(np.int32)
        keep = screener(problem, 0, remaining, start, gradient, 0.0)
        assert_allclose(screener.checks[0]["gap"], apart.gap, rtol=1e-6, atol=1e-9)
        assert_array_equal(keep, ~settled)
    assert compared >= 30


def test_a_decided_sample_stays_in_play_until_it_is_at_its_bound():
    """Taken out elsewhere, it would break the sum of the others."""
    X, y = blobs(400)
    problem = classification_problem(Gram(X, Gaussian(0.3)), y, np.full(400, 1.0))
    best = solve(problem, SolveOptions(tol=1e-8))
    inwards = 0.5 * (problem.lower + problem.upper)
    near = (1 - 1e-6) * best.beta + 1e-6 * (inwards - inwards.mean())
    everyone = np.arange(400, dtype=np.int32)
    kept = []
    for beta in (best.beta, near):
        values = problem.gram.times(beta)
        assert np.count_nonzero(~screen(problem, beta, values).active) > 300
        gradient = values - problem.linear
        kept.append(Screener(smallest=0)(problem, 0, everyone, beta, gradient, 0.0))
    assert kept[0].sum() < 100 and kept[1].all()


def test_few_samples_are_not_checked():
    X, y = blobs(300)
    problem = classification_problem(Gram(X, Gaussian(0.3)), y, np.full(300, 1.0))
    screener = Screener(smallest=301)
    assert solve(problem, SolveOptions(screen=screener)).converged
    assert screener.checks == []


def test_a_check_waits_until_the_gap_has_halved():
    X, y = blobs(400)
    gram = Gram(X, Gaussian(0.3))
    problem = classification_problem(gram, y, np.full(400, 1.0))
    everyone = np.arange(400, dtype=np.int32)
    screener = Screener(smallest=0)
    gaps = []
    for tol in (1e-1, 9e-2, 1e-3, 9.9e-4, 1e-6):
        solution = solve(problem, SolveOptions(tol=tol, selection="second_order"))
        gradient = solution.values - problem.linear
        keep = screener(problem, 0, everyone, solution.beta, gradient, 0.0)
        gaps.append((solution.certificate.gap, len(screener.checks), keep.sum()))
        everyone = everyone[keep]
    checks = [count for _, count, _ in gaps]
    assert checks == [1, 1, 2, 2, 3]  # the second and the fourth gap had not halved
    assert gaps[1][0] > 0.5 * gaps[0][0] and gaps[3][0] > 0.5 * gaps[2][0]
    assert gaps[4][2] < gaps[0][2]
    # Everybody back in play: a solve that starts afresh is checked at once.
    screener(problem, 0, np.arange(400, dtype=np.int32), solution.beta, gradient, 0.0)
    assert len(screener.checks) == 4


def test_a_check_waits_also_where_nobody_was_let_go():
    """The engine keeps all in play where leaving does not pay: no reason to check."""
    X, y = blobs(400)
    problem = classification_problem(Gram(X, Gaussian(0.3)), y, np.full(400, 1.0))
    solution = solve(problem, SolveOptions(tol=1e-6))
    everyone, gradient = np.arange(400, dtype=np.int32), solution.values - y
    screener = Screener(smallest=0)
    keep = screener(problem, 0, everyone, solution.beta, gradient, 0.0)
    assert not keep.all()
    assert screener(problem, 9, everyone, solution.beta, gradient, 0.0).all()
    assert len(screener.checks) == 1

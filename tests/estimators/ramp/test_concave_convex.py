"""The concave-convex procedure: descent, stationarity, and the corners of 5.5."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.certificate import duality_gap
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Linear
from widemargin.engine.screening.screener import Screener
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.ramp.concave_convex import (
    SPARE,
    RampProblem,
    carry,
    descend,
    resume,
    stationarity,
)

TOL = 1e-9


def exactly(problem, start, screen=None):
    solution = solve(problem, SolveOptions(tol=TOL, screen=screen), start=start)
    certificate = solution.certificate
    assert 0.0 <= certificate.gap <= TOL * np.sum(problem.upper - problem.lower) + 1e-9
    assert certificate.kkt_violation <= TOL
    return solution


def screened(problem, start):
    return exactly(problem, start, Screener(smallest=0, rank=True))


def keep(rounds):
    return lambda figures, solution: rounds.append(figures)


def random_ramp(rng, *, s=None, fit_intercept=True):
    n = int(rng.integers(10, 40))
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    flips = rng.random(n) < 0.2
    y[flips] *= -1
    y[:2] = 1.0, -1.0
    kernel = Linear() if rng.random() < 0.5 else Gaussian(10 ** rng.uniform(-1, 1))
    costs = np.full(n, 10 ** rng.uniform(-1, 1.5)) * rng.uniform(0.5, 2.0, size=n)
    s = float(rng.choice([0.0, -0.5, -1.0])) if s is None else s
    return RampProblem(Gram(X, kernel), y, costs, s, fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_objective_never_rises_and_the_end_is_stationary(fit_intercept):
    rng = np.random.default_rng(0)
    clipped_somewhere = 0
    for _ in range(40):
        ramp = random_ramp(rng, fit_intercept=fit_intercept)
        rounds = []
        end = descend(ramp, exactly, record=keep(rounds))
        objectives = [entry["objective"] for entry in rounds]
        assert np.all(np.diff(objectives) <= 1e-7 * max(1.0, objectives[0]))
        assert end.settled
        assert_allclose(end.objective, min(objectives), rtol=1e-7)
        assert stationarity(ramp, end.solution) <= 10 * TOL
        clipped_somewhere += bool(end.clipped.any())
    assert clipped_somewhere >= 10


def test_stationarity_sees_a_point_that_is_not():
    rng = np.random.default_rng(1)
    for _ in range(10):
        ramp = random_ramp(rng, s=0.0)
        first = exactly(ramp.convex(np.zeros(ramp.gram.n, bool)), None)
        if ramp.clips(first).any():  # the plain SVM still lets them pull
            assert stationarity(ramp, first) > 1e-6


def test_stationarity_sees_a_multiplier_that_is_too_small():
    ramp = random_ramp(np.random.default_rng(17), s=-0.5, fit_intercept=False)
    problem = ramp.convex(np.zeros(ramp.gram.n, bool))
    nothing = np.zeros(ramp.gram.n)
    point = Solution(problem, nothing, nothing, "zero")  # all margins are 0
    assert_allclose(stationarity(ramp, point), 0.5)


@pytest.mark.parametrize("s", [0.0, -0.5, -1.0])
def test_stationarity_counts_multipliers_of_the_wrong_sign(s):
    # Optimal in the convex problem of a wrong guess: clipped samples beyond the margin
    # push the boundary away from themselves, which no slope of the ramp does.
    rng, seen = np.random.default_rng(3), 0
    for _ in range(20):
        ramp = random_ramp(rng, s=s)
        guess = rng.random(ramp.gram.n) < 0.3
        solution = exactly(ramp.convex(guess), None)
        if (ramp.y * solution.beta < 0.0).any():
            seen += 1
            assert stationarity(ramp, solution) >= (1.0 - s) / 2.0
    assert seen >= 10


def differentiable_point(rng, ramp):
    """A point with multipliers at -C, 0 and C, and where J has a gradient.

    Half of the time the one whose multipliers are the slopes of the loss: with a narrow
    kernel iterating "slopes of the last margins" ends there.
    """
    n = ramp.gram.n
    alpha = ramp.costs * rng.choice([-1.0, 0.0, 1.0], size=n)
    if rng.random() < 0.5:
        for _ in range(50):
            margins = ramp.y * ramp.gram.times(ramp.y * alpha)
            alpha = np.where((margins > ramp.s) & (margins < 1.0), ramp.costs, 0.0)
    beta = ramp.y * alpha
    return Solution(ramp.convex(np.zeros(n, bool)), beta, ramp.gram.times(beta), "made")


def test_stationarity_is_zero_exactly_where_the_gradient_is():
    # J = 1/2 beta'K beta + sum C loss(m): its gradient in w is K (beta - C y slope) in
    # the kernel's terms, by central differences, which share no case distinction.
    rng, ends = np.random.default_rng(4), []
    for _ in range(200):
        n = int(rng.integers(3, 9))
        y, costs = rng.choice([-1.0, 1.0], size=n), rng.uniform(0.1, 0.9, size=n)
        s = float(rng.choice([0.0, -0.5, -1.0]))
        gram = Gram(rng.normal(size=(n, 2)), Gaussian(10 ** rng.uniform(-1, 2)))
        ramp = RampProblem(gram, y, costs, s, fit_intercept=False)
        point = differentiable_point(rng, ramp)
        margins = ramp.margins(point)
        if np.abs(margins - 1.0).min() < 1e-3 or np.abs(margins - s).min() < 1e-3:
            continue
        K = gram.rows(np.arange(n))

        def objective(beta, K=K, y=y, costs=costs, s=s):
            loss = np.minimum(1.0 - s, np.maximum(0.0, 1.0 - y * (K @ beta)))
            return 0.5 * beta @ K @ beta + costs @ loss

        steps = 1e-5 * np.eye(n)
        gradient = [
            (objective(point.beta + step) - objective(point.beta - step)) / 2e-5
            for step in steps
        ]
        flat = np.abs(gradient).max() < 1e-4
        assert flat == (stationarity(ramp, point) == 0.0)
        ends.append(flat)
    assert sum(ends) >= 20 and len(ends) - sum(ends) >= 20


def test_stationarity_refuses_what_no_margin_explains():
    rng = np.random.default_rng(5)
    ramp = random_ramp(rng, s=-0.5)
    end = descend(ramp, exactly).solution
    assert stationarity(ramp, end) <= 10 * TOL
    for change in (2.0 * ramp.y * ramp.costs, 1e-6 * np.ones(ramp.gram.n)):
        moved = replace(end, beta=end.beta + change)  # beyond the box; unbalanced
        assert stationarity(ramp, moved) == np.inf


def test_stationarity_takes_margins_at_their_worst():
    rng = np.random.default_rng(6)
    for _ in range(10):
        ramp = random_ramp(rng, s=-0.5, fit_intercept=False)
        end = descend(ramp, exactly).solution
        rounding = 1e-3 * rng.random(ramp.gram.n)
        stated = stationarity(ramp, end, rounding)
        for _ in range(20):
            misread = end.values + rounding * rng.choice([-1.0, 1.0], ramp.gram.n)
            told = replace(end, known_values=misread, evidence=None, checked=None)
            assert stationarity(ramp, told) <= stated + 1e-15
        assert stationarity(ramp, end) <= stated <= 1.01e-3


def test_box_of_a_clipped_sample_lets_it_no_longer_pull():
    gram = Gram(np.eye(3), Linear())
    ramp = RampProblem(gram, np.array([1.0, -1.0, 1.0]), np.array([2.0, 3.0, 5.0]), 0.0)
    problem = ramp.convex(np.array([False, True, True]))
    assert_array_equal(problem.lower, [0.0, 0.0, -5.0])
    assert_array_equal(problem.upper, [2.0, 3.0, 0.0])
    assert problem.total == 0.0


def test_carried_point_is_feasible_and_near():
    rng = np.random.default_rng(2)
    for _ in range(30):
        ramp = random_ramp(rng)
        before = np.zeros(ramp.gram.n, bool)
        solution = exactly(ramp.convex(before), None)
        after = ramp.clips(solution)
        after[rng.integers(ramp.gram.n)] ^= True
        problem = ramp.convex(after)
        start = carry(ramp, solution, after)
        beta = start.beta
        assert_allclose(start.values, ramp.gram.times(beta), rtol=1e-9, atol=1e-9)
        assert np.all(beta >= problem.lower) and np.all(beta <= problem.upper)
        scale = max(1.0, np.abs(beta).sum())
        assert_allclose(beta.sum(), 0.0, atol=1e-12 * scale)
        back = carry(ramp, solution, before)
        assert_allclose(back.beta, solution.beta, rtol=1e-12, atol=1e-12 * scale)


def test_carrying_moves_few_samples():
    """Each moved sample is a kernel column to be computed."""
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(size=(100, 2)) + 1, rng.normal(size=(100, 2)) - 1])
    y = np.repeat([1.0, -1.0], 100)
    ramp = RampProblem(Gram(X, Gaussian(0.5)), y, np.ones(200), 0.0)
    solution = exactly(ramp.convex(np.zeros(200, bool)), None)
    after = ramp.clips(solution)
    assert after.sum() >= 3
    beta = carry(ramp, solution, after).beta
    problem = solution.problem
    free = (solution.beta > problem.lower) & (solution.beta < problem.upper)
    # they were at C_i y_i and keep their multiplier
    assert_array_equal(beta[after], 0.0)
    others = (beta != solution.beta) & ~after
    assert np.all(others <= free)  # the sum is put right on the margin, not all of it
    missing = float(solution.beta[after].sum())
    up = missing > 0.0
    room = problem.upper - solution.beta if up else solution.beta - problem.lower
    enough = np.cumsum(np.sort(room[free])[::-1]) >= SPARE * abs(missing)
    assert others.sum() <= enough.argmax() + 1 < free.sum()


def test_gap_is_a_gap_when_samples_are_clipped():
    """The gap of (16) tends to the sum of mu, not to zero (mathematics 5.1)."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        ramp = random_ramp(rng, s=0.0)
        clipped = rng.random(ramp.gram.n) < 0.3
        problem = ramp.convex(clipped)
        mu = np.where(clipped, ramp.costs, 0.0)
        for tol in (1e-1, 1e-3, 1e-6):
            solution = solve(problem, SolveOptions(tol=tol))
            residual = problem.linear - solution.values - solution.intercept
            gap = duality_gap(solution.beta, residual, problem.lower, problem.upper)
            assert 0.0 <= gap <= tol * np.sum(ramp.costs)
            quadratic = 0.5 * solution.beta @ problem.gram.times(solution.beta)
            margins = ramp.margins(solution)
            loss = ramp.costs * np.maximum(0.0, 1.0 - margins) + mu * margins
            printed = quadratic + loss.sum() - (ramp.y @ solution.beta - quadratic)
            assert_allclose(printed, gap + mu.sum(), rtol=1e-5)


@pytest.mark.parametrize("s", [0.0, -0.5])
def test_a_sample_at_the_kink_is_not_clipped(s):
    ramp = RampProblem(Gram(np.eye(4), Linear()), np.ones(4), np.ones(4), s, False)
    margins = np.array([s - 1e-12, s, s + 1e-12, 2.0])
    point = Solution(ramp.convex(np.zeros(4, bool)), margins, margins, "given")
    assert_array_equal(ramp.clips(point), [True, False, False, False])


def test_without_a_ceiling_the_first_problem_is_the_last():
    ramp = random_ramp(np.random.default_rng(5), s=-np.inf)
    rounds = []
    end = descend(ramp, exactly, record=keep(rounds))
    assert len(rounds) == 1 and end.settled and not end.clipped.any()
    assert_allclose(end.objective, end.solution.certificate.objective, rtol=1e-9)


@pytest.mark.parametrize("solver", [exactly, screened])
@pytest.mark.parametrize("s", [0.0, -2.0])
def test_one_class_all_clipped(s, solver):
    """Only beta = 0 is feasible then; the intercept of 0.2 is at the other class."""
    rng = np.random.default_rng(6)
    y = np.repeat([1.0, -1.0], [12, 5])
    ramp = RampProblem(Gram(rng.normal(size=(17, 2)), Linear()), y, np.ones(17), s)
    end = descend(ramp, solver, clipped=y < 0)
    assert end.settled
    assert stationarity(ramp, end.solution) <= 10 * TOL
    if s == 0.0:
        assert_allclose(end.solution.beta, 0.0, atol=1e-12)
        assert_allclose(end.solution.intercept, 1.0)
        assert_array_equal(end.clipped, y < 0)


@pytest.mark.parametrize("solver", [exactly, screened])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_clipped(fit_intercept, solver):
    rng = np.random.default_rng(7)
    y = np.repeat([1.0, -1.0], [6, 6])
    gram = Gram(rng.normal(size=(12, 2)), Linear())
    ramp = RampProblem(gram, y, np.ones(12), -0.5, fit_intercept)
    rounds = []
    end = descend(ramp, solver, clipped=np.ones(12, bool), record=keep(rounds))
    assert end.settled
    assert rounds[0]["objective"] <= 12.0 + 1e-9  # beta = 0 costs 1 a sample
    assert end.objective <= rounds[0]["objective"]
    assert stationarity(ramp, end.solution) <= 10 * TOL


def test_rounds_that_run_out_are_not_called_settled():
    rng = np.random.default_rng(8)
    unsettled = 0
    for _ in range(20):
        end = descend(random_ramp(rng), exactly, max_rounds=1)
        unsettled += not end.settled
    assert unsettled >= 5
    with pytest.raises(ValueError, match="max_rounds=0"):
        descend(random_ramp(rng), exactly, max_rounds=0)


def test_a_former_model_is_taken_up_where_it_ended():
    rng = np.random.default_rng(12)
    for _ in range(20):
        ramp = random_ramp(rng)
        end = descend(ramp, exactly)
        clipped, start = resume(ramp, end.solution.beta)
        assert_allclose(start.values, ramp.gram.times(start.beta), rtol=1e-9, atol=1e-9)
        again = descend(ramp, exactly, clipped=clipped, start=start)
        assert again.objective <= end.objective + 1e-7 * max(1.0, end.objective)


def test_a_solve_that_was_stopped_ends_the_procedure():
    ramp = random_ramp(np.random.default_rng(13))

    def stopped(problem, start):
        return solve(problem, SolveOptions(tol=1e-9, max_iter=1), start=start)

    end = descend(ramp, stopped)
    assert not end.settled
    assert end.solution.status == "max_iter"


def traced(ramp, shares=None):
    """Run the procedure; return its end and, per round, margins and clipped set.

    With `shares` it is screened, and the share decided in each round noted there.
    """
    rounds = []

    def solver(problem, start):
        screener = None if shares is None else Screener(smallest=0, rank=True)
        solution = solve(
            problem,
            SolveOptions(tol=TRACE_TOL, exact=True, screen=screener),
            start=start,
        )
        assert solution.certificate.kkt_violation <= TRACE_TOL
        if screener is not None:
            shares.append(max((c["share"] for c in screener.checks), default=0.0))
        return solution

    def record(figures, solution):
        rounds.append((ramp.margins(solution), figures["clipped"]))

    return descend(ramp, solver, record=record), rounds


TRACE_TOL = 1e-6


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_runs_with_and_without_screening_part_only_at_the_kink(fit_intercept):
    """Same clipped sets, same J; else who differs stood at ``s`` when they parted.

    Either way both ends are certified stationary (5.5).
    """
    rng = np.random.default_rng(15)
    alike, shares = 0, []
    for _ in range(100):
        ramp = random_ramp(rng, fit_intercept=fit_intercept)
        (on, with_rule), (off, without) = traced(ramp, shares), traced(ramp)
        for end in (on, off):
            assert stationarity(ramp, end.solution) <= 10 * TRACE_TOL
        for (margins, ours), (_, theirs) in zip(with_rule, without, strict=False):
            parted = ours != theirs
            if parted.any():
                assert np.all(np.abs(margins[parted] - ramp.s) <= 10 * TRACE_TOL)
                break
        else:  # no round tells them apart; at most the last could
            parted = on.clipped != off.clipped
            for end in (on, off):
                margins = ramp.margins(end.solution)[parted]
                assert np.all(np.abs(margins - ramp.s) <= 10 * TRACE_TOL)
            if not parted.any():
                alike += 1
                assert_allclose(on.objective, off.objective, rtol=1e-9)
    assert alike >= 90
    assert np.mean(np.array(shares) > 0.1) > 0.25  # rounds really screened

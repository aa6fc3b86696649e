"""How the rounds are spent: the schedule changes the time, not what is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.engine.certificate import dual_objective
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.ramp import continuation as schedule
from widemargin.estimators.ramp.concave_convex import RampProblem, descend, stationarity
from widemargin.estimators.ramp.continuation import (
    Plan,
    continuation,
    economical_descent,
    grow,
)

from tests.estimators.ramp.test_concave_convex import exactly, random_ramp


def rough(problem, start):
    return solve(problem, SolveOptions(tol=1e-2), start=start)


def plan(rounds=None, **options):
    def record(figures, solution):
        if rounds is not None:
            rounds.append(figures)

    return Plan(
        **({"solver": exactly, "rough": rough, "max_rounds": 50} | options),
        record=record,
    )


def blobs(n, *, share=0.1, cost=1.0, unequal=0.5, seed=0, gamma=0.5):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < unequal, 1.0, -1.0)
    X = rng.normal(size=(n, 2)) + np.outer(y, [2.0, 0.0])
    flips = rng.choice(n, size=round(share * n), replace=False)
    y[flips] *= -1.0
    return RampProblem(Gram(X, Gaussian(gamma)), y, np.full(n, cost), 0.0), flips


def test_growth_is_feasible_and_no_worse_than_standing_still():
    rng = np.random.default_rng(9)
    for _ in range(20):
        ramp = random_ramp(rng)
        problem = ramp.convex(rng.random(ramp.gram.n) < 0.1)
        solution = exactly(problem, None)
        grown = grow(solution)
        assert np.all(grown.beta >= 10 * problem.lower - 1e-12)
        assert np.all(grown.beta <= 10 * problem.upper + 1e-12)
        assert_allclose(grown.values, ramp.gram.times(grown.beta), rtol=1e-9, atol=1e-9)
        dual = [
            dual_objective(point.beta, point.values, problem.linear)
            for point in (grown, solution)
        ]
        assert dual[0] <= dual[1] + 1e-12 * abs(dual[1])


def test_continuation_finds_the_flips_a_plain_start_keeps():
    """At a large C the plain SVM bends round every flip and so never clips it."""
    ramp, flips = blobs(120, share=0.125, cost=100.0, seed=10)
    plain = economical_descent(ramp, plan())
    continued = economical_descent(ramp, plan(), continuation(ramp, plan()))
    assert continued.settled and plain.settled
    assert continued.clipped[flips].sum() > plain.clipped[flips].sum() + 5
    assert continued.clipped.sum() <= 24


def test_continuation_does_not_end_in_a_constant_model():
    """At a tiny C an unequal class is clipped whole, and that would be stationary."""
    ramp, _ = blobs(120, share=0.0, unequal=0.67, seed=11)
    minority = ramp.y == (-1.0 if (ramp.y > 0).sum() > 60 else 1.0)
    small = replace(ramp, costs=1e-3 * ramp.costs)
    constant = descend(small, exactly)
    assert constant.clipped[minority].all()
    assert constant.lost_side == ramp.y[minority][0]
    assert constant.before is not None
    assert not constant.believable.clipped[minority].any()
    end = economical_descent(ramp, plan(), continuation(ramp, plan()))
    assert end.settled and end.clipped.sum() <= 12
    assert ramp.lost_side(end.clipped) == 0.0
    assert ramp.lost_side(minority) == ramp.y[minority][0]


def test_no_believable_stage_is_no_clipped_set(monkeypatch):
    monkeypatch.setattr(RampProblem, "lost_side", lambda ramp, clipped: 1.0)
    ramp, _ = blobs(120)
    assert continuation(ramp, plan()) is None


def test_continuation_on_a_sample_clips_whom_the_whole_would(monkeypatch):
    ramp, flips = blobs(1500, cost=10.0)
    whole = continuation(ramp, plan())
    monkeypatch.setattr(schedule, "SAMPLE", 500)
    rounds = []
    sampled = continuation(ramp, plan(rounds))
    assert {figures["stage"] for figures in rounds} == {"loose"}
    assert np.mean(sampled != whole) <= 0.03
    assert sampled[flips].mean() >= 0.9
    again = continuation(ramp, plan())
    assert_array_equal(again, sampled)  # the same seed


@pytest.mark.parametrize("size", [120, 500])  # the whole, and a sample of it
def test_each_stage_starts_at_the_last_one_grown(monkeypatch, size):
    """C/1000, C/100, C/10 in turn; on a sample with the loss of the whole."""
    monkeypatch.setattr(schedule, "SAMPLE", 120)
    ramp, _ = blobs(size, cost=100.0)
    calls = []

    def noted(problem, start):
        share = np.sum(problem.upper - problem.lower) / np.sum(ramp.costs)
        calls.append((float(share), start, rough(problem, start)))
        return calls[-1][-1]

    assert continuation(ramp, plan(rough=noted)) is not None
    shares = [share for share, *_ in calls]
    assert_allclose(shares, sorted(shares))
    assert_allclose(np.unique(np.round(shares, 9)), [1e-3, 1e-2, 1e-1])
    assert calls[0][1] is None
    for k in range(1, len(calls)):
        if shares[k] > 1.5 * shares[k - 1]:
            assert_allclose(calls[k][1].beta, grow(calls[k - 1][-1]).beta)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_loose_rounds_first_end_at_a_stationary_point_of_the_same_objective(
    monkeypatch, fit_intercept
):
    monkeypatch.setattr(schedule, "FEW", 0)
    rng = np.random.default_rng(14)
    alike = 0
    for _ in range(20):
        ramp = random_ramp(rng, fit_intercept=fit_intercept)
        rounds = []
        end = economical_descent(ramp, plan(rounds))
        assert end.settled
        assert stationarity(ramp, end.solution) <= 1e-8
        stages = [figures.get("stage", "convex") for figures in rounds]
        assert stages == sorted(stages, reverse=True)  # loose ones, then exact ones
        exact = [f["objective"] for f in rounds if "stage" not in f]
        assert np.all(np.diff(exact) <= 1e-7 * max(1.0, exact[0]))
        reference = descend(ramp, exactly)
        if np.array_equal(reference.clipped, end.clipped):
            alike += 1
            assert_allclose(end.objective, reference.objective, rtol=1e-9)
    assert alike >= 10


def test_a_solve_that_was_stopped_ends_everything(monkeypatch):
    monkeypatch.setattr(schedule, "FEW", 0)
    ramp, _ = blobs(120)

    def stopped(problem, start):
        return solve(problem, SolveOptions(tol=1e-9, max_iter=1), start=start)

    def never(problem, start):
        raise AssertionError("nothing is solved after a stop")

    halted = plan(solver=never, rough=stopped)
    assert continuation(ramp, halted) is None
    end = economical_descent(ramp, halted)
    assert not end.settled
    assert end.solution.status == "max_iter"

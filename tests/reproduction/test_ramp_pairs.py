"""Figure 2 on a pair solver: nobody is lost, nothing is decided wrongly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons

from widemargin.certificate import intercept_interval
from widemargin.gram import Gram
from widemargin.kernels import Gaussian, Linear, Precomputed
from widemargin.ramp.concave_convex import RampProblem, stationarity
from widemargin.reproduction import ramp_pairs_timing, ramp_timing
from widemargin.reproduction.ramp_pairs import Level, Run, Tally, fit, scaled_piece
from widemargin.reproduction.results import ResultStore
from widemargin.solution import Solution
from widemargin.solve import solve

from tests.certified import assert_certified

TOL = 1e-9
PLENTY = 10**12
PIECE = 20  # steps: small problems are soon over
PROBLEMS = [(Linear(), 1.0), (Gaussian(0.5), 1.0), (Gaussian(5.0), 10.0)]


def ramp_problem(kernel, C, n=200):
    """Moons with a tenth of the labels flipped, and their kernel matrix."""
    rng = np.random.default_rng(0)
    X, labels = make_moons(n, noise=0.2, random_state=0)
    y = np.where(labels, 1.0, -1.0)
    y[rng.choice(n, n // 10, replace=False)] *= -1.0
    K = Gram(X, kernel).rows(np.arange(n))
    return RampProblem(Gram(K, Precomputed()), y, np.full(n, C), 0.0)


@pytest.mark.parametrize(("kernel", "C"), PROBLEMS)
def test_all_four_reach_the_same_certified_point_with_fewer_entries(kernel, C):
    ramp = ramp_problem(kernel, C)
    K = ramp.gram.rows(np.arange(ramp.gram.n))
    ends, tallies = {}, {}
    for name in ramp_timing.CONTESTANTS:
        tallies[name] = Tally(PLENTY)
        ends[name] = fit(ramp, name, TOL, tallies[name], PIECE)
        assert ends[name].settled
        assert_certified(ends[name].solution, K, tol=TOL)
        assert stationarity(ramp, ends[name].solution) <= 10 * TOL
    for name in ramp_pairs_timing.RIVALS:
        assert_array_equal(ends[name].clipped, ends["none"].clipped)
        assert_allclose(ends[name].objective, ends["none"].objective, rtol=1e-8)
        assert tallies[name].entries < tallies["none"].entries
    assert tallies["none"].entries == ramp.gram.n * tallies["none"].steps
    assert tallies["shrink"].decided == 0.0 < tallies["safe"].decided


@pytest.mark.parametrize(("kernel", "C"), PROBLEMS)
@pytest.mark.parametrize("name", ["safe", "safe+shrink"])
def test_nothing_is_decided_wrongly(kernel, C, name, monkeypatch):
    """Against the solution of the very problem that the samples were taken out of."""
    taken = []
    rest = Level.rest
    monkeypatch.setattr(Level, "rest", lambda level: taken.append(level) or rest(level))
    fit(ramp_problem(kernel, C), name, TOL, Tally(PLENTY), PIECE)
    decided = [level for level in taken if level.safely]
    assert decided
    assert (len(decided) < len(taken)) == (name == "safe+shrink")
    for level in decided:
        problem, beta = level.point.problem, level.point.beta
        gone = np.delete(np.arange(problem.n), level.members)
        best = solve(problem, tol=1e-10, accuracy="exact")
        targets = problem.linear - best.values
        box = problem.lower, problem.upper
        left, right = intercept_interval(
            best.values, problem.linear, *box, problem.total
        )
        low, high = beta[gone] == problem.lower[gone], beta[gone] == problem.upper[gone]
        assert np.all(low | high)
        assert np.all(targets[gone][low] <= left + 1e-7)
        assert np.all(targets[gone][high] >= right - 1e-7)


def test_who_is_brought_back_has_the_gradient_of_the_moment():
    ramp = ramp_problem(Gaussian(0.5), 1.0)
    problem = ramp.convex(np.zeros(200, bool))
    point = solve(problem, tol=1e-9)
    run = Run(Solution(problem, point.beta, point.recomputed().values, "start"))
    for safely in (True, False, False):
        at_bound = (run.point.beta <= run.point.problem.lower) | (
            run.point.beta >= run.point.problem.upper
        )
        gone = at_bound & (np.random.default_rng(1).random(run.in_play) < 0.4)
        run.take_out(gone, safely=safely)
    assert len(run.levels) == 3
    grow = np.argmax(run.point.problem.upper - run.point.beta)
    fall = np.argmax(run.point.beta - run.point.problem.lower)
    move = np.zeros(run.in_play)
    move[[grow, fall]] = 0.1, -0.1
    inner = run.point
    run.point = Solution(
        inner.problem,
        inner.beta + move,
        inner.values + inner.problem.gram.times(move),
        "converged",
    )
    run.bring_back()
    assert [level.safely for level in run.levels] == [True]
    run.bring_back(decided=True)
    assert run.in_play == 200
    moved = np.abs(run.point.beta - point.beta) > 0.05
    assert np.count_nonzero(moved) == 2
    assert_allclose(run.point.values, problem.gram.times(run.point.beta), atol=1e-11)


def test_a_fit_stops_at_its_limit_and_says_so():
    ramp = ramp_problem(Gaussian(5.0), 10.0)
    for name in ramp_timing.CONTESTANTS:
        tally = Tally(20_000)
        end = fit(ramp, name, TOL, tally, PIECE)
        assert end.solution.status == "max_iter"
        assert 19_000 < tally.entries <= 20_000
        assert end.solution.problem.n == 200


def test_pieces_are_in_proportion_to_the_samples():
    assert [scaled_piece(n) for n in (20_000, 3_000, 5)] == [1_000, 150, 1]


def test_results_that_disagree_are_refused():
    run = {"status": "converged", "kkt_violation": 1e-6, "clipped": "a"}
    run |= {"objective": 5.0, "gap": 1e-3}
    ramp_pairs_timing.check([run, run | {"objective": 5.0009}], 1e-6)
    ramp_pairs_timing.check([run, run | {"objective": 6.0, "clipped": "b"}], 1e-6)
    ramp_pairs_timing.check([run, run | {"objective": 6.0, "status": "max_iter"}], 1e-6)
    with pytest.raises(RuntimeError, match="apart"):
        ramp_pairs_timing.check([run, run | {"objective": 5.002}], 1e-6)
    with pytest.raises(RuntimeError, match="violated"):
        ramp_pairs_timing.check([run | {"kkt_violation": 2e-6}], 1e-6)


def test_campaign_goes_on_and_the_table_leaves_out_who_was_stopped(
    monkeypatch, tmp_path
):
    X, labels = make_moons(200, noise=0.3, random_state=0)
    data = X, np.where(labels, 1.0, -1.0)
    monkeypatch.setattr(ramp_timing, "load", lambda name, size: data)
    few = [ramp_timing.Setting("moons", k, 1.0, 1e-6, 200) for k in (None, 0.5)]
    monkeypatch.setattr(ramp_timing, "settings", lambda **_: iter(few))
    store = ResultStore(tmp_path / "pairs.json")
    ramp_pairs_timing.campaign(store, quick=True)
    assert set(store.records) == {setting.key for setting in few}
    monkeypatch.setattr(ramp_pairs_timing, "measure", None)  # fails if called again
    ramp_pairs_timing.campaign(ResultStore(store.path))
    runs = store.records[few[0].key]["contestants"]
    runs |= {name: dict(runs["none"]) for name in ramp_pairs_timing.FITS[1:]}
    runs["none"] |= {"processor": 3.0, "entries": 400}
    runs["safe"] |= {"processor": 2.0, "entries": 100}
    runs["safe+shrink, often"] |= {"entries": 50}
    text = ramp_pairs_timing.tables(store)
    row = next(line for line in text.splitlines() if line.startswith("linear")).split()
    assert row[1:3] == ["1", "1.50"] and (row[5], row[10]) == ("4.00", "8.00")
    assert "\nall        2 " in text and "; left out are 0 in" in text
    runs["none"]["status"] = "max_iter"
    text = ramp_pairs_timing.tables(store)
    assert "\nall        1 " in text and "\nlinear" not in text
    assert "2 of the 2 settings were measured; left out are 1 in" in text
    assert "(none ended in 0 of these, safe+shrink in 1)" in text


def test_the_verdict_is_that_of_the_last_row():
    row = "all 44 1 9 1.99 1 9 2.00 9 1 3.35".split()
    text = ramp_pairs_timing._verdicts(row)
    assert text == "entries, entries when taken out often; not by time"
    row = "all 44 9 9 1.00 9 9 1.00 9 9 1.00".split()
    assert ramp_pairs_timing._verdicts(row).startswith("none of them; not by time,")


def test_a_setting_left_out_is_not_run_once_more(monkeypatch):
    X, labels = make_moons(200, noise=0.3, random_state=0)
    data = X, np.where(labels, 1.0, -1.0)
    monkeypatch.setattr(ramp_timing, "load", lambda name, size: data)
    monkeypatch.setattr(ramp_pairs_timing, "MOST_ENTRIES", 1000)
    setting = ramp_timing.Setting("moons", 0.5, 1.0, 1e-6, 200)
    runs = ramp_pairs_timing.measure(setting, repeats=1)["contestants"]
    assert set(runs) == {"engine", *ramp_timing.CONTESTANTS}
    assert runs["none"]["status"] == "max_iter" and runs["none"]["entries"] == 1000


def test_stored_results_agree_where_they_clip_alike():
    root = Path(__file__).parents[2]
    store = ResultStore(root / "benchmarks" / "results" / "ramp_pairs.json")
    assert store.records
    for record in store.records.values():
        runs = record["contestants"]
        known = [runs[name] for name in ramp_pairs_timing.FITS if name in runs]
        assert len(known) >= len(ramp_timing.CONTESTANTS)
        ramp_pairs_timing.check(known, 1e-6)

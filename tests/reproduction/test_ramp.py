"""The paper's own rules, its figures and the robustness benchmark, on small data."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.preprocessing import scale

from widemargin.certificate import dual_objective
from widemargin.reproduction import mislabelled, ramp_more, ramp_tables, ramp_timing
from widemargin.reproduction.ramp import (
    printed_propagation,
    printed_rule,
    solve_as_printed,
)
from widemargin.reproduction.ramp_report import (
    robustness_tables,
    share_tables,
    timing_tables,
)
from widemargin.reproduction.results import ResultStore
from widemargin.solve import solve

from tests.test_screening import random_problem


def test_printed_rules_are_as_printed():
    gradient = np.array([2.0, -2.0, 0.5, -0.5])
    low, high = printed_rule(gradient, np.ones(4), 1.0)
    assert_array_equal(low, [True, False, False, False])
    assert_array_equal(high, [False, True, False, False])
    # (26) adds m |I_i| + n where it should take them away: it decides more, not less
    low, high = printed_propagation(
        gradient, np.ones(4), 1.0, np.ones(4), (0.6, 0.1, np.full(4, 0.1))
    )
    assert_array_equal(low, [True, False, True, False])
    assert_array_equal(high, [False, True, False, False])


def test_algorithm_as_printed_without_its_rule_is_plain_smo():
    rng = np.random.default_rng(0)
    for _ in range(5):
        problem = random_problem(rng, intercept=True, size=30, clip=False)
        run = solve_as_printed(problem, tol=1e-8, screening=False)
        best = solve(problem, tol=1e-9).certificate
        values = problem.gram.times(run.beta)
        ours = -dual_objective(run.beta, values, problem.linear)
        assert_allclose(ours, best.bound, rtol=1e-6)
        assert run.rates == []


def test_algorithm_as_printed_ends_at_worse_points():
    """After 50 steps and every 10: some samples are fixed at the wrong bound."""
    rng = np.random.default_rng(1)
    worse = fixed = 0
    for _ in range(60):
        problem = random_problem(rng, intercept=True, size=40, clip=False)
        run = solve_as_printed(problem, tol=1e-6, max_iter=3000)
        best = solve(problem, tol=1e-9).certificate.bound
        values = problem.gram.times(run.beta)
        reached = -dual_objective(run.beta, values, problem.linear)
        fixed += np.count_nonzero(run.fixed_low | run.fixed_high)
        worse += reached < best - 1e-4 * max(1.0, abs(best))
        assert all(0.0 <= share <= 1.0 for _, share in run.rates)
    assert fixed > 0
    assert worse > 0


@pytest.fixture
def cancer(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    monkeypatch.setattr(mislabelled, "load_dense", lambda name: (X, y.astype(float)))
    monkeypatch.setattr(
        ramp_timing,
        "load",
        lambda name, size: (X[:size], np.where(y[:size], 1.0, -1.0)),
    )
    return X, np.where(y, 1.0, -1.0)


def test_flips_are_as_many_as_asked_and_of_the_asked_kind(cancer):
    X, y = cancer
    rng = np.random.default_rng(0)
    assert mislabelled.flip_random(y, 0.1, rng).sum() == 57
    chosen = mislabelled.flip_confident(X, y, 0.2, rng)
    side = y[chosen][0]
    assert np.all(y[chosen] == side)
    assert chosen.sum() == round(0.2 * np.count_nonzero(y == side))


def test_robustness_cell_and_a_campaign_that_goes_on(cancer, monkeypatch, tmp_path):
    pytest.importorskip("cleanlab", reason="a peer of the benchmark: widemargin[bench]")
    monkeypatch.setattr(mislabelled, "GRID", {"C": [1.0]})
    monkeypatch.setattr(mislabelled, "CEILINGS", [0.0])
    todo = [mislabelled.Cell("cancer", "random", 0.1, seed) for seed in (0, 1)]
    monkeypatch.setattr(mislabelled, "cells", lambda *arguments: iter(todo))
    store = ResultStore(tmp_path / "cells.json")
    mislabelled.campaign(store, quick=True)
    assert set(store.records) == {cell.key for cell in todo}
    methods = store.records[todo[0].key]["methods"]
    assert set(methods) == set(mislabelled.METHODS)
    for figures in methods.values():
        assert 0.85 <= figures["accuracy"] <= 1.0
        assert 0.5 <= figures["recall"] <= 1.0
    monkeypatch.setattr(mislabelled, "run_cell", None)  # would fail if called again
    mislabelled.campaign(ResultStore(tmp_path / "cells.json"))
    assert "random 10%" in robustness_tables(store)
    rows = mislabelled.summary(store)
    assert {row["method"] for row in rows} == set(mislabelled.METHODS)
    assert all(row["seeds"] == 2 for row in rows)


def test_untuned_cell_compares_the_starts(cancer, tmp_path):
    store = ResultStore(tmp_path / "untuned.json")
    cell = mislabelled.Cell("cancer", "random", 0.2, 0)
    store.add(cell.key, mislabelled.run_untuned(cell))
    accuracy = {row["method"]: row["accuracy"] for row in mislabelled.summary(store)}
    assert len(accuracy) == 3 * len(mislabelled.UNTUNED)
    plain, ramp = "SVC, rbf C=100", "RampSVC continuation, rbf C=100"
    assert accuracy[ramp] > accuracy[plain] + 0.05
    assert ramp in robustness_tables(store)


def test_figure_2_measures_all_contestants_on_one_problem(cancer, tmp_path):
    setting = ramp_timing.Setting("ijcnn1", 0.05, 1.0, 1e-6, 400)
    record = ramp_timing.measure(setting, repeats=1, threads=1)
    figures = record["contestants"]
    assert set(figures) == {"SVC", *ramp_timing.CONTESTANTS}
    objectives = [figures[name]["objective"] for name in ramp_timing.CONTESTANTS]
    assert_allclose(objectives, objectives[0], rtol=1e-6)
    store = ResultStore(tmp_path / "times.json")
    store.add(setting.key, record)
    ratios = ramp_timing.ratios(store)
    assert ratios["settings"] == 1
    assert "ijcnn1 kappa 0.05 C 1" in timing_tables(store)
    assert ratios["median of none / safe+shrink"] > 0.0


def test_more_times_have_one_table_each(cancer, monkeypatch, tmp_path):
    few = [ramp_timing.Setting("ijcnn1", 0.05, 1.0, 1e-6, 200)]
    monkeypatch.setattr(ramp_timing, "settings", lambda *_, **__: iter(few))
    monkeypatch.setattr(ramp_more, "load", ramp_timing.load)
    monkeypatch.setattr(ramp_more.speed, "covtype", lambda n: ramp_timing.load("", n))
    store = ResultStore(tmp_path / "more.json")
    ramp_more.campaign(store, quick=True)
    assert [key.split(",")[0] for key in store.records] == [
        "covtype", "starts", "tolerance",
    ]  # fmt: skip
    table = ramp_more.tables(store)
    for name in ("continuation", "safe+shrink", "divide"):
        assert name in table


def test_tasks_of_the_paper_are_named_once_and_draw_figure_2(cancer):
    for quick in (True, False):
        tasks = ramp_tables.tasks(quick)
        assert len({task.name for task in tasks}) == len(tasks)
    setting = ramp_timing.Setting("ijcnn1", 0.05, 1.0, 1e-6, 300)
    cells = list(ramp_tables.times(setting, 1))
    assert {cell.column for cell in cells} == set(ramp_timing.CONTESTANTS)
    assert set(ramp_tables.figures(cells)) == {"figure2"}
    assert ramp_tables.figures([]) == {}


def test_figure_3_is_the_share_at_each_check(monkeypatch, tmp_path):
    X, y = make_moons(2500, noise=0.3, random_state=0)
    data = X, np.where(y, 1.0, -1.0)
    monkeypatch.setattr(ramp_timing, "load", lambda name, size: data)
    setting = ramp_timing.Setting("moons", 0.5, 1.0, 1e-6, 2500)
    cells = list(ramp_tables.share_curve(setting))
    shares = [cell.ours for cell in cells]
    assert shares == sorted(shares) and shares[-1] > 0.15
    assert set(ramp_tables.figures(cells)) == {"figure3"}
    store = ResultStore(tmp_path / "shares.json")
    store.add(setting.key, ramp_timing.shares(setting))
    assert "moons kappa 0.5 C 1" in share_tables(store)


def test_printed_rule_is_counted_against_the_optimum(cancer, monkeypatch):
    monkeypatch.setattr(ramp_tables, "load", ramp_timing.load)
    monkeypatch.setattr(ramp_tables, "PRINTED_SIZE", 200)
    cells = list(ramp_tables.wrong_decisions("cancer", 0.05))
    assert [cell.column for cell in cells] == ["samples fixed", "fixed wrongly"]
    assert 0 <= cells[1].ours <= cells[0].ours <= 200

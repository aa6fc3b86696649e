"""The paper's own rules and its figures, on small data."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.preprocessing import scale

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import classification_problem
from widemargin.engine.screening.rules import screen
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.ramp.concave_convex import RampProblem
from widemargin_papers.harness.cells import Cell, row_cells
from widemargin_papers.ramp import printed, printed_rules
from widemargin_papers.ramp import tasks as ramp_tables
from widemargin_papers.ramp.printed_rules import (
    fixed_on_the_way,
    printed_propagation,
    printed_rule,
    propagate_as_printed,
)
from widemargin_papers.ramp.report import figures, rules, times
from widemargin_papers.ramp.report import shares as share_table

from tests.engine.screened_problems import random_problem


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


def test_propagation_as_printed_decides_wrongly():
    """At the paper's own point, against the optimum of the next convex problem."""
    rng = np.random.default_rng(5)
    decided = wrong = 0
    for _ in range(20):
        problem = random_problem(rng, intercept=True, size=40, clip=False)
        costs = problem.upper - problem.lower
        ramp = RampProblem(problem.gram, problem.linear, costs, 0.0)
        first = solve(ramp.convex(np.zeros(40, bool)), SolveOptions(tol=1e-9))
        following = ramp.convex(ramp.clips(first))
        low, high = propagate_as_printed(first, following)
        counts = ramp_tables.count_wrong(
            solve(following, SolveOptions(tol=1e-9)), low, high
        )
        decided += counts[0]
        wrong += counts[1]
        if not ramp.clips(first).any():  # nothing moved: m = n = q = 0, rule (20)-(21)
            gradient = first.values + first.intercept - problem.linear
            same = printed_rule(
                gradient, problem.gram.diagonal(), first.certificate.gap
            )
            assert_array_equal((low, high), same)
    assert decided > 100
    assert wrong > 0.2 * decided


def test_the_printed_rule_decides_wrongly_along_a_solve():
    """After 50 steps and every 10: some samples are fixed at the wrong bound."""
    rng = np.random.default_rng(1)
    fixed = wrong = 0
    for _ in range(60):
        problem = random_problem(rng, intercept=True, size=40, clip=False)
        best = solve(problem, SolveOptions(tol=1e-9))
        counts = ramp_tables.count_wrong(best, *fixed_on_the_way(problem))
        fixed += counts[0]
        wrong += counts[1]
    assert 0 < wrong < fixed


def test_the_printed_rule_is_asked_on_its_schedule(monkeypatch):
    rng, checks, gaps = np.random.default_rng(3), [], []

    def rule(gradient, diagonal, gap):
        gaps.append(gap)
        return np.zeros((2, len(gradient)), bool)

    def solved(problem, options, start):
        checks.append(options.max_iter)
        return solve(problem, options, start=start)

    monkeypatch.setattr(printed_rules, "printed_rule", rule)
    monkeypatch.setattr(printed_rules, "solve", solved)
    problem = random_problem(rng, intercept=True, size=60, clip=False)
    fixed_on_the_way(problem, tol=1e-9)
    assert checks == [50] + [10] * (len(checks) - 1)
    assert len(gaps) == len(checks) - 1 > 1  # the last is below the gap, or the end
    assert min(gaps) > 1e-4


@pytest.fixture
def cancer(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    monkeypatch.setattr(
        printed,
        "load",
        lambda name, size: (X[:size], np.where(y[:size], 1.0, -1.0)),
    )
    return X, np.where(y, 1.0, -1.0)


def test_figure_2_measures_all_contestants_on_one_problem(cancer):
    setting = printed.Setting("ijcnn1", 0.05, 1.0, 1e-6, 400)
    models = ramp_tables.contestants(setting, threads=1)
    X, y = printed.load("ijcnn1", 400)
    runs = ramp_tables.fit_in_turn(models, X, y, 1)
    assert set(runs) == {"SVC", *printed.CONTESTANTS}
    objectives = [models[name].objective_ for name in printed.CONTESTANTS]
    assert_allclose(objectives, objectives[0], rtol=1e-6)
    cells = {cell.column: cell for cell in ramp_tables.times(setting, 1)}
    assert cells["convex problems"].ours == len(models["safe+shrink"].history_)
    assert 0.0 <= cells["share decided"].ours <= 1.0
    assert all(cells[name].ours > 0.0 and not cells[name].note for name in runs)


class Scripted:
    """A model whose fits take scripted processor seconds and end as scripted."""

    def __init__(self, clock, *runs):
        self.clock, self.runs, self.fits = clock, runs, 0

    def fit(self, X, y):
        seconds, status = self.runs[self.fits]
        self.fits += 1
        self.clock[0] += seconds
        self.certificate_ = SimpleNamespace(
            status=status, gap=0.0, kkt_violation=0.0, objective=float(self.fits)
        )


def test_the_run_whose_time_is_kept_is_kept_whole(monkeypatch):
    clock, long = [0.0], ramp_tables.LONG + 0.5
    monkeypatch.setattr(time, "process_time", lambda: clock[0])
    monkeypatch.setattr(ramp_tables, "LONG", 5.0)
    models = {
        "busy": Scripted(clock, (4.0, "max_time"), (2.0, "converged"), (3.0, "late")),
        "stopped": Scripted(clock, (4.0, "converged"), (1.0, "max_time"), (4.5, "-")),
        "long": Scripted(clock, (long, "converged")),
    }
    X, y = np.zeros((4, 1)), np.ones(4)
    kept = {
        name: tuple(run[k] for k in ("processor", "status", "repeats"))
        for name, run in ramp_tables.fit_in_turn(models, X, y, 3).items()
    }
    assert kept == {
        "busy": (2.0, "converged", 3),
        "stopped": (4.0, "converged", 3),  # one that ended, though slower
        "long": (long, "converged", 1),
    }


def test_ratios_leave_out_settings_with_a_fit_that_was_stopped():
    seconds = {"SVC": 1.0, "none": 4.0, "safe": 3.0, "shrink": 2.0, "safe+shrink": 2.2}
    done = {"convex problems": 2.0, "share decided": 0.5}
    cells = [
        cell
        for setting in printed.settings()
        for cell in row_cells("Figure 2", setting.key, seconds | done)
    ]
    text = times(cells)
    assert text.startswith("64 of the 64 settings")
    rows = {line.split("  ")[0]: line.split() for line in text.splitlines()}
    medians = [f"{x}, at most {x}" for x in ("1.82", "2.00", "2.20", "1.10")]
    assert rows["all"][1:] == " ".join(["64", *medians]).split()
    slow = "letter kappa 5 C 10 tol 1e-06 n 20000"
    cells.append(Cell("Figure 2", slow, "none", 60.0, note="stopped"))
    rows = {line.split("  ")[0]: line.split() for line in times(cells).splitlines()}
    assert rows["kappa 5"][2] == "15" and rows["all"][1] == "63"
    assert "letter kappa 5 C 10*" in rows


def test_tasks_of_the_paper_are_named_once_and_draw_figure_2(cancer):
    for quick in (True, False):
        tasks = ramp_tables.tasks(quick)
        assert len({task.name for task in tasks}) == len(tasks)
    setting = printed.Setting("ijcnn1", 0.05, 1.0, 1e-6, 300)
    cells = list(ramp_tables.times(setting, 1))
    assert {"SVC", *printed.CONTESTANTS} <= {cell.column for cell in cells}
    assert set(figures(cells)) == {"figure2"}
    assert figures([]) == {}


def test_figure_3_is_the_share_at_each_check(monkeypatch):
    X, y = make_moons(2500, noise=0.3, random_state=0)
    data = X, np.where(y, 1.0, -1.0)
    monkeypatch.setattr(printed, "load", lambda name, size: data)
    setting = printed.Setting("moons", 0.5, 1.0, 1e-6, 2500)
    cells = list(ramp_tables.share_curve(setting))
    shares = [cell.ours for cell in cells]
    assert shares == sorted(shares) and shares[-1] > 0.15
    problem = classification_problem(
        Gram(data[0], Gaussian(0.5)), data[1], np.ones(2500)
    )
    end = solve(problem, SolveOptions(tol=1e-6))
    found = screen(problem, end.beta, end.values, rank=False)
    decided = np.mean(found.at_lower | found.at_upper)
    assert found.at_lower.any() and found.at_upper.any()
    assert_allclose(shares[-1], decided, atol=0.01)
    assert set(figures(cells)) == {"figure3"}
    assert "moons kappa 0.5 C 1" in share_table(cells)
    assert f"{shares[-1]:.2f}" in share_table(cells)


def test_printed_rules_are_counted_against_the_optimum(cancer, monkeypatch):
    monkeypatch.setattr(ramp_tables, "PRINTED_SIZE", 200)
    cells = list(ramp_tables.wrong_decisions("cancer", 0.05))
    assert [cell.column for cell in cells] == [
        "(20)-(21): fixed", "(20)-(21): wrongly",
        "(26)-(27): fixed", "(26)-(27): wrongly",
    ]  # fmt: skip
    row = ["cancer, kappa 0.05", *(f"{cell.ours:.0f}" for cell in cells)]
    assert [line.split("  ")[0] for line in rules(cells).splitlines()][3] == row[0]
    assert rules(cells).splitlines()[3].split()[3:] == row[1:]
    assert 0 <= cells[1].ours <= cells[0].ours <= 200
    assert 0 < cells[3].ours <= cells[2].ours

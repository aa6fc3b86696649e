"""The chunk-incremental paper's tasks, on data small enough for a test."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification

from widemargin_papers.cost import accuracy as cost_accuracy
from widemargin_papers.cost import printed
from widemargin_papers.cost import report as cost_report
from widemargin_papers.cost import tasks as cost
from widemargin_papers.harness.cells import Cell


@pytest.fixture
def small_data(monkeypatch):
    """Stand in for a data file: 300 rows, three informative features."""
    X, y = make_classification(
        300, 5, n_informative=3, n_redundant=0, weights=[0.7], random_state=0
    )
    labels = np.where(y == 1, 1.0, -1.0)
    lowest, highest = X.min(axis=0), X.max(axis=0)
    scaled = (X - lowest) / (highest - lowest)
    monkeypatch.setattr(printed, "samples", lambda name, trial: (scaled, labels))
    monkeypatch.setitem(printed.ROWS, "any", 300)
    monkeypatch.setattr(cost_accuracy, "load_libsvm", lambda name: (X, labels))


@pytest.mark.filterwarnings("ignore:.*the roles are reversed")  # the paper's setting
@pytest.mark.parametrize("kernel", list(cost.KERNELS))
def test_one_measurement(small_data, kernel, monkeypatch):
    """All ways end at one objective, the public partial_fit among them."""
    monkeypatch.setattr(cost, "PUBLIC_FROM", 200)
    cells = list(cost.measure("any", kernel, 200, trials=2))
    row = cost_report.chunk_rows(cells)[f"any, {kernel}, n=200"]
    assert row["chunk: steps"] <= row["one by one: steps"] * 1.5 + 3
    assert min(row[f"{way}: seconds"] for way in (*cost.WAYS, "scikit-learn")) > 0
    same = next(cell for cell in cells if cell.table == "same objective")
    assert same.reproduced


def test_scikit_learn_solves_the_same_problem(small_data):
    """Class weights and a moved threshold are what the costs amount to."""
    X, y = printed.samples("any", 0)
    ours, _ = cost.updates.fresh(cost.problem(X, y, cost.KERNELS["Gaussian"], 300))
    weight, scale = 7.0, 4.0 / 7.0
    theirs = cost.ScikitLearnSVC(
        gamma=0.25, tol=1e-8, class_weight={1: 1.0 / scale, -1: weight / scale}
    ).fit(X, y)
    moved = scale * theirs.decision_function(X) + 3.0 / 7.0
    assert_allclose(ours.values + ours.intercept, moved, atol=1e-5)


def test_a_slow_peer_is_stopped_and_said_so(monkeypatch):
    def fit(self, X, y):
        while True:
            pass

    monkeypatch.setattr(cost.ScikitLearnSVC, "fit", fit)
    X, y = np.zeros((4, 1)), np.array([1.0, -1.0, 1.0, -1.0])
    assert cost.scikit_learn_seconds(X, y, "linear", 1) == (1.0, True)


def test_figure_5_and_the_pictures(small_data, monkeypatch):
    monkeypatch.setattr(cost_accuracy, "GAMMAS", (2.0,))
    monkeypatch.setattr(cost_accuracy, "COSTS", (1.0,))
    cells = list(cost_accuracy.trial_cells("yeast4", 0))
    assert len(cells) == 2 * len(cost_accuracy.METHODS)
    cells += cost_accuracy.baseline_cells("yeast4", 1)
    assert all(cell.ours is not None and cell.ours >= 0 for cell in cells)
    cells += cost.measure("yeast4", "linear", 200, trials=1)
    drawn = cost_report.figures(cells)
    assert set(drawn) == {
        "figure1", "figure2", "figure3", "figure4", "figure5_cost", "figure5_auc",
    }  # fmt: skip
    labels = [
        tick.get_text() for tick in drawn["figure5_cost"].axes[0].get_yticklabels()
    ]
    assert labels == ["one answer", *cost_accuracy.METHODS]


def test_one_answer_stands_beside_figure_5(small_data):
    """30 % positives at 5 to 1: always positive is the cheapest answer."""
    cells = list(cost_accuracy.baseline_cells("yeast4", 2))
    assert [round(cell.ours, 2) for cell in cells] == [0.7, 0.7]
    saved = {"SVM": 0.1, "CSHL-SVM": -0.1}

    def figures(better):
        return [
            Cell("Figure 5, total cost", cell.row, method, cell.ours - gain + noise)
            for cell, noise in zip(cells, (0.0, 0.001), strict=True)
            for method, gain in saved.items()
            if better or gain < 0
        ]

    assert cost_accuracy.unbeaten([*cells, *figures(True)]) == []
    assert cost_accuracy.unbeaten([*cells, *figures(False)]) == ["yeast4"]
    table = cost_report.accuracy_table([*cells, *figures(True)], "total cost")
    assert "- one answer\n" in table and "- 0.695\n" in table


def test_a_curve_for_each_kernel_and_hollow_markers_for_lower_bounds():
    """Line styles tell kernels apart; a peer that was stopped is drawn hollow."""
    cells = [
        Cell("Figure 3", f"yeast4, {kernel}, n={size}", f"{way}: {quantity}", 1.0,
             note="stopped after 3 s" if (way, size) == ("scikit-learn", 500) else "")
        for kernel in cost.KERNELS
        for size in (250, 500)
        for way in ("chunk", "one by one", "scikit-learn")
        for quantity in ("steps", "seconds")
    ]  # fmt: skip
    figure = cost_report.figures(cells)["figure3"]
    (ax,) = (ax for ax in figure.axes if ax.get_title() == "yeast4")
    curves = [line for line in ax.lines if line.get_linestyle() != "None"]
    assert len(curves) == 9  # three ways, three kernels
    assert len({line.get_linestyle() for line in curves}) == 3
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert [list(line.get_xdata()) for line in hollow] == [[500]] * 3


def test_ratios_are_made_of_the_cells():
    row = "svmguide3, linear, n=5000"
    figures = {
        "chunk: steps": 10.0,
        "one by one: steps": 20.0,
        "chunk: seconds": 0.1,
        "partial_fit: seconds": 0.2,
        "one by one: seconds": 0.4,
        "batch: seconds": 0.6,
        "scikit-learn: seconds": 3.0,
    }
    cells = [Cell("Figure 1", row, name, value) for name, value in figures.items()]
    rows = cost_report.chunk_rows(cells)
    table = cost_report.ratios_table(rows)
    for way, ratio in (
        ("chunk against batch", "6"),
        ("chunk against scikit-learn", "30"),
        ("partial_fit against batch", "3"),
    ):
        figures = f"     - {ratio}\n     - {ratio}\n"
        assert f"* - n=5000, 1 cells\n     - {way}\n{figures}" in table
    steps = cost_report.steps_table(rows)
    assert "- 10\n     - 20\n     - 0.50\n     - 0.50\n" in steps


def test_the_tasks_are_those_of_the_paper():
    full, quick = cost.tasks(False), cost.tasks(True)
    assert len({task.name for task in full}) == len(full) > len(quick) > 0
    assert {task.needs[0] for task in full} == set(cost.ROWS)
    assert sum(task.name.startswith("Figure 5") for task in full) == 90

"""The paper's tables: on small data, that they are computed as they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from suites.campaign import paper_campaign
from suites.error_bars.growth import two_clouds
from widemargin.estimators.chance_constrained.chance_problem import objective
from widemargin.estimators.chance_constrained.smoothed_newton import newton
from widemargin_papers.chance import methods as chance_methods
from widemargin_papers.chance import report as chance_report
from widemargin_papers.chance import tasks as chance
from widemargin_papers.harness.missing_runs import cells_of
from widemargin_papers.harness.results import ResultStore


@pytest.fixture
def small(monkeypatch):
    data = two_clouds(120, 3)
    monkeypatch.setattr(chance, "dense_data", lambda name: data)
    return data


def by_column(cells, row):
    return {cell.column: cell for cell in cells if cell.row == row}


def test_partitions_have_all_methods_beside_the_paper(small):
    cells = list(chance.partitions("Table 2", "any", 0.8, 2))
    for method in chance_methods.METHODS:
        found = by_column(cells, method)
        assert found["seconds"].ours >= 0.0
        assert 50.0 <= found["accuracy %"].ours <= 100.0
        assert found["above the optimum"].ours >= -1e-9
    assert by_column(cells, "newton")["largest relative gap"].ours <= 1e-6
    printed = by_column(cells, "interior point, m cones")
    assert_allclose(printed["accuracy %"].paper, 96.72)
    assert_allclose(printed["accuracy %"].tolerance, 1.12)
    assert by_column(cells, "newton")["accuracy %"].paper is None


def test_partition_is_a_partition():
    train, test = chance_methods.partition(10, 0.8, 3)
    assert len(train) == 8
    assert sorted([*train, *test]) == list(range(10))


def test_batch_subgradient_is_its_formula_and_descends(small):
    X, y = small
    problem = chance_methods.class_problem(X, y)
    curve = chance_methods.batch_subgradient(problem, 512)
    assert [t for t, _, _ in curve] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    first = X.T @ y  # every sample violates its margin at w = 0
    assert_allclose(curve[0][2], objective(problem, first, float(y.sum())))
    best = newton(problem).objective
    assert best <= curve[-1][2] < curve[0][2]


def test_curves_and_scaled_runs(small):
    cells = list(chance.curves("ionosphere", 8))
    reached = by_column(cells, "ionosphere, newton")
    assert reached["seconds to 0.01 above"].ours is not None
    figure = chance_report.figures(cells)["time_to_accuracy"]
    assert len(figure.axes) == 3
    refined = by_column(chance.scaled("any", 1), "any")["refined 50m"]
    assert refined.ours <= 0.01
    assert refined.note.endswith("asked: at most 0.01")


@pytest.mark.parametrize("label", ["newton", "SSGD 50m", "SSGD 50m, standardised"])
def test_grid_over_costs_is_the_method_on_the_same_partitions(small, label):
    X, y = small
    if "standardised" in label:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = by_column(chance.grid("any", 2), f"any, {label}")
    assert list(found) == [f"C = {cost:g}" for cost in chance.COSTS]
    shares = []
    for seed in range(2):
        train, test = chance_methods.partition(len(y), 0.8, seed)
        problem = chance_methods.class_problem(X[train], y[train], 10.0)
        method = chance_methods.METHODS[label.removesuffix(", standardised")]
        solved = method(problem, seed)
        shares.append(np.mean(y[test] * (X[test] @ solved.w + solved.b) > 0.0))
    assert_allclose(found["C = 10"].ours, 100.0 * np.mean(shares))


def test_tasks_have_unique_names_and_quick_ones_are_fewer():
    names = [task.name for task in chance.tasks(quick=False)]
    assert len(set(names)) == len(names)
    assert len(chance.tasks(quick=True)) <= len(names)


def test_report_shows_ours_beside_the_papers(small, tmp_path):
    store = ResultStore(tmp_path / "chance.json")
    cells = list(chance.partitions("Table 2", "any", 0.8, 2))
    store.add("Table 2, breast-cancer-wisconsin, 80% training", {})
    text = chance_report.parts(store, cells)[chance_report.PAGE]
    assert "96.72 ± 1.12" in text
    assert all(method in text for method in chance_methods.METHODS)
    for part in ("risk 0.1", "class times 0.01", "C = 1", "SeDuMi column"):
        assert part in text
    assert chance_report.CURVES not in text  # no curves measured yet
    cells += chance.curves("breast-cancer-wisconsin", 8)
    text = chance_report.parts(store, cells)[chance_report.PAGE]
    assert f".. image:: {chance_report.CURVES}" in text
    (path,) = chance_report.PICTURES
    figure = chance_report.figures(cells)[chance_report.PICTURES[path]]
    assert {"batch subgradient", "newton"} <= {
        line.get_label() for line in figure.axes[0].lines
    }


def test_the_distances_told_in_prose_are_the_stored_ones():
    root = Path(__file__).parents[3]
    store = paper_campaign("chance").stored(root)
    cells = cells_of(chance.tasks(quick=False), store)
    above = {(c.table, c.row, c.column): c for c in cells}
    raw, scaled = {}, {}
    for table, (name, _) in chance.PAPER.items():
        raw[name] = above[f"{table}, 80% training", "SSGD 50m", "above the optimum"]
        scaled[name] = above["Above the optimum, scaled", name, "published 50m"]
    breast = "breast-cancer-wisconsin"
    worst = float(scaled[breast].note.rpartition(" ")[2])
    errata = " ".join((root / "docs/errata.rst").read_text().split())
    assert f"mean objective is {1 + raw[breast].ours:.0f} times the optimum" in errata
    assert f"{1 + scaled[breast].ours:.2f} times on standardised ones" in errata
    assert f"the largest {1 + worst:.2f} times" in errata
    page = " ".join((root / "docs/systems/chance_constrained.rst").read_text().split())
    first, second, third = (f"{cell.ours:.3g}" for cell in raw.values())
    assert f"{first} (breast cancer), {second} (ionosphere) and {third}" in page
    first, second, third = (f"{cell.ours:.3g}" for cell in scaled.values())
    assert f"and by {first}, {second} and {third} times on standardised ones" in page

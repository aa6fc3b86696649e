"""The paper's tables: on small data, that they are computed as they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin.chance_constrained.newton import newton
from widemargin.chance_constrained.objective import objective
from widemargin.reproduction import (
    chance,
    chance_growth,
    chance_methods,
    chance_report,
)
from widemargin.reproduction.papers import Cell, Task
from widemargin.reproduction.results import ResultStore


@pytest.fixture
def small(monkeypatch):
    data = chance_growth.two_clouds(120, 3)
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
    cells = list(chance.curves("any", 8))
    reached = by_column(cells, "any, newton")
    assert reached["seconds to 0.01 above"].ours is not None
    figure = chance.figures(cells)["time_to_accuracy"]
    assert len(figure.axes) == 3
    refined = by_column(chance.scaled("any", 1), "any")
    assert refined["refined 50m"].ours <= 0.01


def test_tasks_have_unique_names_and_quick_ones_are_fewer():
    names = [task.name for task in chance.tasks(quick=False)]
    assert len(set(names)) == len(names)
    assert len(chance.tasks(quick=True)) <= len(names)


def test_growth_and_stream_on_small_sizes():
    rows = list(chance_growth.with_rows((200, 400)))
    assert np.isfinite(by_column(rows, "newton, d = 10")["exponent in m"].ours)
    stream = list(chance_growth.stream(20_000))
    assert by_column(stream, stream[0].row)["file, MB"].ours == 0.8


def test_report_shows_ours_beside_the_papers(small, tmp_path):
    store = ResultStore(tmp_path / "chance.json")
    name = "Table 2, breast-cancer-wisconsin, 80% training"
    cells = [vars(c) for c in chance.partitions("Table 2", "any", 0.8, 2)]
    store.add(name, {"cells": cells})
    text = chance_report.as_rst(store)
    assert "96.72 ± 1.12" in text
    assert all(method in text for method in chance_methods.METHODS)
    assert [vars(c) for c in chance_report.stored_cells(store)] == cells
    assert "95.60" in chance_report.accuracy_asked(chance_report.stored_cells(store))
    page = tmp_path / "page.inc"
    chance_report.main(["--results", str(store.path), "--page", str(page), "--write"])
    assert page.read_text() == text + "\n"
    assert chance_report.CURVES not in text  # no curves measured yet
    curves = [vars(c) for c in chance.curves("breast-cancer-wisconsin", 8)]
    store.add("Table 1, curves, breast-cancer-wisconsin", {"cells": curves})
    chance_report.write(store, page)
    assert f".. image:: {chance_report.CURVES}" in page.read_text()
    picture = (tmp_path / chance_report.CURVES).read_text()
    assert "batch subgradient" in picture
    assert "newton" in picture


def test_the_page_is_what_the_stored_results_say():
    root = Path(__file__).parents[2]
    text = chance_report.as_rst(ResultStore(root / chance_report.STORE))
    assert (root / chance_report.PAGE).read_text() == text + "\n"


def test_tasks_are_measured_by_name_and_again_only_if_asked(monkeypatch, tmp_path):
    store = ResultStore(tmp_path / "chance.json")
    runs = []

    def run():
        runs.append(1)
        return [Cell("Growth", "row", "column", float(len(runs)))]

    tasks = [Task(name, run, (), "Growth", 1) for name in ("rows", "features")]
    monkeypatch.setattr(chance, "tasks", lambda quick: tasks)
    chance_report.measure(store, "row")
    chance_report.measure(store, "row")
    assert len(runs) == 1
    assert list(store.records) == ["rows"]
    assert store.records["rows"]["threads"] == 1
    store.records["rows"]["commit"] = "of old"
    chance_report.measure(store, "row")
    assert len(runs) == 1
    chance_report.measure(store, "row", again=True)
    assert len(runs) == 2

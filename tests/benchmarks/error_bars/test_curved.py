"""The table of the curved boundary: on small data, that it says what it counts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from suites.error_bars import curved
from widemargin import ChanceConstrainedSVC
from widemargin_papers.harness.cells import by_row


@pytest.fixture
def small(monkeypatch):
    sizes = {"TRAINING": 80, "TESTS": 100, "JUDGED": 50, "SEEDS": 2, "AGAIN": 2}
    for name, size in {**sizes, "DRAWS": 40, "COMPONENTS": 25}.items():
        monkeypatch.setattr(curved, name, size)


def test_a_row_has_the_accuracies_and_what_the_bounds_are_worth(small):
    ((row, found),) = by_row(curved.run(curved.MOONS, 0.2)).items()
    assert row == "two moons, 0.2"
    assert tuple(found) == curved.COLUMNS
    assert found["rbf"] > found["linear"] + 3.0
    assert 0.0 < found["certain"] < 100.0
    assert found["above"] <= 2.0  # of 50, in 40 draws each


def test_samples_above_their_bound_are_counted(small, monkeypatch):
    def nothing_ever_happens(_self, X, *_):
        return np.zeros(len(X))

    monkeypatch.setattr(
        ChanceConstrainedSVC, "error_probability_bound", nothing_ever_happens
    )
    ((_, found),) = by_row(curved.run(curved.MOONS, 0.2)).items()
    assert 0.0 < found["above"] <= 50.0
    assert_allclose(found["certain"], 100.0)


def test_the_table_has_a_line_a_row_and_the_gain_over_linear():
    figures = {"SVC": 90.0, "linear": 80.0, "rbf": 88.25, "certain": 40.4, "above": 1.0}
    cells = curved.row_cells(curved.CURVED, "magic04, 0.3", figures)
    line = curved.curved_table(cells).splitlines()[3]
    expected = "magic04 0.3 90.00 80.00 88.25 +8.2 40 % 1 of 200"
    assert line.split() == expected.split()
    assert curved.curved_table([]) == "Not measured yet.\n"


def test_tasks_are_named_by_data_and_deviation():
    assert [task.name for task in curved.tasks()] == [
        "curved, two moons, 0.1",
        "curved, two moons, 0.2",
        "curved, magic04, 0.1",
        "curved, magic04, 0.3",
    ]

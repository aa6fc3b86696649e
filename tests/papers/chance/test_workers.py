"""Evidence of several workers and of little memory: the cells, on small data."""

from __future__ import annotations

import pytest

from widemargin_papers.chance import table4_grid, workers
from widemargin_papers.harness.cells import Cell, by_row


@pytest.mark.parametrize(
    "run",
    [
        workers.by_jobs,
        pytest.param(workers.by_dask, marks=pytest.mark.campaign),  # starts clusters
    ],
)
def test_speed_up(monkeypatch, run):
    monkeypatch.setattr(workers, "REPEATS", 1)
    monkeypatch.setattr(workers, "COUNTS", (1,))
    (figures,) = by_row(run((400, 5))).values()
    assert figures["speed-up, 1 workers"] == 1.0
    assert figures["accuracy"] > 0.8


def test_a_file_is_trained_on_within_a_limit():
    (figures,) = by_row(workers.limited(rows=20_000, limit_mb=200)).values()
    assert figures["file, MB"] == pytest.approx(0.8)
    assert figures["accuracy on new rows"] > 0.8


def test_the_nearest_setting_is_by_its_farthest_cell():
    cells = [
        Cell(table4_grid.GRID, row, column, ours, paper, note="± 1, 5 runs")
        for row, both in {"a": (80.0, 70.0), "b": (78.0, 76.0)}.items()
        for column, ours, paper in zip(("x", "y"), both, (80.0, 75.0), strict=True)
    ]
    assert table4_grid.nearest(cells) == [("b", 2.0), ("a", 5.0)]
    table = table4_grid.nearest_table(cells)
    assert table.index("paper") < table.index("- b") < table.index("- a")

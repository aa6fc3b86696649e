"""The settings nearest to the column of Table 4 of the paper on error bars."""

from __future__ import annotations

from suites.error_bars import table4_grid
from widemargin_papers.harness.cells import Cell


def test_the_nearest_setting_is_by_its_farthest_cell():
    cells = [
        Cell(table4_grid.GRID, row, column, ours, paper, note="± 1, 5 runs")
        for row, both in {"a": (80.0, 70.0), "b": (78.0, 76.0)}.items()
        for column, ours, paper in zip(("x", "y"), both, (80.0, 75.0), strict=True)
    ]
    assert table4_grid.nearest(cells) == [("b", 2.0), ("a", 5.0)]
    table = table4_grid.nearest_table(cells)
    assert table.index("paper") < table.index("- b") < table.index("- a")


def test_every_scaling_is_run_with_all_printed_epochs():
    assert len(table4_grid.tasks()) == len(table4_grid.SCALINGS) * 3

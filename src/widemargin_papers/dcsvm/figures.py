"""Figures 1 to 4 of the divide-and-conquer paper, and the grids as heat maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin.display import GridDisplay, HistoryDisplay
from widemargin_papers.harness.cells import Cell, by_row
from widemargin_papers.harness.figures import Curves, canvas, draw_panels

from . import printed as paper
from .curves import SPENT
from .support_found import TABLE as FOUND

Panels = dict[str, Curves]  # data set, curve, points


def figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw the curves of Figures 1 to 4, and the grids as heat maps."""
    drawn: dict[str, Any] = {}
    bounds = _bounds(cells)
    if bounds:
        drawn["figure1"], (ax,) = canvas(1, 1, (5.5, 4))
        display = HistoryDisplay(bounds, "clusters", "objective above the optimum")
        display.plot(ax=ax, log=True, log_x=True)
    shares = _shares(cells)
    if shares:
        labels = "clusters or parts", "share of the support vectors"
        drawn["figure2"] = _panels(shares, labels)
    over_time = _timed_curves(cells, FOUND, "recall")
    if over_time:
        labels = "processor seconds", "share of the final support vectors"
        drawn["figure2_time"] = _panels(over_time, labels)
    for table in ("Figure 3", "Figure 4"):
        for column, stem in (("accuracy %", ""), ("relative error", "_objective")):
            curves = _timed_curves(cells, table, column)
            if curves:
                name = table.lower().replace(" ", "") + stem
                labels = "processor seconds", column
                drawn[name] = _panels(curves, labels, log=bool(stem))
    for name in paper.GRIDS:
        found = [c for c in cells if c.table == f"grid {name}" and c.column[-1] == "%"]
        if found:
            drawn[f"grid_{name}"] = _heat_maps(name, found, cells)
    return drawn


def _panels(curves: Panels, labels: tuple[str, str], log: bool = False) -> Any:
    """One panel per data set, side by side."""
    figure = draw_panels(curves, labels, size=(4.5, 4), log=log, log_x=True)
    for ax in figure.axes:
        ax.tick_params(axis="x", which="minor", labelrotation=60, labelsize=7)
    return figure


def _bounds(cells: Sequence[Cell]) -> dict[str, Any]:
    """Figure 1: difference and bound of each clustering by the number of clusters."""
    series: Curves = {}
    for row, values in by_row(cells, "Figure 1").items():
        clustering, k, _ = row.split(", ")
        for column, value in values.items():
            point = (float(k.removeprefix("k=")), value)
            series.setdefault(f"{clustering}: {column}", []).append(point)
    return {name: tuple(np.transpose(sorted(p))) for name, p in series.items()}


def _shares(cells: Sequence[Cell]) -> Panels:
    """Figure 2: precision and recall by number of clusters, of levels and cascade."""
    panels: Panels = {}
    for row, values in by_row(cells, "Figure 2").items():
        name, rows, method, size = row.split(", ")
        panel = panels.setdefault(f"{name}, {rows}", {})
        for column, value in values.items():
            point = (float(size.split()[0]), value)
            panel.setdefault(f"{method}, {column}", []).append(point)
    return panels


def _timed_curves(cells: Sequence[Cell], table: str, column: str) -> Panels:
    """One column against the seconds spent, of every method (Figures 2 c to 4)."""
    panels: Panels = {}
    for row, values in by_row(cells, table).items():
        name, rows, method = row.split(", ", 2)
        if column in values:  # approximate methods have no dual objective
            panel = panels.setdefault(f"{name}, {rows}", {})
            point = (values[SPENT], values[column])
            name, ranked, _ = method.partition(" rank ")
            label = name if ranked else method.split()[0]
            panel.setdefault(label, []).append(point)
    return panels


def _heat_maps(name: str, cells: Sequence[Cell], everything: Sequence[Cell]) -> Any:
    def powers(cell: Cell) -> tuple[int, int]:
        C, gamma = cell.row.split(",")[0].split()
        return int(C.split("^")[1]), int(gamma.split("^")[1])

    columns = sorted({cell.column for cell in cells})
    places = sorted({power for cell in cells for power in powers(cell)})
    figure, axes = canvas(len(columns), len(columns), (4.2, 3.6))
    for ax, column in zip(axes, columns, strict=True):
        table = np.full((len(places), len(places)), np.nan)
        for cell in cells:
            if cell.column == column:
                C, gamma = powers(cell)
                table[places.index(C), places.index(gamma)] = cell.ours
        labels = [f"$2^{{{p}}}$" for p in places]
        GridDisplay(table, labels, labels, "gamma", "C").plot(ax=ax)
        own, printed = total(everything, name, column.split()[0])
        title = f"{name + _rows_note(cells)}: {column}"
        title += f"\n{own:.0f} s in all (paper, all rows: {printed:.0f} s)"
        ax.set_title(title)
    return figure


def totals(cells: Sequence[Cell]) -> list[Cell]:
    """Table 4 from the points of the grids that were run: total processor seconds."""
    found = []
    for name in paper.TABLE_4:
        grid = [cell for cell in cells if cell.table == f"grid {name}"]
        points = {cell.row for cell in grid}
        for method in ("early", "exact") if points else ():
            own, printed = total(cells, name, method)
            note = f"{len(points)} of {len(paper.GRIDS[name])} points"
            row = f"{name}, {method}{_rows_note(grid)}"
            found.append(Cell("Table 4", row, "processor s", own, printed, note=note))
    return found


def _rows_note(grid: Sequence[Cell]) -> str:
    """``", 20000 rows"`` of a grid on a subset, nothing of one on all rows."""
    _, comma, rows = grid[0].row.partition(",")
    return comma + rows


def total(cells: Sequence[Cell], name: str, method: str) -> tuple[float, float]:
    """Total processor seconds of a grid, ours, and the paper's seconds (Table 4)."""
    own = sum(
        cell.ours or 0.0
        for cell in cells
        if cell.table == f"grid {name}" and cell.column == f"{method} s"
    )
    return own, paper.TABLE_4[name][("early", "exact").index(method)]

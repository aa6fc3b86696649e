"""Figures 1 to 4 of the divide-and-conquer paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from widemargin_papers.harness.cells import Cell, by_row
from widemargin_papers.harness.figures import Curves, draw_panels

from .curves import SPENT
from .support_found import TABLE as FOUND

Panels = dict[str, Curves]  # data set, curve, points


def figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw the curves of Figures 1 to 4."""
    spent, found = "processor seconds", "share of the final support vectors"
    wanted = {
        "figure1": (_bounds(cells), "clusters", "objective above the optimum", True),
        "figure2": (_shares(cells), "clusters or parts", found, False),
        "figure2_time": (_timed_curves(cells, FOUND, "recall"), spent, found, False),
    }
    for table, stem in (("Figure 3", "figure3"), ("Figure 4", "figure4")):
        for column, more in (("accuracy %", ""), ("relative error", "_objective")):
            curves = _timed_curves(cells, table, column)
            wanted[stem + more] = (curves, spent, column, bool(more))
    return {
        stem: _panels(curves, (x, y), log)
        for stem, (curves, x, y, log) in wanted.items()
        if curves
    }


def _panels(curves: Panels, labels: tuple[str, str], log: bool) -> Any:
    """One panel per data set, side by side."""
    figure = draw_panels(curves, labels, size=(4.5, 4), log=log, log_x=True)
    for ax in figure.axes:
        ax.tick_params(axis="x", which="minor", labelrotation=60, labelsize=7)
    return figure


def _bounds(cells: Sequence[Cell]) -> Panels:
    """Figure 1: difference and bound of each clustering by the number of clusters."""
    panels: Panels = {}
    for row, values in by_row(cells, "Figure 1").items():
        clustering, k, rows = row.split(", ")
        panel = panels.setdefault(f"covtype, {rows}", {})
        for column, value in values.items():
            point = (float(k.removeprefix("k=")), value)
            panel.setdefault(f"{clustering}: {column}", []).append(point)
    return panels


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

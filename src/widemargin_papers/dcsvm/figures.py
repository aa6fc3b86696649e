"""Figures 1 to 4 of the divide-and-conquer paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin.display import HistoryDisplay
from widemargin_papers.harness.cells import Cell, by_row
from widemargin_papers.harness.figures import Curves, canvas, draw_panels

from .curves import SPENT
from .support_found import TABLE as FOUND

Panels = dict[str, Curves]  # data set, curve, points


def figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw the curves of Figures 1 to 4."""
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

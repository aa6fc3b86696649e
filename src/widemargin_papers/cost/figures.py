"""Figures 1 to 5 of the chunk-incremental paper, drawn from the stored cells.

A colour for each way to take in the chunk, a line style for each kernel; hollow markers
are lower bounds, where scikit-learn was stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from widemargin.display import ComparisonDisplay
from widemargin.display.canvas import COLOURS
from widemargin_papers.harness.cells import Cell
from widemargin_papers.harness.figures import Curves, canvas, draw_panels

from .accuracy import BASELINE, baseline_costs, by_set, summary
from .printed import KERNELS, ROWS

WAYS = ("chunk", "one by one", "batch", "scikit-learn")
STYLES = ("solid", "dashed", "dotted")
HOLLOW: dict[str, Any] = {
    "color": "black",
    "marker": "o",
    "markersize": 4,
    "markerfacecolor": "white",
    "linestyle": "none",
    "zorder": 3,
}
PANELS = {  # figure -> quantity, ways
    "figure1": ("steps", WAYS[:2]),
    "figure2": ("margin set", WAYS[:2]),
    "figure3": ("seconds", WAYS),
    "figure4": ("seconds", WAYS[:2]),
}

Rows = Mapping[str, Mapping[str, float]]


def draw_growth(cells: Sequence[Cell], rows: Rows) -> dict[str, Any]:
    """Draw each quantity against the training rows, one panel per data set.

    The notes of the cells say which peer was stopped; `rows` are the figures by row.
    """
    stopped = {cell.row for cell in cells if cell.note.startswith("stopped")}
    return {
        stem: _panels(rows, stopped, quantity, ways)
        for stem, (quantity, ways) in PANELS.items()
    }


def _panels(rows: Rows, stopped: set[str], quantity: str, ways: Sequence[str]) -> Any:
    from matplotlib.lines import Line2D

    styles = dict(zip(KERNELS, STYLES, strict=True))
    panels: dict[str, Curves] = {name: {} for name in ROWS}
    looks: dict[str, dict[str, Any]] = {}
    for name, way, (kernel, line) in product(ROWS, ways, styles.items()):
        points = curve(rows, name, kernel, f"{way}: {quantity}")
        label, colour = f"{way}, {kernel}", COLOURS[WAYS.index(way)]
        panels[name][label] = points
        looks[label] = {"color": colour, "linestyle": line}
        if way == "scikit-learn":
            bounds = [p for p in points if f"{name}, {kernel}, n={p[0]}" in stopped]
            panels[name][f"{label}, stopped"] = bounds
            looks[f"{label}, stopped"] = HOLLOW | {"color": colour}
    look: dict[str, Any] = {"size": (11 / 3, 9.6 / 3), "columns": 3, "legend": "none"}
    labels = "training rows", quantity
    figure = draw_panels(panels, labels, log=True, log_x=True, styles=looks, **look)
    for ax, curves in zip(figure.axes, panels.values(), strict=False):
        measured = sorted({size for points in curves.values() for size, _ in points})
        ax.set_xticks(measured, [f"{size:,}" for size in measured])
        ax.set_xticks([], minor=True)
    handles = [Line2D([], [], color=COLOURS[WAYS.index(way)], marker="o", markersize=4,
                      label=way) for way in ways]  # fmt: skip
    handles += [Line2D([], [], color="black", linestyle=line, label=kernel)
                for kernel, line in styles.items()]  # fmt: skip
    if "scikit-learn" in ways:
        handles.append(Line2D([], [], label="stopped: a lower bound", **HOLLOW))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), frameon=False
    )
    return figure


def curve(rows: Rows, name: str, kernel: str, column: str) -> list[tuple[float, float]]:
    """Return sizes and figures of one way with one kernel on one set.

    A chunk may need no step at all: half a step is drawn for it, the axis being
    logarithmic.
    """
    start = f"{name}, {kernel}, n="
    found = {int(row.removeprefix(start)): figures[column]
             for row, figures in rows.items()
             if row.startswith(start) and column in figures}  # fmt: skip
    least = 0.5 if column.endswith("steps") else 0.0
    return [(size, max(found[size], least)) for size in sorted(found)]


def draw_accuracy(cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw the mean cost and AUC of the methods on every set (Figure 5)."""
    drawn: dict[str, Any] = {}
    for quantity, stem in (("total cost", "figure5_cost"), ("AUC", "figure5_auc")):
        found = by_set(cells, quantity)
        if not found:
            continue
        drawn[stem], axes = canvas(len(found), 2, (5.5, 2.2))
        for name, ax in zip(sorted(found), axes, strict=True):
            values = summary(found[name])
            baseline = list(baseline_costs(cells, name).values())
            if quantity == "total cost" and baseline:
                values = {BASELINE: (float(np.mean(baseline)), 0.0)} | values
            means, errors = zip(*values.values(), strict=True)
            display = ComparisonDisplay(
                list(values), means, errors=errors, quantity=quantity
            )
            display.plot(ax=ax)
            ax.set_title(name)
    return drawn

"""Pictures of the DPWSS reproduction, drawn from its cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from widemargin.display import HistoryDisplay
from widemargin.display.canvas import COLOURS
from widemargin_papers.harness.cells import Cell, by_row, of_table
from widemargin_papers.harness.figures import canvas, legend_below

from .example_models import FIGURE, picture
from .printed import SETTINGS

SIZE = (3.2, 2.6)  # of a panel


def figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return a figure for each group of cells that is there."""
    wanted = {
        "dpwss_objerror": _against_paper(cells, "Figures 2-5", "objError"),
        "dpwss_iteration_ratio": _against_paper(
            cells, "Figures 6-21", "iterationRatio"
        ),
        "dpwss_figure1": picture(by_row(cells, FIGURE)),
    }
    return {name: figure for name, figure in wanted.items() if figure is not None}


def _against_paper(cells: Sequence[Cell], table: str, quantity: str) -> Any:
    """Ours beside the paper's for each data set and setting, as Figures 2 to 21."""
    kept = of_table(cells, table)
    names = sorted({row.split()[0] for row, _ in kept})
    if not names:
        return None
    figure, axes = canvas(len(names), 4, SIZE)
    places = range(len(SETTINGS))
    looks: dict[str, dict[str, Any]] = {"ours": {}, "paper": {"marker": "x"}}
    for ax, name in zip(axes, names, strict=True):
        curves, styles = {}, {}
        for k, words, line in ((0, "without", "-"), (1, "with", ":")):
            row = f"{name} shrinking={k}"
            own = [kept.get((row, f"{quantity} {setting}")) for setting in SETTINGS]
            heights = [(c.ours, c.paper) if c else (None, None) for c in own]
            for whose, colour, points in zip(
                looks, COLOURS, zip(*heights, strict=True), strict=False
            ):
                label = f"{whose} {words} shrinking"
                curves[label] = (places, [np.nan if y is None else y for y in points])
                styles[label] = {"color": colour, "linestyle": line} | looks[whose]
        HistoryDisplay(curves).plot(ax=ax, styles=styles, legend=False)
        ax.set_title(name, fontsize=9)
        ax.set_xticks(places, SETTINGS, rotation=60, fontsize=7)
        ax.set_xlim(-0.4, len(SETTINGS) - 0.6)
        ax.set_ylim(bottom=0)
    legend_below(figure, axes[0])
    figure.suptitle(f"{quantity} by epsilon/sigma")
    return figure

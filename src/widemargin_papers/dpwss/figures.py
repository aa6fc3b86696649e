"""Pictures of the DPWSS reproduction, drawn from its cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from widemargin.display.canvas import COLOURS
from widemargin_papers.harness.cells import Cell, by_row, of_table
from widemargin_papers.harness.figures import Curves, draw_panels

from .example_models import FIGURE, picture
from .printed import SETTINGS

SIZE = (3.2, 2.6)  # of a panel
PLACES = list(SETTINGS)


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
    panels: dict[str, Curves] = {}
    styles: dict[str, dict[str, Any]] = {}
    looks: dict[str, dict[str, Any]] = {"ours": {}, "paper": {"marker": "x"}}
    for name, (k, words, line), place in product(
        names, ((0, "without", "-"), (1, "with", ":")), range(len(SETTINGS))
    ):
        cell = kept.get((f"{name} shrinking={k}", f"{quantity} {PLACES[place]}"))
        heights = (cell.ours, cell.paper) if cell else (None, None)
        for whose, colour, y in zip(looks, COLOURS, heights, strict=False):
            label = f"{whose} {words} shrinking"
            point = (float(place), np.nan if y is None else y)
            panels.setdefault(name, {}).setdefault(label, []).append(point)
            styles[label] = {"color": colour, "linestyle": line} | looks[whose]
    figure = draw_panels(panels, ("", ""), size=SIZE, styles=styles, legend="below")
    for ax in figure.axes[: len(names)]:
        ax.set_xticks(range(len(SETTINGS)), PLACES, rotation=60, fontsize=7)
        ax.set_xlim(-0.4, len(SETTINGS) - 0.6)
        ax.set_ylim(bottom=0)
    figure.suptitle(f"{quantity} by epsilon/sigma")
    return figure

"""Figures of several panels, and how they are saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from widemargin.display import HistoryDisplay
from widemargin.runtime.atomic_file import replacing

SALT = "cost"  # any text: another one renames the parts of all stored pictures
Curves = dict[str, list[tuple[float, float]]]  # points of each curve


def canvas(
    count: int, columns: int, size: tuple[float, float]
) -> tuple[Any, list[Any]]:
    """Return a figure with `count` panels of that size in inches, and the panels."""
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    width, height = size
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[count:]:
        ax.set_visible(False)
    return figure, list(axes[:count])


def draw_panels(
    panels: Mapping[str, Curves],
    labels: tuple[str, str],
    *,
    size: tuple[float, float],
    columns: int = 4,
    log: bool = False,
    log_x: bool = False,
    styles: Mapping[str, Mapping[str, Any]] | None = None,
    legend: str = "each",
    title_size: float | str = "large",
) -> Any:
    """Draw a panel for each entry, its curves in the order of their points' x.

    With ``legend="first"`` only the first panel has a legend and a label of y, with
    "below" they have one together, with "none" the caller makes it.
    """
    figure, axes = canvas(len(panels), min(columns, len(panels)), size)
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        series: dict[str, Any] = {
            name: tuple(np.transpose(sorted(points)))
            for name, points in curves.items()
            if points
        }
        own = legend == "each" or (legend == "first" and ax is axes[0])
        display = HistoryDisplay(
            series, labels[0], "" if legend == "first" and not own else labels[1]
        )
        if series:
            display.plot(ax=ax, log=log, log_x=log_x, styles=styles, legend=own)
        ax.set_title(title, fontsize=title_size)
    if legend == "below":
        handles = axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=6, fontsize=7)
    return figure


def save(figure: Any, path: Path, *, dpi: int = 80, about: str = "") -> None:
    """Save a figure so that the file changes only where the figure does.

    No date and no version; in SVG text as text and the same names of its parts.
    """
    from matplotlib import rc_context

    path.parent.mkdir(parents=True, exist_ok=True)
    svg = path.suffix == ".svg"
    metadata: dict[str, Any] = {"Date": None} if svg else {"Software": ""}
    if about:
        metadata["Description"] = about
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": SALT}):
        with replacing(path) as file:
            figure.savefig(file, format=path.suffix[1:], dpi=dpi, metadata=metadata)

"""Pictures of the DPWSS reproduction, drawn from its cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from widemargin.display import HistoryDisplay
from widemargin.display.canvas import COLOURS
from widemargin_papers.harness.cells import Cell, by_row, of_table
from widemargin_papers.harness.figures import Curves, canvas, legend_below

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
        "dpwss_apart": _apart(cells),
        "dpwss_sigma": _sweep(cells),
        "dpwss_equal_epsilon": _accuracy(cells),
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


def _of_metrics(draw: Callable[[Any, str], None]) -> Any:
    """Draw a panel of iterations and one of violations, with one legend."""
    figure, axes = canvas(2, 2, SIZE)
    for ax, metric in zip(axes, ("iteration", "KKT violation"), strict=True):
        draw(ax, metric)
    legend_below(figure, axes[0])
    return figure


def _apart(cells: Sequence[Cell]) -> Any:
    """Iterations and violation of each rule: what "once" does and what draws do."""
    found = by_row(cells, "Randomness and early stopping")
    names = sorted({row.split(":")[0] for row in found})
    rules = list(dict.fromkeys(row.split(": ")[1] for row in found))

    def draw(ax: Any, metric: str) -> None:
        curves = {}
        for name in names:
            own = [found.get(f"{name}: {rule}", {}) for rule in rules]
            values = [figures.get(metric, float("nan")) for figures in own]
            curves[name] = (values, range(len(rules)))
        dots = {name: {"linestyle": "none"} for name in names}
        display = HistoryDisplay(curves, metric)
        display.plot(ax=ax, log_x=True, styles=dots, legend=False)
        ax.set_yticks(range(len(rules)), rules, fontsize=7)
        ax.invert_yaxis()
        ax.tick_params(labelleft=metric == "iteration")

    return _of_metrics(draw) if found else None


def _sweep(cells: Sequence[Cell]) -> Any:
    """Show iterations and violation against sigma: fast is early, not efficient."""
    found = by_row(cells, "Sweep of sigma")

    def draw(ax: Any, metric: str) -> None:
        curves: dict[str, Any] = {}
        for row in sorted(found):
            sigmas, values = curves.setdefault(row.split()[0], ([], []))
            sigmas.append(float(row.split("=")[1]))
            values.append(found[row][metric])
        HistoryDisplay(curves, "sigma", metric).plot(ax=ax, log=True, legend=False)

    return _of_metrics(draw) if found else None


def _accuracy(cells: Sequence[Cell]) -> Any:
    """Accuracy on unseen rows against the stated epsilon, one panel per data set."""
    found = by_row(cells, "Accuracy on unseen")
    if not found:
        return None
    styles = {
        "DPWSS (no guarantee)": {"marker": "x", "linestyle": "--"},
        "SVC, not private": {"color": "#555555", "linestyle": ":", "marker": ""},
    }
    figure, axes = canvas(len(found), 3, SIZE)
    for ax, row in zip(axes, sorted(found), strict=True):
        points: Curves = {}
        for column, accuracy in sorted(found[row].items()):
            method, _, epsilon = column.rpartition(" ")
            if epsilon != "private":
                label = "DPWSS (no guarantee)" if method == "DPWSS" else method
                points.setdefault(label, []).append((float(epsilon), accuracy))
        curves: dict[str, Any] = {
            label: tuple(zip(*sorted(own), strict=True))
            for label, own in points.items()
        }
        plain = found[row].get("SVC, not private")
        if plain is not None and curves:
            stated = sorted({x for across, _ in curves.values() for x in across})
            curves["SVC, not private"] = (stated, [plain] * len(stated))
        what = "accuracy on unseen rows" if ax is axes[0] else ""
        display = HistoryDisplay(curves, "stated epsilon", what)
        display.plot(ax=ax, log_x=True, styles=styles, legend=False)
        ax.set_title(row, fontsize=9)
    legend_below(figure, axes[0])
    return figure

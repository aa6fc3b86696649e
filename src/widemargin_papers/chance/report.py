"""The measured part of the chance-constrained page, made of the stored results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from widemargin_papers.harness.cells import Cell, of_table
from widemargin_papers.harness.figures import draw_panels
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import folded, list_table, provenance

from .methods import METHODS
from .printed import COVARIANCE_SCALE, DATA, PAPER, RISK, C

STORE = "chance"
PAGE = "docs/systems/chance_constrained_measured.inc"
CURVES = "chance_constrained_curves.svg"  # beside the page
PICTURES = {f"docs/systems/{CURVES}": "time_to_accuracy"}
#: tables of ours alone -> their titles on the page
SECTIONS = {
    "Above the optimum, scaled": "How far above the optimum, standardised data",
    "Grid over C": "Test accuracy in % over C, 80% training",
    "Table 1": "Time to accuracy, standardised data",
}


def _figure(value: float | None, deviation: float | None = None, form: str = "") -> str:
    """Return a figure, with its deviation in that form where it is known."""
    if value is None or deviation is None:
        return "-" if value is None else f"{value:.3g}"
    return f"{value:{form}} ± {deviation:{form}}"


def paper_tables(cells: Sequence[Cell]) -> str:
    """Return Tables 2 to 4: seconds and accuracy, ours and the paper's."""
    parts = []
    header = ("method", "seconds", "paper", "accuracy %", "paper", "above the optimum")
    for table in dict.fromkeys(c.table for c in cells if c.table.endswith("training")):
        own = of_table(cells, table)
        rows = []
        for method in METHODS:
            if (method, "seconds") not in own:
                continue  # stored before there was such a method
            seconds, accuracy = own[method, "seconds"], own[method, "accuracy %"]
            spread = own[method, "deviation of accuracy"].ours
            jitter = own.get((method, "deviation of seconds"), Cell("", "", "", None))
            rows.append(
                (
                    method,
                    _figure(seconds.ours, jitter.ours, ".3g"),
                    _figure(seconds.paper, jitter.paper, ".3f"),
                    _figure(accuracy.ours, spread, ".2f"),
                    _figure(accuracy.paper, accuracy.tolerance, ".2f"),
                    _figure(own[method, "above the optimum"].ours),
                )
            )
        name = PAPER[table.partition(",")[0]][0]
        runs = dict.fromkeys(c.note for c in own.values() if c.column == "seconds")
        title = f"**{table}** ({name}; {', '.join(runs)})"
        parts.append(f"{title}\n\n{list_table(header, rows)}")
    return "\n".join(parts)


def plain_table(cells: Sequence[Cell], table: str) -> str:
    """Return a table of ours alone; rows that have the same columns stand together."""
    found: dict[str, dict[str, str]] = {}
    for cell in (c for c in cells if c.table == table):
        found.setdefault(cell.row, {})[cell.column] = _noted(cell)
    groups: dict[tuple[str, ...], list[list[str]]] = {}
    for row, texts in found.items():
        groups.setdefault(tuple(texts), []).append([row, *texts.values()])
    return "\n".join(list_table(("", *own), rows) for own, rows in groups.items())


def _noted(cell: Cell) -> str:
    """Return a figure with its note: "96.9 ± 1.2", "0.26 (largest of 5: 1.2)"."""
    if cell.ours is None or not cell.note:
        return cell.note or _figure(cell.ours)
    note = cell.note if cell.note.startswith("±") else f"({cell.note})"
    return f"{_figure(cell.ours)} {note}"


def parts(store: ResultStore, cells: Sequence[Cell]) -> dict[str, str]:
    """Return the measured parts of the page: each table folded, after its title."""
    text = [
        "Measured\n--------\n",
        "Processor seconds of one thread; means over random partitions. The paper's\n"
        f"setting: risk {RISK:g}, the covariance of each class times "
        f"{COVARIANCE_SCALE:g}. Ours:\n"
        f"C = {C:g} and features as they are: the paper states neither C nor a\n"
        "scaling. *Paper* beside *interior point, m cones* is its SeDuMi column; ours\n"
        "is Clarabel on the same problem. *Above the optimum* is :math:`f/f^* - 1`\n"
        "with a certified optimum.\n",
        "Where the published method, SSGD, is below the paper's accuracy, as on\n"
        "magic04, C and scaling may differ: hence the table over C, for features as\n"
        "they are and for standardised ones.\n",
        folded("Tables 2 to 4 of the paper, ours and printed", paper_tables(cells)),
    ]
    known = {cell.table for cell in cells}
    for table, title in SECTIONS.items():
        if table in known:
            text += [folded(title, plain_table(cells, table))]
        if table == "Table 1" and table in known:
            text += [f".. image:: {CURVES}\n   :alt: Objective against seconds\n"]
    text += [folded("Machines and commits", provenance(store) + "\n")]
    return {PAGE: "\n".join(text) + "\n"}


def figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw the time-to-accuracy curves of Table 1."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {
        name: {} for name in DATA
    }
    for cell in cells:
        if cell.table == "Table 1, curve":
            name, _, label = cell.row.partition(", ")
            point = (float(cell.column), max(float(cell.ours or 0.0), 1e-12))
            panels[name].setdefault(label, []).append(point)
    labels = ("seconds", "objective above the optimum, relative")
    figure = draw_panels(
        panels, labels, size=(4.2, 3.6), log=True, log_x=True, legend="first"
    )
    return {"time_to_accuracy": figure}

"""The measured part of the chance-constrained page, written from the stored results.

``python benchmarks/chance.py --write`` writes the page's measured part,
``docs/systems/chance_constrained_measured.inc``, with the curves of Table 1 as a
picture beside it, and measures nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from widemargin_papers.harness.reproduction import Cell
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.stored_tasks import cells_of, run_missing
from widemargin_papers.harness.text_tables import list_table

from . import tasks as chance
from .methods import COVARIANCE_SCALE, METHODS, RISK, C

STORE = Path("benchmarks/results/chance.json")
PAGE = Path("docs/systems/chance_constrained_measured.inc")
CURVES = "chance_constrained_curves.svg"  # beside the page
#: tables of ours alone -> their titles on the page
SECTIONS = {
    "Asked": "Asked ratios",
    "Above the optimum, scaled": "How far above the optimum, standardised data",
    "Grid over C": "Test accuracy in % over C, 80% training",
    "Table 1": "Time to accuracy, standardised data",
    "Growth": "Growth, generated data",
}


def measure(store: ResultStore, only: str = "", again: bool = False) -> None:
    """Run the tasks whose results are missing."""
    run_missing(chance.tasks(quick=False), store, only, again)


def stored_cells(store: ResultStore) -> list[Cell]:
    """Return the cells of all tasks done so far."""
    return cells_of(chance.tasks(quick=False), store)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _with_deviation(mean: float | None, deviation: float | None, form: str) -> str:
    if mean is None or deviation is None:
        return _figure(mean)
    return f"{mean:{form}} ± {deviation:{form}}"


def paper_tables(cells: Sequence[Cell]) -> str:
    """Return Tables 2 to 4: seconds and accuracy, ours and the paper's."""
    parts = []
    tables = dict.fromkeys(c.table for c in cells if c.table.endswith("training"))
    for table in tables:
        rows = []
        for method in METHODS:
            found = {c.column: c for c in cells if (c.table, c.row) == (table, method)}
            if not found:
                continue  # stored before there was such a method
            seconds, accuracy = found["seconds"], found["accuracy %"]
            spread = found["deviation of accuracy"]
            jitter = found.get("deviation of seconds", Cell("", "", "", None))
            printed = "-"
            if accuracy.paper is not None:
                printed = f"{accuracy.paper:.2f} ± {accuracy.tolerance:.2f}"
            rows.append(
                (
                    method,
                    _with_deviation(seconds.ours, jitter.ours, ".3g"),
                    _with_deviation(seconds.paper, jitter.paper, ".3f"),
                    f"{accuracy.ours:.2f} ± {spread.ours:.2f}",
                    printed,
                    _figure(found["above the optimum"].ours),
                )
            )
        name = chance.PAPER[table.partition(",")[0]][0]
        runs = dict.fromkeys(
            c.note for c in cells if c.table == table and c.column == "seconds"
        )
        header = (
            "method",
            "seconds",
            "paper",
            "accuracy %",
            "paper",
            "above the optimum",
        )
        title = f"**{table}** ({name}; {', '.join(runs)})"
        parts.append(f"{title}\n\n{list_table(header, rows)}")
    return "\n".join(parts)


def accuracy_asked(cells: Sequence[Cell]) -> str:
    """Return newton's accuracy beside what was asked: SeDuMi's less a deviation."""
    accuracies = {
        (c.table, c.row): c
        for c in cells
        if c.table.endswith("training") and c.column == "accuracy %"
    }
    rows = []
    for (table, method), cell in accuracies.items():
        if method == chance.SEDUMI and cell.paper is not None:
            asked = cell.paper - (cell.tolerance or 0.0)
            ours = accuracies[table, "newton"].ours or 0.0
            met = "yes" if ours >= asked else "no"
            rows.append((table, f"{ours:.2f}", f"{asked:.2f}", met))
    return list_table(("", "newton, accuracy %", "asked: at least", "met"), rows)


def published_against_paper(cells: Sequence[Cell]) -> str:
    """Return how often SSGD's accuracy is below the paper's, and its range over C."""
    rows = []
    for table, (name, shares) in chance.PAPER.items():
        found = [
            c
            for c in cells
            if c.table.startswith(f"{table},")
            and c.row.startswith("SSGD")
            and c.column == "accuracy %"
        ]
        if not found:
            continue
        below = [(c.paper or 0.0) - (c.ours or 0.0) for c in found]
        far = [b > (c.tolerance or 0.0) for b, c in zip(below, found, strict=True)]
        printed = shares[0.8]["SSGD 50m"]
        rows.append(
            (
                name,
                f"{sum(b > 0.0 for b in below)} of {len(found)}",
                f"{sum(far)} of {len(found)}",
                _range(cells, f"{name}, SSGD 50m"),
                _range(cells, f"{name}, SSGD 50m, standardised"),
                f"{printed.accuracy:.2f} ± {printed.deviation:.2f}",
            )
        )
    header = (
        "",
        "cells below the paper's",
        "by more than its deviation",
        "50m over C, as they are",
        "50m over C, standardised",
        "paper, 50m, 80%",
    )
    return list_table(header, rows)


def _range(cells: Sequence[Cell], row: str) -> str:
    """Return the lowest and the highest accuracy of one row of the grid over C."""
    values = [c.ours or 0.0 for c in cells if (c.table, c.row) == ("Grid over C", row)]
    return f"{min(values):.1f} to {max(values):.1f}" if values else "-"


def plain_table(cells: Sequence[Cell], table: str) -> str:
    """Return a table of ours alone: row, column, figure, note."""
    rows = [
        (c.row, c.column, _figure(c.ours), c.note) for c in cells if c.table == table
    ]
    return list_table(("", "", "figure", "note"), rows)


def as_rst(store: ResultStore) -> str:
    """Return the whole section."""
    cells = stored_cells(store)
    record = next(iter(store.records.values()))
    machine = record["machine"]
    commits = sorted({record["commit"] for record in store.records.values()})
    parts = [
        "Measured\n--------\n",
        f"On {machine['processor']}, one thread, processor seconds (other jobs ran\n"
        "beside); means over random partitions. The paper's setting: risk\n"
        f"{RISK:g}, the covariance of each class times {COVARIANCE_SCALE:g}. Ours:\n"
        f"C = {C:g} and features as they are, for the paper states neither C nor a\n"
        "scaling. *Paper* beside *interior point, m cones* is its SeDuMi column; ours\n"
        "is Clarabel on the same problem. *Above the optimum* is :math:`f/f^* - 1`,\n"
        "the optimum certified. ``python benchmarks/chance.py`` measures what is\n"
        "missing, ``--write`` writes this section from\n"
        f"``benchmarks/results/chance.json`` (commits {', '.join(commits)}).\n",
        paper_tables(cells),
        "**Accuracy asked of newton**\n",
        accuracy_asked(cells),
        "**Accuracy of the published method, SSGD, against the paper's**\n",
        "Where ours is below, as on magic04, C and scaling may differ, which the\n"
        "paper does not state: ranges over C stand beside, for features as they are\n"
        "and standardised ones.\n",
        published_against_paper(cells),
    ]
    for table, title in SECTIONS.items():
        if any(cell.table == table for cell in cells):
            parts += [f"**{title}**\n", plain_table(cells, table)]
        if table == "Table 1" and any(cell.table == table for cell in cells):
            parts += [f".. image:: {CURVES}\n   :alt: Objective against seconds\n"]
    return "\n".join(parts)


def write(store: ResultStore, page: Path) -> None:
    """Write the section and, beside it, the curves."""
    from matplotlib import rc_context

    page.write_text(as_rst(store) + "\n")
    # text as text and no date: the file is small and changes with the figures only
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": CURVES}):
        figure = chance.figures(stored_cells(store))["time_to_accuracy"]
        figure.savefig(page.with_name(CURVES), metadata={"Date": None})


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing and print the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=STORE)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--only", default="", help="tasks whose names contain this")
    parser.add_argument(
        "--again", action="store_true", help="also those of old commits"
    )
    parser.add_argument("--print", action="store_true", help="measure nothing, print")
    parser.add_argument("--write", action="store_true", help="measure nothing, write")
    options = parser.parse_args(arguments)
    store = ResultStore(options.results)
    if options.write:
        write(store, options.page)
        return
    if not options.print:
        measure(store, options.only, options.again)
    print(as_rst(store))

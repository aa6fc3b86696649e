"""The measured parts of the pages on DPWSS and on privacy, from the stored results.

``python benchmarks/dpwss.py --write`` writes them (`PARTS`), with ``cells.csv`` and the
figures, and measures nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from widemargin.estimators.dpwss.composition import selection_report
from widemargin_papers.harness import reproduction as papers
from widemargin_papers.harness.datasets import MissingDataError, find
from widemargin_papers.harness.reproduction import Cell, Task
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.stored_tasks import cells_of, run_missing
from widemargin_papers.harness.text_tables import list_table

from . import audit as dpwss_extra
from . import tasks as dpwss
from .runs import FILES, SETTINGS

FOLDER = Path("benchmarks/results/dpwss")
PAGES = Path("docs/systems")
COMPOSED = ((0.1, 400), (0.1, 13_688), (1.0, 372), (1.0, 13_688))
SHOWN = ("1/0.1", "1/0.7")  # the settings on the page; all are in cells.csv


def measure(store: ResultStore, only: str, again: bool, minutes: float) -> None:
    """Run the tasks whose results are missing and whose data is at hand."""
    tasks = [task for task in dpwss.tasks(quick=False) if _at_hand(task)]
    run_missing(tasks, store, only, again, 60 * minutes)


def _at_hand(task: Task) -> bool:
    try:
        return all(find(name) for name in task.needs)
    except MissingDataError:
        return False


def stored_cells(store: ResultStore) -> list[Cell]:
    """Return the cells of all tasks done so far."""
    return cells_of(dpwss.tasks(quick=False), store)


def _list_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    listed = list(rows)
    return list_table(header, listed) if listed else "(Not measured.)\n"


def _of(cells: Sequence[Cell], table: str) -> list[Cell]:
    return [cell for cell in cells if cell.table.startswith(table)]


def apart(cells: Sequence[Cell]) -> str:
    """Return objective, iterations and violation of each rule on each data set."""
    own = {(c.row, c.column): c.ours for c in _of(cells, "Randomness and early")}
    rules = dict.fromkeys(row.partition(": ")[2] for row, _ in own)
    named = {row.partition(":")[0] for row, _ in own}
    names = [name for name in dpwss.APART if name in named]

    def entry(name: str, rule: str) -> str:
        figures = [own.get((f"{name}: {rule}", metric)) for metric in _METRICS]
        return _triple(figures)

    table = [(rule, *(entry(name, rule) for name in names)) for rule in rules]
    return _list_table(("rule", *names), table)


_METRICS = ("obj", "iteration", "KKT violation")


def _triple(figures: Sequence[float | None]) -> str:
    objective, iterations, violation = figures
    if objective is None or iterations is None or violation is None:
        return "-"
    return f"{objective:.2f} / {iterations:,.0f} / {violation:.2g}"


def exact_rows(cells: Sequence[Cell]) -> str:
    """Count WSS2's cells that agree to the printed digit, and list the others."""
    judged = [cell for cell in cells if cell.reproduced is not None]
    others = [cell for cell in judged if not cell.reproduced]
    agreed = len(judged) - len(others)
    rows = [(c.row, c.column, f"{c.ours or 0:.6g}", f"{c.paper:g}") for c in others]
    total = f"WSS2: {agreed} of {len(judged)} legible printed cells agree to the digit"
    if not others:
        return f"{total}.\n"
    header = ("row", "cell", "ours", "paper")
    return f"{total}. The others:\n\n{_list_table(header, rows)}"


def drawn_rows(cells: Sequence[Cell]) -> str:
    """Return DPWSS beside the paper at the settings shown, without shrinking."""
    own = {(c.row, c.column): c for c in _of(cells, dpwss.TABLE)}
    rows = []
    for name in FILES:
        row = [name]
        for setting in SHOWN:
            column = f"DPWSS epsilon/sigma={setting}"
            at = f"{name} shrinking=0"
            found = [own.get((at, f"{column} {metric}")) for metric in _METRICS]
            if any(cell is None for cell in found):
                row += ["-", "-"]
                continue
            ours = _triple([cell.ours for cell in found if cell is not None])
            reason = found[2].note if found[2] is not None else ""
            printed = [c.paper for c in found[:2] if c is not None]
            legible = all(figure is not None for figure in printed)
            row.append(f"{ours} ({reason})")
            row.append(f"{printed[0]:.2f} / {printed[1]:,.0f}" if legible else "-")
        if set(row[1:]) != {"-"}:
            rows.append(row)
    header = ["data"]
    for setting in SHOWN:
        header += [f"ours, epsilon/sigma {setting}", "paper"]
    done = sum(c.column.endswith("KKT violation") for c in own.values())
    wanted = 2 * len(SETTINGS) * (len(FILES) - 2)  # two files are not to be had
    count = f"{done} of {wanted} settings (with and without shrinking) are stored."
    return f"{_list_table(header, rows)}\n{count}\n"


def cost(cells: Sequence[Cell]) -> str:
    """Return the processor time of an iteration by rule."""
    rows = [
        (c.row, c.column, f"{c.ours:.0f}", c.note)
        for c in _of(cells, dpwss_extra.COST)
        if c.ours is not None
    ]
    return _list_table(("data", "rule", "microseconds", "ratio"), rows)


def audit(cells: Sequence[Cell]) -> str:
    """Return what the audit found, smallest and largest over its seeds."""
    own = _of(cells, dpwss_extra.AUDIT)
    rows = []
    for name in dict.fromkeys(cell.row for cell in own):
        found = [c.ours for c in own if c.row == name and c.ours is not None]
        told = [cell.note for cell in own if cell.row == name]
        refuted = sum("; refuted" in note for note in told)
        verdict = f"refuted with {refuted} of {len(told)} seeds"
        first = told[0].partition(";")[0]
        low, high = f"{min(found):.2f}", f"{max(found):.2f}"
        rows.append((name, low, high, first, verdict))
    header = ("method", "least", "largest", "first seed, of 200 + 200", "verdict")
    return _list_table(header, rows)


def price(cells: Sequence[Cell]) -> str:
    """Return accuracy on unseen rows against epsilon, by data set and method."""
    own = {(c.row, c.column): c.ours for c in _of(cells, "Accuracy on unseen")}
    rows = []
    names = dict.fromkeys(row for row, _ in own)
    for name in sorted(names, key=lambda row: int(row.split("(")[1].split()[0])):
        plain = own[name, "SVC, not private"]
        title, last = name, f"{plain:.3f}"
        for method in ("output", "objective", "gradient", "DPWSS"):
            figures = [own.get((name, f"{method} {e}")) for e in dpwss.EPSILONS]
            if None in figures:
                continue
            label = "DPWSS (no guarantee)" if method == "DPWSS" else method
            rows.append((title, label, *(f"{f:.3f}" for f in figures), last))
            title = last = ""
    epsilons = [f"{epsilon:g}" for epsilon in dpwss.EPSILONS]
    return _list_table(("data", "method", *epsilons, "SVC, not private"), rows)


def composed(_: Sequence[Cell]) -> str:
    """Return what the draws alone would compose to, for runs of the paper's length."""
    rows = []
    for epsilon, draws in COMPOSED:
        told = selection_report(epsilon, draws, delta=1e-5)
        figures = told.basic, told.advanced, told.pure_concentrated, told.bounded_range
        entries = [f"{x:,.0f}" if x >= 100 else f"{x:.1f}" for x in figures]
        rows.append((f"{epsilon:g}, {draws:,}", *entries))
    header = ("epsilon per draw, draws", "basic", "advanced", "zCDP")
    return list_table((*header, "zCDP by bounded range"), rows)


#: part of a page -> what writes it
PARTS: dict[str, Callable[[Sequence[Cell]], str]] = {
    "dpwss_apart.inc": apart,
    "dpwss_exact.inc": exact_rows,
    "dpwss_drawn.inc": drawn_rows,
    "dpwss_cost.inc": cost,
    "private_audit.inc": audit,
    "private_composed.inc": composed,
    "private_price.inc": price,
}


def main() -> None:
    """Measure, print, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="print stored results")
    parser.add_argument("--write", action="store_true", help="write the pages' parts")
    parser.add_argument("--only", default="", help="part of the name of the tasks")
    parser.add_argument("--again", action="store_true", help="also what is stored")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder")
    told = parser.parse_args()
    store = ResultStore(told.results / "full.json")
    if not (told.print or told.write):
        measure(store, told.only, told.again, told.minutes)
    cells = stored_cells(store)
    parts = {name: part(cells) for name, part in PARTS.items()}
    if told.write:
        papers.write(told.results, dpwss, cells)
        for name, text in parts.items():
            (PAGES / name).write_text(text, encoding="utf-8")
    print("\n".join(parts.values()))

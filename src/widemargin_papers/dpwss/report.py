"""The measured parts of the pages on DPWSS and on privacy, from the stored results.

With them go all cells as ``cells.csv`` and the figures, beside the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from widemargin.estimators.dpwss.composition import selection_report
from widemargin_papers.harness.cells import Cell, as_csv, by_row
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import list_table

from .audit import AUDIT, RUNS
from .example_models import FIGURE, MOVES, PLAIN, same_as_plain
from .figures import figures
from .iteration_cost import COST
from .printed import FILES, SETTINGS
from .sigma_rule import rule
from .tasks import APART, EPSILONS, METRICS, TABLE
from .variants import READINGS, SETS, VARIANTS

__all__ = ["PICTURES", "STORE", "figures", "parts"]

FOLDER = "benchmarks/results/dpwss"
STORE = f"{FOLDER}/full.json"
PICTURES = {
    f"{FOLDER}/{stem}.png": stem
    for stem in ("dpwss_objerror", "dpwss_iteration_ratio", "dpwss_apart",
                 "dpwss_sigma", "dpwss_equal_epsilon")
} | {"docs/systems/figures/dpwss_figure1.png": "dpwss_figure1"}  # fmt: skip
COMPOSED = ((0.1, 400), (0.1, 13_688), (1.0, 372), (1.0, 13_688))
SHOWN = ("1/0.1", "1/0.7")  # the settings on the page; all are in cells.csv


def _list_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    listed = list(rows)
    return list_table(header, listed) if listed else "(Not measured.)\n"


def _of(cells: Sequence[Cell], table: str) -> list[Cell]:
    return [cell for cell in cells if cell.table.startswith(table)]


def apart(cells: Sequence[Cell]) -> str:
    """Return objective, iterations and violation of each rule on each data set."""
    rows = [*_of(cells, "Randomness and early"), *_of(cells, "WSS3")]
    own = {(c.row, c.column): c.ours for c in rows}
    rules = dict.fromkeys(row.partition(": ")[2] for row, _ in own)
    named = {row.partition(":")[0] for row, _ in own}
    names = [name for name in APART if name in named]

    def entry(name: str, rule: str) -> str:
        figures = [own.get((f"{name}: {rule}", metric)) for metric in METRICS]
        return _triple(figures)

    table = [(rule, *(entry(name, rule) for name in names)) for rule in rules]
    return _list_table(("rule", *names), table)


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
    own = {(c.row, c.column): c for c in _of(cells, TABLE)}
    rows = []
    for name in FILES:
        row = [name]
        for setting in SHOWN:
            column = f"DPWSS epsilon/sigma={setting}"
            at = f"{name} shrinking=0"
            found = [own.get((at, f"{column} {metric}")) for metric in METRICS]
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
    wanted = 2 * len(SETTINGS) * (len(FILES) - 2)  # two files are not available
    count = f"{done} of {wanted} settings (with and without shrinking) are stored."
    return f"{_list_table(header, rows)}\n{count}\n"


def readings(cells: Sequence[Cell]) -> str:
    """Return objective and iterations of each reading of the rule, and the paper's."""
    own = {(c.row, c.column): c for c in _of(cells, VARIANTS)}

    def entry(name: str, reading: str, printed: bool) -> str:
        found = [own.get((f"{name}: {reading}", column)) for column in METRICS[:2]]
        figures = [c and (c.paper if printed else c.ours) for c in found]
        if None in figures:
            return "-"
        return f"{figures[0]:.2f} / {figures[1]:,.0f}"

    first = next(iter(READINGS))
    rows = [("the paper", *(entry(name, first, True) for name in SETS))]
    rows += [
        (f"{reading}: {words}", *(entry(name, reading, False) for name in SETS))
        for reading, words in READINGS.items()
    ]
    return _list_table(("reading", *SETS), rows if own else [])


def cost(cells: Sequence[Cell]) -> str:
    """Return the processor time of an iteration by rule."""
    rows = [
        (c.row, c.column, f"{c.ours:.0f}", c.note)
        for c in _of(cells, COST)
        if c.ours is not None
    ]
    return _list_table(("data", "rule", "microseconds", "ratio"), rows)


def audit(cells: Sequence[Cell]) -> str:
    """Return what the audit found, smallest and largest over its seeds."""
    own = _of(cells, AUDIT)
    rows = []
    for name in dict.fromkeys(cell.row for cell in own):
        found = [c.ours for c in own if c.row == name and c.ours is not None]
        notes = [cell.note for cell in own if cell.row == name]
        refuted = sum("; refuted" in note for note in notes)
        verdict = f"refuted with {refuted} of {len(notes)} seeds"
        first = notes[0].partition(";")[0]
        low, high = f"{min(found):.2f}", f"{max(found):.2f}"
        rows.append((name, low, high, first, verdict))
    header = ("method", "least", "largest", f"first seed, of {RUNS} each", "verdict")
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
            figures = [own.get((name, f"{method} {e}")) for e in EPSILONS]
            if None in figures:
                continue
            label = "DPWSS (no guarantee)" if method == "DPWSS" else method
            rows.append((title, label, *(f"{f:.3f}" for f in figures), last))
            title = last = ""
    epsilons = [f"{epsilon:g}" for epsilon in EPSILONS]
    return _list_table(("data", "method", *epsilons, "SVC, not private"), rows)


def composed(_: Sequence[Cell]) -> str:
    """Return what the draws alone would compose to, for runs of the paper's length."""
    rows = []
    for epsilon, draws in COMPOSED:
        sums = selection_report(epsilon, draws, delta=1e-5)
        figures = sums.basic, sums.advanced, sums.pure_concentrated, sums.bounded_range
        entries = [f"{x:,.0f}" if x >= 100 else f"{x:.1f}" for x in figures]
        rows.append((f"{epsilon:g}, {draws:,}", *entries))
    header = ("epsilon per draw, draws", "basic", "advanced", "zCDP")
    return list_table((*header, "zCDP by bounded range"), rows)


def example(cells: Sequence[Cell]) -> str:
    """Return how many models of Figure 1 are the one that is not private."""
    found = by_row(cells, FIGURE)
    words = []
    for by in MOVES:
        if f"moved by {by}: {PLAIN}" in found:
            equal, count = same_as_plain(found, by)
            words.append(f"{equal} of {count} where the classes are moved by {by}")
    return f"Equal to the plain model to twelve digits: {'; '.join(words)}.\n"


#: part of a page -> what makes it of the cells
PARTS: dict[str, Callable[[Sequence[Cell]], str]] = {
    "dpwss_apart.inc": apart,
    "dpwss_example.inc": example,
    "dpwss_exact.inc": exact_rows,
    "dpwss_drawn.inc": drawn_rows,
    "dpwss_cost.inc": cost,
    "dpwss_readings.inc": readings,
    "dpwss_sigma_rule.inc": rule,
    "private_audit.inc": audit,
    "private_composed.inc": composed,
    "private_price.inc": price,
}


def parts(_: ResultStore, cells: Sequence[Cell]) -> dict[str, str]:
    """Return the measured parts of both pages, and all cells."""
    pages = {f"docs/systems/{name}": make(cells) for name, make in PARTS.items()}
    return pages | {f"{FOLDER}/cells.csv": as_csv(cells)}

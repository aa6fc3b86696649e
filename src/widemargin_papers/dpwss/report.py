"""The measured parts of the pages on DPWSS and on privacy, from the stored results.

With them go all cells as ``cells.csv`` and the figures, beside the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from widemargin.estimators.dpwss.composition import selection_report
from widemargin_papers.harness.cells import Cell, as_csv, by_row, of_table
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import list_table

from .audit import AUDIT, RUNS
from .example_models import FIGURE, MOVES, PLAIN, same_as_plain
from .figures import figures
from .iteration_cost import COST
from .printed import FILES, SETTINGS
from .tasks import APART, METRICS, SWEEP, TABLE

__all__ = ["PICTURES", "STORE", "figures", "parts"]

FOLDER = "benchmarks/results/dpwss"
STORE = "dpwss/full"
PICTURES = {
    f"{FOLDER}/{stem}.png": stem for stem in ("dpwss_objerror", "dpwss_iteration_ratio")
} | {"docs/systems/figures/dpwss_figure1.png": "dpwss_figure1"}
COMPOSED = ((0.1, 400), (0.1, 13_688), (1.0, 372), (1.0, 13_688))
SHOWN = ("1/0.1", "1/0.7")  # the settings on the page; all are in cells.csv
ALLOWED = 0.005  # of the optimal objective, by the rule for sigma
HALVES = {"choose": sorted(APART)[::2], "check": sorted(APART)[1::2]}


def shown(cells: Sequence[Cell | None], printed: bool = False) -> str:
    """Return objective, iterations and, of three cells, the violation."""
    figures = [cell and (cell.paper if printed else cell.ours) for cell in cells]
    if None in figures:
        return "-"
    forms = ("{:.2f}", "{:,.0f}", "{:.2g}")
    return " / ".join(form.format(x) for form, x in zip(forms, figures, strict=False))


def apart(cells: Sequence[Cell]) -> str:
    """Return objective, iterations and violation of each rule on each data set."""
    own = of_table(cells, "Randomness and early")
    rules = dict.fromkeys(row.partition(": ")[2] for row, _ in own)
    named = {row.partition(":")[0] for row, _ in own}
    names = [name for name in APART if name in named]

    def entry(name: str, rule: str) -> str:
        return shown([own.get((f"{name}: {rule}", metric)) for metric in METRICS])

    table = [(rule, *(entry(name, rule) for name in names)) for rule in rules]
    return list_table(("rule", *names), table)


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
    return f"{total}. The others:\n\n{list_table(header, rows)}"


def drawn_rows(cells: Sequence[Cell]) -> str:
    """Return DPWSS beside the paper at the settings shown, without shrinking."""
    own = of_table(cells, TABLE)
    rows = []
    for name in FILES:
        row = [name]
        for setting in SHOWN:
            column = f"DPWSS epsilon/sigma={setting}"
            at = f"{name} shrinking=0"
            found = [own.get((at, f"{column} {metric}")) for metric in METRICS]
            reason = f" ({found[2].note})" if found[2] is not None else ""
            row += [shown(found) + reason, shown(found[:2], printed=True)]
        if set(row[1:]) != {"-"}:
            rows.append(row)
    header = ["data"]
    for setting in SHOWN:
        header += [f"ours, epsilon/sigma {setting}", "paper"]
    done = sum(column.endswith("KKT violation") for _, column in own)
    wanted = 2 * len(SETTINGS) * (len(FILES) - 2)  # two files are not available
    count = f"{done} of {wanted} settings (with and without shrinking) are stored."
    return f"{list_table(header, rows)}\n{count}\n"


def sweep(cells: Sequence[Cell]) -> str:
    """Return what each sigma loses and saves on two halves of the sets, and a rule.

    The rule: the largest sigma that loses at most `ALLOWED` in the mean over the sets
    to choose; the others check it.
    """
    swept, plain = by_row(cells, "Sweep of sigma"), by_row(cells, "Randomness")
    chosen: dict[str, str] = {}
    rows = []
    for sigma in SWEEP:
        row = [f"{sigma:g}"]
        for half, names in HALVES.items():
            pairs = [
                (swept[f"{name} sigma={sigma}"], plain[f"{name}: WSS2"])
                for name in names
                if f"{name} sigma={sigma}" in swept and f"{name}: WSS2" in plain
            ]
            if not pairs:
                return "(Not measured.)\n"
            lost = np.mean([1 - own["obj"] / best["obj"] for own, best in pairs])
            ratio = np.mean(
                [own["iteration"] / best["iteration"] for own, best in pairs]
            )
            row.append(f"{100 * lost:.2f} % / {ratio:.2f}")
            if lost <= ALLOWED:
                chosen[half] = f"{sigma:g}"
        rows.append(row)
    header = ("sigma", *(f"{half} ({', '.join(n)})" for half, n in HALVES.items()))
    words = "; ".join(f"{half}: {chosen.get(half, 'none')}" for half in HALVES)
    return (
        f"{list_table(header, rows)}\nThe largest sigma that loses at most "
        f"{100 * ALLOWED:g} % of the objective, by half: {words}.\n"
    )


def cost(cells: Sequence[Cell]) -> str:
    """Return the processor time of an iteration by rule."""
    own = of_table(cells, COST).values()
    rows = [(c.row, c.column, f"{c.ours:.0f}", c.note) for c in own]
    return list_table(("data", "rule", "microseconds", "ratio"), rows)


def audit(cells: Sequence[Cell]) -> str:
    """Return what the audit found, smallest and largest over its seeds."""
    by_method: dict[str, list[Cell]] = {}
    for cell in of_table(cells, AUDIT).values():
        by_method.setdefault(cell.row, []).append(cell)
    rows = []
    for name, own in by_method.items():
        found = [cell.ours for cell in own if cell.ours is not None]
        refuted = sum("; refuted" in cell.note for cell in own)
        verdict = f"refuted with {refuted} of {len(own)} seeds"
        first = own[0].note.partition(";")[0]
        rows.append((name, f"{min(found):.2f}", f"{max(found):.2f}", first, verdict))
    header = ("method", "least", "largest", f"first seed, of {RUNS} each", "verdict")
    return list_table(header, rows)


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
    "dpwss_sweep.inc": sweep,
    "private_audit.inc": audit,
    "private_composed.inc": composed,
}


def parts(_: ResultStore, cells: Sequence[Cell]) -> dict[str, str]:
    """Return the measured parts of both pages, and all cells."""
    pages = {f"docs/systems/{name}": make(cells) for name, make in PARTS.items()}
    return pages | {f"{FOLDER}/cells.csv": as_csv(cells)}

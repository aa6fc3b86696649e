"""The measured parts of two pages: learning and forgetting, and unequal costs.

Steps and times of the chunk (`incremental_measured.inc`), total cost and AUC
(`cost_sensitive_measured.inc`), made of the stored results.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from widemargin_papers.harness.cells import Cell, by_row
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import list_table, provenance

from . import accuracy
from .figures import draw_accuracy, draw_growth
from .printed import ROWS
from .tasks import tasks, trials

STORE = "cost"
PAGES = "docs/systems"
WAYS = ("chunk", "partial_fit", "one by one", "batch", "scikit-learn")
PICTURES = {  # Figure 4 is two curves of Figure 3
    f"{PAGES}/incremental_steps.svg": "figure1",
    f"{PAGES}/incremental_margin.svg": "figure2",
    f"{PAGES}/incremental_times.svg": "figure3",
    f"{PAGES}/cost_sensitive_cost.svg": "figure5_cost",
    f"{PAGES}/cost_sensitive_auc.svg": "figure5_auc",
}
PAIRS = (  # what is compared
    ("chunk", "batch"),
    ("chunk", "scikit-learn"),
    ("chunk", "one by one"),
    ("partial_fit", "batch"),
    ("partial_fit", "scikit-learn"),
)
Rows = dict[str, dict[str, float]]


def chunk_rows(cells: Sequence[Cell]) -> Rows:
    """Return the figures of each data set, kernel and size: row -> column -> figure."""
    rows = by_row(cells, "Figure")
    return {row: found for row, found in rows.items() if "chunk: steps" in found}


def steps_table(rows: Rows) -> str:
    """Return the steps of chunk and one by one on every set."""
    table = []
    for name in ROWS:
        own = [found for row, found in rows.items() if row.startswith(f"{name},")]
        if not own:
            continue
        means = [(found["chunk: steps"], found["one by one: steps"]) for found in own]
        chunk, single = (median(steps) for steps in zip(*means, strict=True))
        ratios = [both / one for both, one in means if one > 0.0]
        figures = (f"{median(ratios):.2f}", f"{max(ratios):.2f}")
        table.append((name, f"{chunk:.3g}", f"{single:.3g}", *figures))
    header = ("", "chunk", "one by one", "median ratio", "largest ratio")
    return list_table(header, table)


def times_table(cells: Sequence[Cell], size: int) -> str:
    """Return times and steps at one size; a peer that was stopped has a >."""
    stopped = {c.row for c in cells if c.note.startswith("stopped")}
    rows = []
    for row, found in chunk_rows(cells).items():
        if not row.endswith(f"n={size}"):
            continue
        texts = [row.rsplit(",", 1)[0]]
        for way in WAYS:
            above = "> " if way == "scikit-learn" and row in stopped else ""
            seconds = found.get(f"{way}: seconds")
            texts.append("-" if seconds is None else f"{above}{seconds:.3g}")
        steps = (found["chunk: steps"], found["one by one: steps"])
        texts.append(" / ".join(f"{count:.3g}" for count in steps))
        texts.append(f"{found['chunk: margin set']:.0f}")
        rows.append(texts)
    return list_table(("", *(f"{way} s" for way in WAYS), "steps", "margin set"), rows)


def ratios_table(rows: Rows) -> str:
    """Return how much faster the chunk is, median and least."""
    table = []
    for size in (5000, 20000):
        own = [found for row, found in rows.items() if row.endswith(f"n={size}")]
        for way, other in PAIRS:
            upper, lower = f"{other}: seconds", f"{way}: seconds"
            ratios = [found[upper] / found[lower] for found in own
                      if upper in found and lower in found]  # fmt: skip
            if not ratios:
                continue
            table.append((f"n={size}, {len(ratios)} cells", f"{way} against {other}",
                          f"{median(ratios):.3g}", f"{min(ratios):.3g}"))  # fmt: skip
    return list_table(("", "", "median ratio", "least"), table)


def accuracy_table(cells: Sequence[Cell], quantity: str) -> str:
    """Return mean and deviation over the trials of every method on every set."""
    rows = []
    for name, methods in accuracy.by_set(cells, quantity).items():
        count = len({row for found in methods.values() for row in found})
        found = accuracy.summary(methods).values()
        figures = [f"{mean:.3f} ({spread:.3f})" for mean, spread in found]
        if quantity == "total cost":
            costs = list(accuracy.baseline_costs(cells, name).values())
            figures.insert(0, f"{fmean(costs):.3f}" if costs else "-")
        rows.append((name, str(count), *figures))
    baseline = (accuracy.BASELINE,) if quantity == "total cost" else ()
    return list_table(("", "trials", *baseline, *accuracy.METHODS), rows)


def _origin(store: ResultStore, figure: str) -> str:
    return (
        "``python benchmarks/papers.py cost`` measures what is missing: "
        f"{provenance(store, figure)}; one thread, other jobs ran beside.\n"
    )


def incremental_section(store: ResultStore, cells: Sequence[Cell]) -> str:
    """Return the measured part of the page on learning and forgetting."""
    rows = chunk_rows(cells)
    cut = [key for key in store.records if key.startswith("Figures")]
    asked = [t for t in tasks(quick=False) if t.name.startswith("Figures")]
    text = [
        "50 new rows in the paper's setting (C = 1, C+ = 1, C- = 4, features in\n"
        "[0, 1], three kernels, models of 250 rows and more). Steps and margin sets\n"
        f"are means over random orders, {trials(1000)} up to 1,000 rows, "
        f"{trials(5000)} up to 5,000 and\n"
        f"{trials(20000)} above; times are medians of processor seconds, "
        "all to the same\n"
        "accuracy (scikit-learn: tol 1e-8, one run, with a limit: > is a lower\n"
        f"bound). {len(cut)} of {len(asked)} settings are measured.\n",
        _origin(store, "Figures"),
        "**Path steps, median over kernels and sizes;** the ratio is that of the\n"
        "means over the random orders, one for each kernel and size.\n",
        steps_table(rows),
        "**How much faster.** *chunk*, *one by one* and *batch* are the engine;\n"
        "*partial_fit* is the public method of ``CostSensitiveSVC``, with its checks\n"
        "and all it stores.\n",
        ratios_table(rows),
    ]
    for figure, shown in (
        ("incremental_steps", "Path steps as training rows grow (Figure 1)"),
        ("incremental_margin", "Size of the margin set (Figure 2)"),
        ("incremental_times", "Seconds for 50 new rows (Figures 3 and 4)"),
    ):
        text.append(_picture(figure, f"{shown}, a curve for each way and kernel"))
    for size in (5000, 20000):
        text += [f"**Into {size:,} rows**\n", times_table(cells, size)]
    return "\n".join(text) + "\n"


def accuracy_section(store: ResultStore, cells: Sequence[Cell]) -> str:
    """Return the measured part of the page on costs."""
    text = [
        "65/35 splits, Gaussian kernel, at most "
        f"{accuracy.MOST_ROWS:,} rows a trial; mean over the\n"
        "trials, standard deviation in brackets. Selection by the cost of three\n"
        f"folds on {accuracy.GRID}.\n",
        _origin(store, "Figure 5"),
        "**Total cost per row (a miss 5, a false alarm 1; less is better)**\n",
        accuracy_table(cells, "total cost"),
        f"*{accuracy.BASELINE}* is always the class that is cheapest on the training "
        "rows. On\n"
        f"{', '.join(accuracy.unbeaten(cells)) or 'none of the sets'} no method costs "
        "less than that by two standard errors of the\n"
        "difference over the trials.\n",
        _picture("cost_sensitive_cost", "Total cost of every method on every set"),
        "**AUC**\n",
        accuracy_table(cells, "AUC"),
        _picture("cost_sensitive_auc", "AUC of every method on every set"),
    ]
    return "\n".join(text) + "\n"


def _picture(stem: str, shown: str) -> str:
    return f".. image:: {stem}.svg\n   :alt: {shown}\n"


def parts(store: ResultStore, cells: Sequence[Cell]) -> dict[str, str]:
    """Return the measured parts of both pages."""
    return {
        f"{PAGES}/incremental_measured.inc": incremental_section(store, cells),
        f"{PAGES}/cost_sensitive_measured.inc": accuracy_section(store, cells),
    }


def figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Draw Figures 1 to 5 with the package's displays."""
    return draw_accuracy(cells) | draw_growth(cells, chunk_rows(cells))

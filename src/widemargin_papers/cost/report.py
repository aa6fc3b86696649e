"""The measured parts of two pages, written from the stored results.

``python benchmarks/cost.py --write`` writes ``docs/systems/incremental_measured.inc``
(steps and times) and ``docs/systems/cost_sensitive_measured.inc`` (total cost and AUC),
the pictures beside them, and measures nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from widemargin_papers.harness.reproduction import Cell
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.stored_tasks import cells_of, run_missing
from widemargin_papers.harness.text_tables import list_table

from . import accuracy as cost_accuracy
from . import newcomers as cost_newcomers
from . import ramp_updates as cost_ramp
from . import tasks as cost

STORE = Path("benchmarks/results/cost.json")
PAGES = Path("docs/systems")
WAYS = ("chunk", "partial_fit", "one by one", "batch", "scikit-learn")
PICTURES = {  # of the paper -> beside the page; Figure 4 is two curves of Figure 3
    "figure1": "incremental_steps.svg",
    "figure2": "incremental_margin.svg",
    "figure3": "incremental_times.svg",
    "figure5_cost": "cost_sensitive_cost.svg",
    "figure5_auc": "cost_sensitive_auc.svg",
}
ASKED = {"batch": 5.0, "scikit-learn": 20.0}  # times the chunk, on the median


def measure(
    store: ResultStore, only: str = "", again: bool = False, budget: float = 1e9
) -> None:
    """Run the tasks whose results are missing."""
    run_missing(cost.tasks(quick=False), store, only, again, budget)


def stored_cells(store: ResultStore) -> list[Cell]:
    """Return the cells of all tasks done so far."""
    return cells_of(cost.tasks(quick=False), store)


def steps_table(cells: Sequence[Cell]) -> str:
    """Return the steps of chunk and one by one on every set, and the target."""
    judged = [cell for cell in cost.targets(cells) if cell.table == "steps"]
    rows = []
    for name in dict.fromkeys(cell.row for cell in judged):
        own = {c.column: float(c.ours or 0.0) for c in judged if c.row == name}
        chunk, single = own["chunk, median"], own["one by one, median"]
        met = chunk < single and own["largest ratio"] <= cost.FAR
        rows.append(
            (name, f"{chunk:.3g}", f"{single:.3g}", f"{own['median ratio']:.2f}",
             f"{own['largest ratio']:.2f}", f"{own['largest ratio of one draw']:.2f}",
             f"{own['draws above']:.0f} of {own['draws']:.0f}",
             "yes" if met else "no")
        )  # fmt: skip
    header = ("", "chunk", "one by one", "median ratio of the cells",
              "largest ratio of a cell", "of a single draw",
              f"draws above {cost.FAR:g}", "asked: met")  # fmt: skip
    return list_table(header, rows)


def _draws_above(cells: Sequence[Cell]) -> str:
    """Say how many draws take more steps by the chunk than is asked of the means."""
    judged = [cell for cell in cost.targets(cells) if cell.table == "steps"]
    counts = [sum(float(cell.ours or 0.0) for cell in judged if cell.column == column)
              for column in ("draws above", "draws")]  # fmt: skip
    return f"{counts[0]:.0f} of {counts[1]:.0f} are above {cost.FAR:g}"


def times_table(cells: Sequence[Cell], size: int) -> str:
    """Return times and steps at one size; a peer that was stopped has a >."""
    stopped = {c.row for c in cells if c.note.startswith("stopped")}
    rows = []
    for row, found in cost.table(cells).items():
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


def ratios_table(cells: Sequence[Cell]) -> str:
    """Return how much faster the chunk is, median and least, and the target."""
    judged = {(c.row, c.column): c.ours for c in cost.targets(cells)
              if c.table == "times"}  # fmt: skip
    rows = []
    for row in dict.fromkeys(row for row, _ in judged):
        for way, other in cost.PAIRS:
            middle = judged.get((row, f"{way} against {other}, median"))
            least = judged.get((row, f"{way} against {other}, least"))
            if middle is None or least is None:
                continue
            asked = ASKED.get(other)
            met = "" if asked is None else ("yes" if middle >= asked else "no")
            rows.append((row, f"{way} against {other}", f"{middle:.3g}", f"{least:.3g}",
                         "" if asked is None else f"{asked:g}", met))  # fmt: skip
    header = ("", "", "median ratio", "least", "asked: median", "met")
    return list_table(header, rows)


def ramp_table(cells: Sequence[Cell]) -> str:
    """Return what an update of the ramp loss takes, by the path and by warm starts."""
    own = [cell for cell in cells if cell.table == "Ramp update"]
    rows = []
    for row in dict.fromkeys(cell.row for cell in own):
        found = {c.column: float(c.ours or 0.0) for c in own if c.row == row}
        seconds = [f"{found[way]:.2g}" for way in cost_ramp.WAYS]
        counts = [f"{found[count]:.0f}" for count in ("clipped", "steps")]
        rows.append((row, *seconds, *counts))
    ways = [f"{way}: s" for way in cost_ramp.WAYS]
    return list_table(("", *ways, "clipped", "path steps"), rows)


def newcomers_table(cells: Sequence[Cell]) -> str:
    """Return how many newcomers come back, and the steps of a chunk that knew it."""
    own = [cell for cell in cells if cell.table == cost_newcomers.TABLE]
    rows = []
    for row in dict.fromkeys(cell.row for cell in own):
        found = {c.column: float(c.ours or 0.0) for c in own if c.row == row}
        rows.append((row, *(f"{found[name]:.4g}" for name in cost_newcomers.COLUMNS)))
    return list_table(("", *cost_newcomers.COLUMNS), rows)


def accuracy_table(cells: Sequence[Cell], quantity: str) -> str:
    """Return mean and deviation over the trials of every method on every set."""
    own = [cell for cell in cells if cell.table == f"Figure 5, {quantity}"]
    rows = []
    for name in dict.fromkeys(cell.row.split(",")[0] for cell in own):
        count = len({c.row for c in own if c.row.startswith(f"{name},")})
        found = cost_accuracy.summary(own, name)
        figures = [f"{mean:.3f} ({spread:.3f})" for mean, spread in found.values()]
        rows.append((name, str(count), *figures))
    return list_table(("", "trials", *cost_accuracy.METHODS), rows)


def _origin(store: ResultStore, figure: str) -> str:
    records = [r for key, r in store.records.items() if key.startswith(figure)]
    commits = sorted({record["commit"] for record in records})
    processors = sorted({record["machine"]["processor"] for record in records})
    return (
        f"On {', '.join(processors)}, one thread; other jobs ran beside.\n"
        "``python benchmarks/cost.py`` measures what is missing, ``--write`` writes "
        f"this\nfrom ``benchmarks/results/cost.json`` (commits {', '.join(commits)}).\n"
    )


def incremental_section(store: ResultStore) -> str:
    """Return the measured part of the page on learning and forgetting."""
    cells = stored_cells(store)
    cut = [key for key in store.records if key.startswith("Figures")]
    asked = [t for t in cost.tasks(quick=False) if t.name.startswith("Figures")]
    parts = [
        "50 new rows in the paper's setting (C = 1, C+ = 1, C- = 4, features in\n"
        "[0, 1], three kernels, models of 250 rows and more). Steps and margin sets\n"
        f"are means over random orders, {cost.trials(1000)} up to 1,000 rows, "
        f"{cost.trials(5000)} up to 5,000 and\n"
        f"{cost.trials(20000)} above; times are medians of processor seconds, "
        "all to the same\n"
        "accuracy (scikit-learn: tol 1e-8, one run, with a limit: > is a lower\n"
        f"bound). {len(cut)} of {len(asked)} settings are measured.\n",
        _origin(store, "Figures"),
        "**Path steps, median over kernels and sizes.** Asked: fewer with the chunk,\n"
        f"and never more than {cost.FAR:g} times. A cell (set, kernel, size) is\n"
        f"judged by its means over the draws; of single draws {_draws_above(cells)}.\n",
        steps_table(cells),
        "**How much faster.** *chunk*, *one by one* and *batch* are the engine;\n"
        "*partial_fit* is the public method of ``CostSensitiveSVC``, with its checks\n"
        "and all it stores.\n",
        ratios_table(cells),
    ]
    for figure, shown in (
        ("figure1", "Path steps as training rows grow (Figure 1)"),
        ("figure2", "Size of the margin set (Figure 2)"),
        ("figure3", "Seconds for 50 new rows (Figures 3 and 4)"),
    ):
        parts.append(_picture(figure, f"{shown}, a curve for each way and kernel"))
    for size in (5000, 20000):
        parts += [f"**Into {size:,} rows**\n", times_table(cells, size)]
    if any(cell.table == cost_newcomers.TABLE for cell in cells):
        parts += [
            "**Newcomers that come back.** Models of 250 to 2,000 rows, "
            f"{cost_newcomers.TRIALS} draws each: the\n"
            "chunks, those in which two newcomers or more set out from zero, all that\n"
            "set out, those that come back; and the steps of the chunk, median over\n"
            "kernels and sizes, as it is and without the rows that come back.\n",
            newcomers_table(cells),
        ]
    if any(cell.table == "Ramp update" for cell in cells):
        parts += [
            "**Ramp-loss updates.** Processor seconds of the first update of the\n"
            "clipped set (C = 1, s = 0), along the path and by a warm-started solve.\n",
            ramp_table(cells),
        ]
    return "\n".join(parts)


def accuracy_section(store: ResultStore) -> str:
    """Return the measured part of the page on costs."""
    cells = stored_cells(store)
    return "\n".join([
        "65/35 splits, Gaussian kernel, at most "
        f"{cost_accuracy.MOST_ROWS:,} rows a trial; mean over the\n"
        "trials, standard deviation in brackets. Selection by the cost of three\n"
        f"folds on {cost_accuracy.GRID}.\n",
        _origin(store, "Figure 5"),
        "**Total cost per row (a miss 5, a false alarm 1; less is better)**\n",
        accuracy_table(cells, "total cost"),
        _picture("figure5_cost", "Total cost of every method on every set"),
        "**AUC**\n",
        accuracy_table(cells, "AUC"),
        _picture("figure5_auc", "AUC of every method on every set"),
    ])  # fmt: skip


def _picture(figure: str, shown: str) -> str:
    return f".. image:: {PICTURES[figure]}\n   :alt: {shown}\n"


def draw(store: ResultStore, folder: Path) -> None:
    """Write the pictures; text as text and no date, so that only figures change."""
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "cost"}):
        for stem, figure in cost.figures(stored_cells(store)).items():
            if stem in PICTURES:
                figure.savefig(folder / PICTURES[stem], metadata={"Date": None})


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing and print or write the sections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=STORE)
    parser.add_argument("--pages", type=Path, default=PAGES)
    parser.add_argument("--only", default="", help="tasks whose names contain this")
    parser.add_argument("--again", action="store_true", help="those of old commits too")
    parser.add_argument("--for", dest="budget", type=float, default=1e9,
                        help="begin no task after so many seconds")  # fmt: skip
    parser.add_argument("--print", action="store_true", help="measure nothing, print")
    parser.add_argument("--write", action="store_true", help="measure nothing, write")
    options = parser.parse_args(arguments)
    store = ResultStore(options.results)
    if not (options.print or options.write):
        measure(store, options.only, options.again, options.budget)
    sections = {
        "incremental_measured.inc": incremental_section(store),
        "cost_sensitive_measured.inc": accuracy_section(store),
    }
    for name, text in sections.items():
        if options.write:
            (options.pages / name).write_text(text + "\n")
        else:
            print(text)
    if options.write:
        draw(store, options.pages)

"""The measured part of the divide-and-conquer page, written from the stored results.

``python benchmarks/dcsvm.py --print`` prints it; what it printed is
``docs/systems/divide_conquer_measured.inc``; ``--draw docs/systems/figures`` draws its
pictures.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from widemargin_papers.harness.reproduction import HEADER, by_table, missing
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.stored_tasks import cells_of
from widemargin_papers.harness.text_tables import layout, provenance

from . import tasks as dcsvm
from .dask_scale import extrapolation


def report(store: ResultStore) -> str:
    """Return every stored table as a literal block, with machine and commits."""
    cells = cells_of(dcsvm.tasks(False), store)
    parts = [f"{provenance(store)}\n\n"]
    for table, rows in by_table([*cells, *dcsvm.totals(cells)]).items():
        text = layout(HEADER, rows).replace("\n", "\n   ")
        parts.append(f"{table}::\n\n   {text}\n\n")
    lines = extrapolation(cells)
    if lines:
        parts.append("\n".join(["Extrapolated to 8 million rows x 784::\n", *lines]))
    return "".join(line.rstrip() + "\n" for line in "".join(parts).splitlines())


def draw(store: ResultStore, folder: Path) -> None:
    """Write the figures and heat maps of what is stored, as PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = dcsvm.figures(cells_of(dcsvm.tasks(False), store))
    for name, figure in drawn.items():
        figure.savefig(folder / f"dcsvm_{name}.png", dpi=80, metadata={"Software": ""})


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the missing tasks whose name contains some text, or only print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", nargs="*", default=[""], help="tasks whose name contains one of these"
    )
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--print", action="store_true", help="measure nothing")
    parser.add_argument(
        "--again", action="store_true", help="run what another commit has run too"
    )
    parser.add_argument("--draw", type=Path, help="measure nothing, draw into a folder")
    parser.add_argument("--list", action="store_true", help="name the missing tasks")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="start no task after this"
    )
    options = parser.parse_args(arguments)
    path = options.results / "dcsvm.json"
    clock = time.monotonic()
    if options.draw:
        return draw(ResultStore(path), options.draw)
    everything = [] if options.print else dcsvm.tasks(False)
    wanted = [task for text in options.only for task in everything if text in task.name]
    for task in dict.fromkeys(wanted):
        # read anew: another campaign may write to the file too
        there = ResultStore(path).has(task.name, any_commit=not options.again)
        if missing(task) or there:
            continue
        if options.list:
            print(task.name)
        elif time.monotonic() - clock < 60 * options.minutes:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a method does is in its cells
                cells = [vars(cell) for cell in task.run()]
            ResultStore(path).add(task.name, {"cells": cells})
    if not options.list:
        print(report(ResultStore(path)))

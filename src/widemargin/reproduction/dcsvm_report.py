"""The measured part of the divide-and-conquer page, written from the stored results.

``python benchmarks/dcsvm.py --print`` prints it; what it printed is
``docs/systems/divide_conquer_measured.inc``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from widemargin.reproduction import dcsvm
from widemargin.reproduction.papers import HEADER, Cell, by_table
from widemargin.reproduction.results import ResultStore
from widemargin.reproduction.tables import layout, provenance


def report(store: ResultStore) -> str:
    """Return every stored table as a literal block, with machine and commits."""
    order = [task.name for task in dcsvm.tasks(False)]
    names = [name for name in order if name in store.records]
    cells = [Cell(**c) for name in names for c in store.records[name]["cells"]]
    parts = [f"{provenance(store)}\n\n"]
    for table, rows in by_table(cells).items():
        text = layout(HEADER, rows).replace("\n", "\n   ")
        parts.append(f"{table}::\n\n   {text}\n\n")
    return "".join(line.rstrip() + "\n" for line in "".join(parts).splitlines())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the missing tasks whose name contains a word, or only print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--print", action="store_true", help="measure nothing")
    options = parser.parse_args(arguments)
    store = ResultStore(options.results / "dcsvm.json")
    for task in [] if options.print else dcsvm.tasks(False):
        if options.only in task.name and not store.has(task.name, any_commit=True):
            store.add(task.name, {"cells": [vars(cell) for cell in task.run()]})
    print(report(store))

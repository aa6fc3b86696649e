"""Run a paper's tables again and lay our figures beside its own.

Each paper has a module (see `PAPERS`) with

``TITLE``
    the paper, as one cites it;
``tasks(quick)``
    a list of `Task`: pieces of a table or figure that run alone, in under a minute each
    where possible. With ``quick`` all of them together take about two minutes: fewer
    seeds, smaller subsets, never other settings; what is left out is not listed.
``figures(cells)``, optional
    a dictionary of file name (without suffix) to matplotlib Figure, drawn with our
    Display classes from the cells of all tasks done so far.

A task names the data files it needs (as on LIBSVM's data page); one whose file is
missing is reported as unavailable, with where it is published, and the rest goes on.
Finished tasks are stored at once and not run again by the same commit.
"""

from __future__ import annotations

import csv
import importlib
import io
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from widemargin.runtime.atomic_file import replacing
from widemargin_papers import PAPERS

from .datasets import MissingDataError, find
from .results import ResultStore
from .text_tables import layout


@dataclass(frozen=True)
class Cell:
    """One figure of a table: ours, the paper's, and whether they agree.

    Attributes
    ----------
    table : str
        Such as ``"Table 3"``.
    row, column : str
        Where in the table.
    ours : float or None
        Our figure; None when it could not be computed (``note`` says why).
    paper : float or None
        The printed figure; None where the paper has none.
    tolerance : float or None
        Largest difference that counts as reproduced; None for what cannot agree across
        machines (times), which is shown and not counted.
    note : str
        A word on the setting, or why the figures differ.
    """

    table: str
    row: str
    column: str
    ours: float | None
    paper: float | None = None
    tolerance: float | None = None
    note: str = ""

    @property
    def reproduced(self) -> bool | None:
        """Whether the figures agree; None if there is nothing to compare."""
        if self.paper is None or self.tolerance is None:
            return None
        return self.ours is not None and abs(self.ours - self.paper) <= self.tolerance


@dataclass(frozen=True)
class Task:
    """A piece of work that yields cells.

    Attributes
    ----------
    name : str
        Unique within the paper; progress shows it and results are stored under it.
    run : callable
        Returns the cells.
    needs : tuple of str
        Data files, by their names on LIBSVM's data page, without ``.xz``.
    table : str
        The table it belongs to, for the message when a file is missing.
    cells : int
        How many cells it yields, for the count of those unavailable.
    """

    name: str
    run: Callable[[], Iterable[Cell]]
    needs: tuple[str, ...] = ()
    table: str = ""
    cells: int = 1


@dataclass(frozen=True)
class Outcome:
    """What a run of a paper has and has not."""

    title: str
    cells: list[Cell]
    unavailable: list[tuple[Task, str]]

    def summary(self) -> str:
        """Cells reproduced, attempted and unavailable, in one line."""
        judged = [c for c in self.cells if c.reproduced is not None]
        agreed = sum(bool(cell.reproduced) for cell in judged)
        missing = sum(task.cells for task, _ in self.unavailable)
        shown = len(self.cells) - len(judged)
        return (
            f"{agreed} cells reproduced of {len(judged)} attempted, {missing} "
            f"unavailable; {shown} more shown without a figure to hold them against"
        )


def paper_module(name: str) -> Any:
    """Return the module of a paper."""
    return importlib.import_module(PAPERS[name])


def reproduce(
    name: str,
    folder: Path,
    *,
    quick: bool = False,
    say: Callable[[str], None] = print,
) -> Outcome:
    """Run what is missing, and write ``cells.csv`` and the figures into ``folder``.

    Parameters
    ----------
    name : str
        A key of `PAPERS`.
    folder : Path
        Where results, tables and pictures go; what is there is not run again.
    quick : bool, default=False
        The short version, about two minutes.
    say : callable
        Takes each line of progress.
    """
    module = paper_module(name)
    tasks: list[Task] = module.tasks(quick)
    store = ResultStore(folder / ("quick.json" if quick else "full.json"))
    unavailable = []
    started, ran = time.monotonic(), 0
    for number, task in enumerate(tasks):
        reason = missing(task)
        if reason:
            unavailable.append((task, reason))
            say(f"[{number + 1}/{len(tasks)}] {task.name}: not available: {reason}")
            continue
        if store.has(task.name):
            continue
        left = (time.monotonic() - started) / ran * (len(tasks) - number) if ran else 0
        rest = f", about {left:.0f} s left" if ran else ""
        say(f"[{number + 1}/{len(tasks)}] {task.name}{rest}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a method does is in its cells
            cells = [asdict(cell) for cell in task.run()]
        store.add(task.name, {"cells": cells})
        ran += 1
    names = [task.name for task in tasks if task.name in store.records]
    done = [Cell(**c) for name in names for c in store.records[name]["cells"]]
    write(folder, module, done)
    return Outcome(module.TITLE, done, unavailable)


def write(folder: Path, module: Any, cells: Sequence[Cell]) -> None:
    """Write ``cells.csv`` and the figures of a paper's module into ``folder``."""
    _write_table(folder / "cells.csv", cells)
    for stem, figure in getattr(module, "figures", lambda cells: {})(cells).items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110)
        with replacing(folder / f"{stem}.png") as file:
            file.write(buffer.getvalue())


def as_text(outcome: Outcome) -> str:
    """Return the tables as text, ours beside the paper's."""
    parts = [f"{outcome.title}\n"]
    for table, rows in by_table(outcome.cells).items():
        parts.append(f"\n{table}\n{layout(HEADER, rows)}\n")
    return "".join(parts)


HEADER = ["row", "column", "ours", "paper", "agrees", "note"]


def by_table(cells: Iterable[Cell]) -> dict[str, list[list[str]]]:
    """Return the rows of text of each table, under `HEADER`."""
    tables: dict[str, list[list[str]]] = {}
    words = {True: "yes", False: "no", None: ""}
    for cell in cells:
        ours, paper = (
            "" if figure is None else f"{figure:.6g}"
            for figure in (cell.ours, cell.paper)
        )
        row = [cell.row, cell.column, ours, paper, words[cell.reproduced], cell.note]
        tables.setdefault(cell.table, []).append(row)
    return tables


def missing(task: Task) -> str:
    """Say which file of a task is missing and where it is published; "" for none."""
    for name in task.needs:
        try:
            find(name)
        except MissingDataError as error:
            return str(error)
    return ""


def _write_table(path: Path, cells: Sequence[Cell]) -> None:
    text = io.StringIO()
    names = ["table", "row", "column", "ours", "paper", "tolerance", "note"]
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    writer.writerows(asdict(cell) for cell in cells)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.getvalue().encode())

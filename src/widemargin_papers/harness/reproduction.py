"""Run a paper's tables again and lay our figures beside its own.

Each paper has a folder with three modules of the same names:

``printed``
    the figures and settings that the paper printed;
``tasks``
    ``TITLE``, the paper as one cites it, and ``tasks(quick)``, a list of `Task`: pieces
    of a table or figure that run alone, in under a minute each where possible. With
    ``quick`` all of them together take about two minutes: fewer seeds, smaller subsets,
    never other settings; what is left out is not listed;
``report``
    ``figures(cells)``, a dictionary of file name (without suffix) to matplotlib Figure,
    drawn with our Display classes from the cells of all tasks done so far; and what
    the paper's page shows.

A task names the data files it needs (as on LIBSVM's data page). Where one is missing
the rest goes on, and the files that are missing are named at the end.
Finished tasks are stored at once and not run again by the same commit.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from widemargin.cli.html_report import html_picture, html_table, page
from widemargin.cli.terminal_report import Picture, Table
from widemargin.runtime.atomic_file import replacing

from .cells import HEADER, Cell, Task, as_csv, by_table
from .figures import save
from .missing_runs import cells_of, measurements, paper_modules, run_missing
from .published import data_file
from .results import ResultStore
from .text_tables import layout


@dataclass(frozen=True)
class Outcome:
    """What a run of a paper has and has not."""

    title: str
    cells: list[Cell]
    unavailable: list[Task]

    def summary(self) -> str:
        """Cells reproduced, attempted and unavailable, in one line."""
        judged = [c for c in self.cells if c.reproduced is not None]
        agreed = sum(bool(cell.reproduced) for cell in judged)
        missing = sum(task.cells for task in self.unavailable)
        shown = len(self.cells) - len(judged)
        return (
            f"{agreed} cells reproduced of {len(judged)} attempted, {missing} "
            f"unavailable; {shown} more shown without a figure to hold them against"
        )

    def missing_files(self) -> list[str]:
        """Return a line a missing file: size, where it is published, cells lost."""
        cells: dict[str, int] = {}
        for task in self.unavailable:
            for name in task.missing():
                cells[name] = cells.get(name, 0) + task.cells
        return [f"{data_file(name)} [{count} cells]" for name, count in cells.items()]


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
        One of `PAPERS`.
    folder : Path
        Where results, tables and pictures go; what is there is not run again.
    quick : bool, default=False
        The short version, about two minutes.
    say : callable
        Takes each line of progress.
    """
    module, report = paper_modules(name)
    tasks: list[Task] = module.tasks(quick)
    store = ResultStore(folder / ("quick.json" if quick else "full.json"))
    unavailable = [task for task in tasks if task.missing()]
    run_missing(store, measurements(tasks), again=True, say=say)
    done = cells_of(tasks, store)
    with replacing(folder / "cells.csv") as file:
        file.write(as_csv(done).encode())
    if find_spec("matplotlib") is None:
        say("no pictures: they need matplotlib, pip install 'widemargin[plot]'")
    else:
        for stem, figure in report.figures(done).items():
            save(figure, folder / f"{stem}.png", dpi=110)
    return Outcome(module.TITLE, done, unavailable)


def as_text(outcome: Outcome) -> str:
    """Return the tables as text, ours beside the paper's."""
    parts = [f"{outcome.title}\n"]
    for table, rows in by_table(outcome.cells).items():
        parts.append(f"\n{table}\n{layout(HEADER, rows)}\n")
    return "".join(parts)


def paper_page(outcome: Outcome, folder: Path) -> str:
    """Return the page of a reproduced paper: tables, pictures, what is missing."""
    summary = html.escape(outcome.summary())
    parts = [f'<section><p class="summary">{summary}</p></section>']
    for path in sorted(folder.glob("*.png")):
        encoded = base64.b64encode(path.read_bytes()).decode()
        picture = html_picture(Picture([encoded], path.stem))
        parts.append(f"<section>{picture}</section>")
    for table, rows in by_table(outcome.cells).items():
        part = html_table(Table(HEADER, rows, ""))
        parts.append(f"<section><h2>{html.escape(table)}</h2>{part}</section>")
    missing = "".join(
        f"<li>{html.escape(line)}</li>" for line in outcome.missing_files()
    )
    if missing:
        parts.append(f"<section><h2>Missing files</h2><ul>{missing}</ul></section>")
    lead = "Our figures beside the printed ones. Times are of other machines."
    return page(outcome.title, lead, "".join(parts))

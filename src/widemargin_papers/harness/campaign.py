"""Campaigns of measurements: run what is missing, store it at once, show it.

A paper's campaign runs its tasks and writes its page (`paper_main`); others have a
store and a table each (`Campaign`, `main`). A campaign that was stopped goes on where
it was, whatever commit made the results already there.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from .cells import Cell, Task
from .figures import save
from .measuring import say
from .results import Record, ResultStore

Measurement = tuple[str, Callable[[], Record]]  # its name in the store, and how


@dataclass(frozen=True)
class Campaign:
    """Measurements kept in one file, and the table made of them.

    ``store`` is the file's name in ``benchmarks/results``, without suffix; ``work``
    lists the measurements; ``table`` shows the stored ones in reStructuredText;
    ``pictures`` draw them, by their paths in the repository.
    """

    store: str
    work: Callable[[], Iterable[Measurement]]
    table: Callable[[ResultStore], str]
    pictures: Mapping[str, Callable[[ResultStore], Any]] = field(default_factory=dict)


def run_missing(
    store: ResultStore,
    work: Iterable[Measurement],
    *,
    only: Sequence[str] = ("",),
    again: bool = False,
    minutes: float = float("inf"),
    say: Callable[[str], None] = say,
) -> None:
    """Make the measurements that are missing.

    Parameters
    ----------
    store : ResultStore
        Where results go, each as soon as it is there.
    work : iterable of (name, callable)
        What there is to measure.
    only : sequence of str
        Measure only what has one of these in its name.
    again : bool
        Measure again what another commit has measured.
    minutes : float
        Nothing is begun after that long.
    say : callable
        Takes each line of progress.
    """
    chosen = [item for item in work if any(text in item[0] for text in only)]
    started, ran = time.monotonic(), 0
    for number, (name, measure) in enumerate(chosen):
        if store.has(name, any_commit=not again):
            continue
        passed = time.monotonic() - started
        if passed >= 60 * minutes:
            say("time is up; the same command goes on from here")
            return
        left = passed / max(ran, 1) * (len(chosen) - number)
        rest = f", about {left:.0f} s left" if ran else ""
        say(f"[{number + 1}/{len(chosen)}] {name}{rest}")
        store.add(name, measure())
        ran += 1


def cells_record(task: Task) -> Record:
    """Run a task and return its cells as they are stored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a method does is in its cells
        return {"cells": [asdict(cell) for cell in task.run()]}


def measurements(tasks: Iterable[Task]) -> Iterator[Measurement]:
    """Yield the tasks whose data files are there."""
    for task in tasks:
        if not task.missing():
            yield task.name, partial(cells_record, task)


def cells_of(tasks: Iterable[Task], store: ResultStore) -> list[Cell]:
    """Return the cells of all tasks done so far."""
    return [
        Cell(**cell)
        for task in tasks
        if task.name in store.records
        for cell in store.records[task.name]["cells"]
    ]


def paper_modules(paper: str) -> tuple[Any, Any]:
    """Return the modules `tasks` and `report` of a paper."""
    tasks, report = (
        import_module(f"widemargin_papers.{paper}.{part}")
        for part in ("tasks", "report")
    )
    return tasks, report


def _options(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=Path, default=Path(), help="of the repository")
    parser.add_argument("--only", nargs="*", default=[""], help="names with one of it")
    parser.add_argument("--again", action="store_true", help="those of old commits too")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="limit")
    parser.add_argument("--print", action="store_true", help="measure nothing, print")
    return parser


def paper_main(paper: str, arguments: Sequence[str] | None = None) -> None:
    """Measure what a paper's page lacks, then print its measured parts or write them.

    The paper's report names its file of results (``STORE``) and makes of them the parts
    of pages (``parts``) and the pictures (``PICTURES`` of ``figures``), by their paths.
    """
    parser = _options(f"Measure the tables of {paper} and write them to its page.")
    parser.add_argument("--write", action="store_true", help="measure nothing, write")
    options = parser.parse_args(arguments)
    module, report = paper_modules(paper)
    tasks = module.tasks(quick=False)
    store = ResultStore(options.root / report.STORE)
    if not (options.print or options.write):
        wanted = {"only": options.only, "again": options.again}
        run_missing(store, measurements(tasks), minutes=options.minutes, **wanted)
    cells = cells_of(tasks, store)
    parts = report.parts(store, cells)
    if not options.write:
        pages = [text for path, text in parts.items() if path.endswith(".inc")]
        print("\n".join(pages))
        return
    for path, text in parts.items():
        (options.root / path).write_bytes(text.encode())
    drawn = report.figures(cells)
    for path, stem in report.PICTURES.items():
        if stem in drawn:
            save(drawn[stem], options.root / path)


def main(
    campaigns: Mapping[str, Campaign],
    description: str,
    arguments: Sequence[str] | None = None,
) -> None:
    """Run one of some campaigns, the only one by default; or print all tables."""
    parser = _options(description)
    single = next(iter(campaigns)) if len(campaigns) == 1 else None
    parser.add_argument("campaign", nargs="?", choices=campaigns, default=single)
    parser.add_argument("--write", action="store_true", help="draw the pictures, too")
    options = parser.parse_args(arguments)
    for name, campaign in campaigns.items():
        folder = options.root / "benchmarks" / "results"
        store = ResultStore(folder / f"{campaign.store}.json")
        if name == options.campaign and not options.print:
            wanted = {"only": options.only, "again": options.again}
            run_missing(store, campaign.work(), minutes=options.minutes, **wanted)
        if store.records and options.campaign in (name, None):
            print(campaign.table(store))
            for path, draw in campaign.pictures.items() if options.write else ():
                save(draw(store), options.root / path)

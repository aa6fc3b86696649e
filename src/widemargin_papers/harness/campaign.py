"""Campaigns of measurements: run what is missing, store it at once, show it.

A campaign has a file of results and makes tables of them; that of a paper, which has
its tasks and its report, writes parts and pictures of pages, too. A campaign that was
stopped goes on where it was, whatever commit made the results already there.
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
    """Measurements kept in one file, and what is made of them.

    ``store`` is the file's name in ``benchmarks/results``, without suffix; ``work``
    lists the measurements; ``table`` shows the stored ones in reStructuredText. Files
    are named by their paths in the repository: ``parts`` are texts, ``pictures`` are
    drawn by ``figures`` under the names they have there.
    """

    store: str
    work: Callable[[], Iterable[Measurement]]
    table: Callable[[ResultStore], str]
    parts: Callable[[ResultStore], Mapping[str, str]] = lambda _: {}
    pictures: Mapping[str, str] = field(default_factory=dict)
    figures: Callable[[ResultStore], Mapping[str, Any]] = lambda _: {}

    def stored(self, root: Path) -> ResultStore:
        """Return the results in the repository at `root`."""
        return ResultStore(root / "benchmarks" / "results" / f"{self.store}.json")

    def write(self, root: Path) -> None:
        """Write the parts, and draw the pictures that are not of these results."""
        store = self.stored(root)
        for path, text in self.parts(store).items():
            (root / path).write_bytes(text.encode())
        old = [path for path in self.pictures if not self.shows(store, root / path)]
        drawn = self.figures(store) if old else {}
        for path in old:
            if self.pictures[path] in drawn:
                save(drawn[self.pictures[path]], root / path, about=store.digest())

    @staticmethod
    def shows(store: ResultStore, picture: Path) -> bool:
        """Whether a picture was drawn from these results: it names them."""
        return picture.is_file() and store.digest().encode() in picture.read_bytes()


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


def task_campaign(
    store: str, tasks: Sequence[Task], table: Callable[[list[Cell]], str]
) -> Campaign:
    """Return the campaign of some tasks; `table` is made of their cells."""
    return Campaign(
        store,
        partial(measurements, tasks),
        lambda stored: table(cells_of(tasks, stored)),
    )


def paper_campaign(paper: str) -> Campaign:
    """Return the campaign of a paper: all its tasks, and what its report makes.

    The report names its file of results (``STORE``); of the store and the cells it
    makes parts of pages (``parts``), and pictures (``PICTURES`` of ``figures``).
    """
    module, report = paper_modules(paper)
    tasks: list[Task] = module.tasks(quick=False)

    def parts(store: ResultStore) -> dict[str, str]:
        made: dict[str, str] = report.parts(store, cells_of(tasks, store))
        return made

    def table(store: ResultStore) -> str:
        made = parts(store).items()
        return "\n".join(text for path, text in made if path.endswith(".inc"))

    def figures(store: ResultStore) -> Any:
        return report.figures(cells_of(tasks, store))

    work = partial(measurements, tasks)
    return Campaign(report.STORE, work, table, parts, report.PICTURES, figures)


def main(
    campaigns: Mapping[str, Campaign],
    description: str,
    arguments: Sequence[str] | None = None,
) -> None:
    """Run one of some campaigns, the only one by default; or print all tables."""
    parser = argparse.ArgumentParser(description=description)
    single = next(iter(campaigns)) if len(campaigns) == 1 else None
    parser.add_argument("campaign", nargs="?", choices=campaigns, default=single)
    parser.add_argument("--root", type=Path, default=Path(), help="of the repository")
    parser.add_argument("--only", nargs="*", default=[""], help="names with one of it")
    parser.add_argument("--again", action="store_true", help="those of old commits too")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="limit")
    parser.add_argument("--print", action="store_true", help="measure nothing, print")
    options = parser.parse_args(arguments)
    for name, campaign in campaigns.items():
        store = campaign.stored(options.root)
        if name == options.campaign and not options.print:
            wanted = {"only": options.only, "again": options.again}
            run_missing(store, campaign.work(), minutes=options.minutes, **wanted)
        if store.records and options.campaign in (name, None):
            print(campaign.table(store))

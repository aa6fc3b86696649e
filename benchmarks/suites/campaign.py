"""Campaigns: a file of results, what is measured into it, what is made of it.

A campaign makes tables of its results; that of a paper, which has its tasks and its
report, writes parts and pictures of pages, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.figures import save
from widemargin_papers.harness.missing_runs import (
    Measurement,
    cells_of,
    measurements,
    paper_modules,
    run_missing,
)
from widemargin_papers.harness.results import ResultStore


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

"""Run what is missing and store it at once, so that what was stopped goes on.

Results that are there are not measured again, whatever commit made them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib import import_module
from typing import Any

from .cells import Cell, Task
from .measuring import say
from .results import Record, ResultStore

Measurement = tuple[str, Callable[[], Record]]  # its name in the store, and how


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

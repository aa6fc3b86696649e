"""The tasks of a paper run one by one into a store, and read back for a page."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import asdict

from .measuring import say
from .reproduction import Cell, Task
from .results import ResultStore


def run_missing(
    tasks: Iterable[Task],
    store: ResultStore,
    only: str = "",
    again: bool = False,
    seconds: float = float("inf"),
) -> None:
    """Run the tasks whose results are missing, whatever commit made the others.

    Parameters
    ----------
    tasks : iterable of Task
        What there is to run.
    store : ResultStore
        Where results go, each as soon as it is there.
    only : str
        Part of the name of the tasks to run.
    again : bool
        Run them though results of another commit are there.
    seconds : float
        No task is begun after that long.
    """
    until = time.monotonic() + seconds
    for task in tasks:
        if only not in task.name or store.has(task.name, any_commit=not again):
            continue
        if time.monotonic() > until:
            say("time is up; the same command goes on from here")
            return
        say(task.name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a method does is in its cells
            cells = [asdict(cell) for cell in task.run()]
        store.add(task.name, {"cells": cells, "threads": 1})


def cells_of(tasks: Iterable[Task], store: ResultStore) -> list[Cell]:
    """Return the cells of all tasks done so far."""
    return [
        Cell(**cell)
        for task in tasks
        if task.name in store.records
        for cell in store.records[task.name]["cells"]
    ]

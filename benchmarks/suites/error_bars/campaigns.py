"""The campaigns of ``benchmarks/error_bars.py``, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from widemargin_papers.chance.report import plain_table
from widemargin_papers.harness.campaign import Campaign, cells_of, measurements
from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.results import ResultStore

from . import curved, workers


def _campaign(tasks: Sequence[Task], table: Callable[[list[Cell]], str]) -> Campaign:
    """Return the campaign of some tasks, kept beside those of the paper."""

    def shown(store: ResultStore) -> str:
        return table(cells_of(tasks, store))

    return Campaign("chance", partial(measurements, tasks), shown)


CAMPAIGNS = {
    "curved": _campaign(curved.tasks(), curved.curved_table),
    "workers": _campaign(workers.tasks(), partial(plain_table, table=workers.WORKERS)),
}

"""The campaigns of ``benchmarks/error_bars.py``, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from widemargin_papers.chance.report import plain_table
from widemargin_papers.harness.campaign import Campaign, cells_of, measurements
from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import folded

from . import curved, growth, workers


def _campaign(tasks: Sequence[Task], table: Callable[[list[Cell]], str]) -> Campaign:
    """Return the campaign of some tasks, kept beside those of the paper."""

    def shown(store: ResultStore) -> str:
        return table(cells_of(tasks, store))

    return Campaign("chance", partial(measurements, tasks), shown)


def _growth_tables(cells: list[Cell]) -> str:
    parts = (
        folded("Ratios and their targets", plain_table(cells, "Asked")),
        folded("Growth, generated data", plain_table(cells, "Growth")),
    )
    return "\n".join(parts)


CAMPAIGNS = {
    "growth": _campaign(growth.tasks(), _growth_tables),
    "curved": _campaign(curved.tasks(), curved.curved_table),
    "workers": _campaign(workers.tasks(), partial(plain_table, table=workers.WORKERS)),
}

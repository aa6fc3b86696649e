"""The campaigns of ``benchmarks/error_bars.py``, by name."""

from __future__ import annotations

from functools import partial

from widemargin_papers.chance.report import plain_table
from widemargin_papers.harness.cells import Cell
from widemargin_papers.harness.text_tables import folded

from ..campaign import task_campaign
from . import curved, growth, table4_grid, workers

STORE = "error_bars"


def _growth_tables(cells: list[Cell]) -> str:
    parts = (
        folded("Ratios and their targets", plain_table(cells, "Asked")),
        folded("Growth, generated data", plain_table(cells, "Growth")),
    )
    return "\n".join(parts)


CAMPAIGNS = {
    "growth": task_campaign(STORE, growth.tasks(), _growth_tables),
    "curved": task_campaign(STORE, curved.tasks(), curved.curved_table),
    "table4": task_campaign(STORE, table4_grid.tasks(), table4_grid.nearest_table),
    "workers": task_campaign(
        STORE, workers.tasks(), partial(plain_table, table=workers.WORKERS)
    ),
}

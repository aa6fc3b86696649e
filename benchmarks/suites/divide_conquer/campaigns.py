"""The campaign of ``benchmarks/divide_conquer.py``: kept beside the paper's results."""

from __future__ import annotations

from functools import partial

from widemargin_papers.dcsvm.report import folded_tables
from widemargin_papers.harness.campaign import Campaign, cells_of, measurements
from widemargin_papers.harness.results import ResultStore

from . import dask_scale, speed

TASKS = [*speed.tasks(), *dask_scale.tasks()]


def tables(store: ResultStore) -> str:
    """Return every stored table, folded."""
    return folded_tables(cells_of(TASKS, store))


CAMPAIGNS = {"speed": Campaign("dcsvm", partial(measurements, TASKS), tables)}

"""The campaign of ``benchmarks/divide_conquer.py``."""

from __future__ import annotations

from widemargin_papers.dcsvm.report import folded_tables

from ..campaign import task_campaign
from . import dask_scale, speed

TASKS = [*speed.tasks(), *dask_scale.tasks()]
CAMPAIGNS = {"speed": task_campaign("divide_conquer", TASKS, folded_tables)}

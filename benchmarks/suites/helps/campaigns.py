"""The campaigns of ``benchmarks/helps.py``: one of the suite's questions each."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..campaign import Campaign
from . import (
    candidates,
    cost_report,
    cost_units,
    costs,
    early_clouds,
    early_levels,
    grid_widths,
    label_report,
    label_targets,
    labels,
    private_models,
    private_report,
    quantile_prices,
    quantiles,
)
from .suite import measurements


def _of_suite(store: str, measured: Any, report: Any, **chosen: Any) -> Campaign:
    """Return a campaign over splits of the suite."""
    work = partial(measurements, measured.measured, **chosen)
    return Campaign(f"helps_{store}", work, report.table)


CAMPAIGNS = {
    "candidates": _of_suite("candidates", candidates, candidates, half="choose"),
    "units": _of_suite("units", cost_units, cost_units, half="choose"),
    "costs": _of_suite("costs", costs, cost_report),
    "early": Campaign("helps_early", early_levels.work, early_levels.table),
    "clouds": Campaign("helps_clouds", early_clouds.work, early_clouds.table),
    "grids": _of_suite("grids", grid_widths, grid_widths, splits=grid_widths.SPLITS),
    "labels": _of_suite("labels", labels, label_report),
    "targets": _of_suite("targets", label_targets, label_targets),
    "quantiles": Campaign("helps_quantiles", quantiles.work, quantiles.table),
    "prices": Campaign("helps_prices", quantile_prices.work, quantile_prices.table),
    "private": Campaign("helps_private", private_models.work, private_report.table),
}

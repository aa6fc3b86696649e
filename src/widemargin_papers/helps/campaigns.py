"""The campaigns of ``benchmarks/helps.py``: one of the suite's questions each."""

from __future__ import annotations

from widemargin_papers.harness.campaign import Campaign

from . import (
    candidates,
    ceilings,
    cost_report,
    cost_units,
    costs,
    early_levels,
    grid_widths,
    label_report,
    labels,
    private_models,
    private_report,
    quantile_prices,
    quantiles,
)

CAMPAIGNS = {
    "candidates": Campaign("helps_candidates", candidates.work, candidates.table),
    "ceilings": Campaign("helps_ceilings", ceilings.work, ceilings.table),
    "units": Campaign("helps_units", cost_units.work, cost_units.table),
    "costs": Campaign("helps_costs", costs.work, cost_report.table),
    "early": Campaign("helps_early", early_levels.work, early_levels.table),
    "grids": Campaign("helps_grids", grid_widths.work, grid_widths.table),
    "labels": Campaign("helps_labels", labels.work, label_report.table),
    "quantiles": Campaign("helps_quantiles", quantiles.work, quantiles.table),
    "prices": Campaign("helps_prices", quantile_prices.work, quantile_prices.table),
    "private": Campaign("helps_private", private_models.work, private_report.table),
}

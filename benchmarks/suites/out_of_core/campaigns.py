"""The campaigns of ``benchmarks/out_of_core.py``, by name."""

from __future__ import annotations

from ..campaign import Campaign
from . import early_runs, exact_runs, levels

CAMPAIGNS = {
    "exact": Campaign("out_of_core_exact", exact_runs.work, exact_runs.table),
    "early": Campaign("out_of_core_early", early_runs.work, early_runs.table),
    "levels": Campaign("out_of_core_levels", levels.work, levels.table),
}

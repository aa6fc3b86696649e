"""The campaigns of ``benchmarks/beyond.py``, by name."""

from __future__ import annotations

from widemargin_papers.harness.campaign import Campaign

from . import early_runs, exact_runs, levels

CAMPAIGNS = {
    "exact": Campaign("beyond_exact", exact_runs.work, exact_runs.table),
    "early": Campaign("beyond_early", early_runs.work, early_runs.table),
    "levels": Campaign("beyond_levels", levels.work, levels.table),
}

"""The campaigns of screening beyond the paper, by name; ``benchmarks/ramp.py`` runs."""

from __future__ import annotations

from widemargin_papers.harness.campaign import Campaign

from . import pair_timing, plain_svm, rank_rule

CAMPAIGNS = {
    "rank": Campaign("ramp_rank", rank_rule.work, rank_rule.table),
    "plain": Campaign("ramp_plain", plain_svm.work, plain_svm.table),
    "pairs": Campaign("ramp_pairs", pair_timing.work, pair_timing.tables),
}

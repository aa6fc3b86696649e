"""The campaigns of screening beyond the paper, by name; ``benchmarks/screening.py``."""

from __future__ import annotations

from ..campaign import Campaign
from . import pair_timing, plain_svm, rank_rule

CAMPAIGNS = {
    "rank": Campaign("screening_rank", rank_rule.work, rank_rule.table),
    "plain": Campaign("screening_plain", plain_svm.work, plain_svm.table),
    "pairs": Campaign("screening_pairs", pair_timing.work, pair_timing.tables),
}

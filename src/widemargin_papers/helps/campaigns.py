"""The campaigns of ``benchmarks/helps.py``: one of the suite's questions each."""

from __future__ import annotations

from widemargin_papers.harness.campaign import Campaign

from . import candidates, label_report, labels

CAMPAIGNS = {
    "candidates": Campaign("helps_candidates", candidates.work, candidates.table),
    "labels": Campaign("helps_labels", labels.work, label_report.table),
}

"""Mistakes of unequal price: the cost-sensitive hinge loss."""

from .cost_report import CostReport
from .estimator import CostSensitiveSVC
from .scoring import total_cost_scorer

__all__ = ["CostReport", "CostSensitiveSVC", "total_cost_scorer"]

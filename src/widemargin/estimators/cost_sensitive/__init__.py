"""Mistakes of unequal price: the cost-sensitive hinge loss."""

from .estimator import CostSensitiveSVC
from .scoring import total_cost_scorer

__all__ = ["CostSensitiveSVC", "total_cost_scorer"]

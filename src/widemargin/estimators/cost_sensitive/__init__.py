"""Mistakes of unequal price: the cost-sensitive hinge loss."""

from .costs import total_cost_scorer
from .estimator import CostSensitiveSVC

__all__ = ["CostSensitiveSVC", "total_cost_scorer"]

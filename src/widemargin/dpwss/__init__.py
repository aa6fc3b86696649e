"""DPWSS: working sets drawn by the exponential mechanism. Not a private estimator."""

from .composition import SelectionReport
from .estimator import DPWSSClassifier

__all__ = ["DPWSSClassifier", "SelectionReport"]

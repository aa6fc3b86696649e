"""DPWSS: working sets drawn by the exponential mechanism. Not a private estimator."""

from widemargin.estimators.incremental import refuse_updates

from .composition import SelectionReport
from .estimator import DPWSSClassifier

__all__ = ["DPWSSClassifier", "SelectionReport"]

refuse_updates(
    DPWSSClassifier,
    "a randomised solver that stops early has no exact solution to move.",
)

"""Exact learning and forgetting, for the estimators that can."""

from .mixin import IncrementalClassifier
from .refused import Refused, refuse_updates

__all__ = ["IncrementalClassifier", "Refused", "refuse_updates"]

"""Exact learning and forgetting, for the estimators that can."""

from .classifier import IncrementalClassifier
from .refused import Refused

__all__ = ["IncrementalClassifier", "Refused"]

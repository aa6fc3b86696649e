"""Exact learning and forgetting, for the estimators that can."""

from .incremental_classifier import IncrementalClassifier
from .incremental_machine import IncrementalMachine
from .incremental_regressor import IncrementalRegressor
from .refused import Refused, refuse_updates

__all__ = [
    "IncrementalClassifier",
    "IncrementalMachine",
    "IncrementalRegressor",
    "Refused",
    "refuse_updates",
]

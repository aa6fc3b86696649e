"""Divide and conquer: exact in levels, or early, by the model of a cluster."""

from widemargin.estimators.incremental import refuse_updates

from .estimator import DivideConquerSVC

__all__ = ["DivideConquerSVC"]

refuse_updates(
    DivideConquerSVC,
    "its model is one of clusters; SVC ends at the same solution and can do it.",
)

"""Ramp loss: a classifier in which mislabelled samples have bounded influence."""

from widemargin.estimators.incremental import refuse_updates

from .estimator import RampSVC

__all__ = ["RampSVC"]

refuse_updates(
    RampSVC,
    "the ramp loss is not convex, so there is no one model to keep up to date.",
)

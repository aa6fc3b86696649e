"""Ramp loss: a classifier that gives up on samples it believes to be mislabelled."""

from widemargin.estimators.incremental import refuse_updates

from .estimator import RampSVC

__all__ = ["RampSVC"]

refuse_updates(
    RampSVC,
    "the ramp loss is not convex, so there is no one model to keep up to date.",
)

"""Ramp loss: a classifier that gives up on samples it believes to be mislabelled."""

from .estimator import RampSVC

__all__ = ["RampSVC"]

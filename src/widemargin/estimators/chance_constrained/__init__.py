"""Robust chance-constrained SVM: samples with error bars."""

from widemargin.estimators.incremental import refuse_updates

from .estimator import ChanceConstrainedSVC

__all__ = ["ChanceConstrainedSVC"]

refuse_updates(
    ChanceConstrainedSVC,
    "it keeps no rows, and stochastic steps cannot be undone.",
)

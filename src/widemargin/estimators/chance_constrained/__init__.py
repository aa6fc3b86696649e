"""Robust chance-constrained SVM: samples with error bars."""

from widemargin.estimators.incremental import refuse_updates

from .data.conditional_gaussian import ConditionalGaussian
from .data.error_columns import split_error_columns
from .estimator import ChanceConstrainedSVC

__all__ = ["ChanceConstrainedSVC", "ConditionalGaussian", "split_error_columns"]

refuse_updates(
    ChanceConstrainedSVC,
    "it keeps no rows, and stochastic steps cannot be undone.",
)

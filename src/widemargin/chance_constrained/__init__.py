"""Robust chance-constrained SVM: samples with error bars."""

from .estimator import ChanceConstrainedSVC

__all__ = ["ChanceConstrainedSVC"]

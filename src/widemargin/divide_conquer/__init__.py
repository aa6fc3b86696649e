"""Divide and conquer: exact in levels, or near-exact by early prediction."""

from .estimator import DivideConquerSVC

__all__ = ["DivideConquerSVC"]

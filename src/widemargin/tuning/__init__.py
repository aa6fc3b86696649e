"""Searches over parameters that share what their fits have in common."""

from .search import SharedGridSearchCV

__all__ = ["SharedGridSearchCV"]

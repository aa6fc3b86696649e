"""The plain support vector classifier: the smallest recipe; read it first."""

from .estimator import SVC

__all__ = ["SVC"]

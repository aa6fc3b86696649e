"""Change bounds, linear term or members of a solved problem, exactly."""

from .follow import PathAccount
from .moves import add, exact, fresh, move, remove

__all__ = ["PathAccount", "add", "exact", "fresh", "move", "remove"]

"""Follow the solution of a dual problem exactly, while the problem changes.

    minimise    1/2 beta' K beta - linear' beta
    subject to  lower <= beta <= upper,   and, with an intercept, sum(beta) = total

When bounds, linear term and total move together, linearly in eta from a solved problem
to a wanted one, the solution moves piecewise linearly (mathematics 0.4). The compiled
engine follows the pieces; this package decides which rows it has to watch, certifies
the end on *all* rows, and repairs what was not watched.

Memory is rows x margin set for the watched rows, plus vectors: never rows x rows.
"""

from .dependent_rows import independent
from .end import (
    accurate,
    at_its_end,
    only_solution,
    path_seconds,
    reach,
    repair,
)
from .follow import PathAccount, Start, moving

__all__ = [
    "PathAccount",
    "Start",
    "accurate",
    "at_its_end",
    "independent",
    "moving",
    "only_solution",
    "path_seconds",
    "reach",
    "repair",
]

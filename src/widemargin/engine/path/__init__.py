"""Follow the solution of a dual problem exactly, while the problem changes.

    minimise    1/2 beta' K beta - linear' beta
    subject to  lower <= beta <= upper,   and, with an intercept, sum(beta) = total

When bounds, linear term and total move together, linearly in eta from a solved problem
to a wanted one, the solution moves piecewise linearly (mathematics 0.4). The compiled
engine follows the pieces; this package decides which rows it has to watch, certifies
the end on *all* rows, and repairs what was not watched.

Memory is rows x margin set for the watched rows, plus vectors: never rows x rows.
"""

from .cost import (
    begun_seconds,
    event_seconds,
    path_events,
    path_seconds,
    repair_seconds,
)
from .dependent_rows import independent, rank_bound
from .end import (
    accurate,
    at_its_end,
    has_one_point,
    only_solution,
    reach,
    repair,
)
from .follow import UNLIMITED, Limits, PathAccount, Start, moving
from .kinks import joined_solution, split_solution

__all__ = [
    "UNLIMITED",
    "Limits",
    "PathAccount",
    "Start",
    "accurate",
    "at_its_end",
    "begun_seconds",
    "event_seconds",
    "has_one_point",
    "independent",
    "joined_solution",
    "moving",
    "only_solution",
    "path_events",
    "path_seconds",
    "rank_bound",
    "reach",
    "repair",
    "repair_seconds",
    "split_solution",
]

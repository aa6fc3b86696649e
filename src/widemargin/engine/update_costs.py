"""Which way an update takes: along the path, a solve from the former point, or anew.

All three lead to the same model; what they cost is estimated from the sizes of the
problem, in seconds on one core. Only ratios matter, and no clock is read: the same
update takes the same way on every machine.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from .path import events_within, path_seconds

ENTRY = 2.3e-9  # a kernel entry in float32
ROWS_OF_SUPPORT = 2.5  # a cold solve evaluates each support vector's row so often
STEP = 5e-6  # a pair step
STEPS_OF_MARGIN = 16  # for each free support vector, of a cold solve
STEPS_OF_MOVER = 300  # for each row that has to move, of a warm solve
FACTOR = 3e-10  # of the cube of the margin set: polishing
BASE = 3e-3  # of the small things around a solve
CLEARLY = 0.7  # of a refit's estimate: a path that is to be less has to be this much
NEXT_TIME = 2.0  # times a warm solve's: a path leaves K beta known for the next update
AT_MOST = 1.2  # times a refit's, whatever it is good for


class Route(StrEnum):
    """The ways of an update."""

    PATH = "path"
    WARM = "warm"
    REFIT = "refit"


def refit_seconds(n: int, support: int, margin: int, *, exact: bool) -> float:
    """Estimate the seconds of a solve from nothing."""
    steps = STEP * STEPS_OF_MARGIN * margin
    entries = ENTRY * ROWS_OF_SUPPORT * n * support
    return BASE + entries + steps + _polish_seconds(n, margin, exact)


def warm_seconds(n: int, support: int, margin: int, moving: int) -> float:
    """Estimate the seconds of a solve from the former point, whose K beta is known."""
    steps = STEP * min(STEPS_OF_MARGIN * margin, STEPS_OF_MOVER * moving)
    verified = ENTRY * n * support  # once, and the rows of what moves
    entries = ENTRY * n * min(support, 8 * moving)
    return BASE + verified + entries + steps


def cheapest(
    n: int,
    support: int,
    moving: int,
    margin: int,
    *,
    exact: bool,
    warm: bool,
    summed: bool = True,
) -> tuple[Route, int]:
    """Return the way that is least work, and how many events a path may take.

    Parameters
    ----------
    n, support, moving, margin : int
        Rows of the problem, its support vectors, those on their way to another bound,
        and those strictly inside their boxes.
    exact : bool
        Whether a solve has to end exactly, as a path does.
    warm : bool
        Whether a solve may begin at the former point.
    summed : bool
        Whether its K beta is known; a path would have to compute it.

    Returns
    -------
    route : Route
        Where to go.
    events : int
        Of a path: with more it is given up, having cost as much as a new fit.
    """
    anew = refit_seconds(n, support, margin, exact=exact)
    # An exact fit of few rows is one compiled call: no start makes it shorter.
    warm = warm and not exact
    again = warm_seconds(n, support, margin, moving) if warm else np.inf
    along = path_seconds(n, moving, margin)
    first = 0.0 if summed else 2.5 * ENTRY * n * support  # in float64, once
    route = Route.WARM if again < anew else Route.REFIT
    # What a path leaves known serves the next update: it may cost a little more now.
    pays = along <= min(CLEARLY * anew, NEXT_TIME * again)
    if pays and along + first <= AT_MOST * anew:
        route = Route.PATH
    return route, 20 + events_within(anew, n, moving, margin)


def _polish_seconds(n: int, margin: int, exact: bool) -> float:
    return FACTOR * margin**3 + ENTRY * n * margin if exact else 0.0

"""Route of an update: along a path, by a warm solve, or by a refit.

All three lead to the same model; what they cost is estimated from the sizes of the
problem, in seconds on one core. Only ratios matter, and no clock is read: the same
update takes the same way on every machine.

How many events a path meets is not known before. So updates in a row have an account:
each pays in `SLACK` = 1.2 refits and draws what it cost, a path by the events it took;
the balance begins with, and is at most, `CREDIT` = 1.5 refits. A path is given up for a
refit when it has cost the balance and the rest of the slack. Hence k updates in a row
cost at most 1.2 k + 1.5 refits, and none more than 2.7, however many events there were.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .path import (
    PathAccount,
    begun_seconds,
    event_seconds,
    path_events,
    path_seconds,
    repair_seconds,
)
from .problem import DualProblem

ENTRY = 1.9e-9  # seconds per kernel entry in float32
ROWS_OF_SUPPORT = 1.5  # evaluations of each support vector's row by a cold solve
STEP = 1.1e-6  # seconds per pair step
STEPS_OF_MARGIN = 12  # pair steps of a cold solve per free support vector
STEPS_OF_MOVER = 300  # pair steps of a warm solve per row that moves
FACTOR = 1.2e-10  # seconds of polishing, per cube of the size of the margin set
POLISHED = 600  # largest margin set that a fit polishes
BASE = 1.8e-3  # seconds of fixed costs of a solve
COMPILED_BASE = 4.3e-4  # the same where a solve is one compiled call,
COMPILED_ENTRY = 3.5e-10  # with seconds per entry of the whole matrix,
COMPILED_NUMBER = 1.1e-11  # per entry and feature,
COMPILED_STEPS = 3.5e-9  # and of pair steps per row and support vector
PRIMAL_ROW = 5.2e-7  # primal Newton for many rows, linear kernel: seconds per row,
PRIMAL_NUMBER = 3.2e-8  # and seconds per feature of a row
LINEAR_SUM = 1e-8  # K beta with a linear kernel: seconds per feature of a row
SUMMED = 2.5e-9  # seconds per kernel entry of K beta in float64
PATH_BASE = 2e-4  # seconds of an update besides its path
CROSSING = 6e-4  # share of the bounded support vectors that a row of influence 1 moves
MOST_INFLUENCE = 10.0  # cap on the influence of a row: beyond, fewer are bounded
CLEARLY = 0.8  # a path is taken below this share of a refit's estimate,
SURELY = 0.7  # and below this one of a compiled call's, which is less certain
SLACK = 1.2  # refits that updates in a row may cost each,
CREDIT = 1.5  # and beyond that all together
NEXT_TIME = 2.0  # a path may cost this many warm solves: it leaves K beta known
TESTED = 1.2e-3  # expected saving, in seconds, from which rows are tested first


class Route(StrEnum):
    """Routes of an update."""

    PATH = "path"
    WARM = "warm"
    REFIT = "refit"


class Prices(NamedTuple):
    """Seconds of a refit, and of a path: once, of each repair, and of each event."""

    refit: float
    begun: float
    repair: float
    event: float

    @property
    def events_of_repair(self) -> int:
        """Events that cost as much as a repair."""
        return math.ceil(self.repair / self.event)

    def events(self, credit: float) -> int:
        """Return the events after which a path and the refit in its place cost all."""
        left = (SLACK - 1.0 + credit) * self.refit - self.begun
        return max(1, int(left / self.event))

    def refits(self, path: PathAccount) -> float:
        """Return what a path has cost, in refits."""
        repairs = max(0, path.rounds - 1)
        spent = self.begun + self.repair * repairs + self.event * path.steps
        return spent / self.refit


def credit_left(credit: float, refits: float) -> float:
    """Return the balance after an update, by what it cost in refits."""
    return min(CREDIT, credit + SLACK - refits)


def refit_seconds(
    n: int,
    support: int,
    margin: int,
    *,
    exact: bool,
    compiled: bool = False,
    features: float = 10.0,
    primal: int = 0,
) -> float:
    """Estimate the seconds of a cold solve.

    `features` are the stored numbers of a row, which count where the whole matrix is
    evaluated; `primal` is how many there are where it is one of Newton in the primal.
    """
    if primal:
        return BASE + n * (PRIMAL_ROW + PRIMAL_NUMBER * primal)
    if compiled:
        steps = COMPILED_STEPS * n * support
        entry = COMPILED_ENTRY + COMPILED_NUMBER * features
        return COMPILED_BASE + entry * n**2 + steps
    steps = STEP * STEPS_OF_MARGIN * margin
    entries = ENTRY * ROWS_OF_SUPPORT * n * support
    return BASE + entries + steps + _polish_seconds(n, margin, exact)


def warm_seconds(n: int, support: int, margin: int, moving: int) -> float:
    """Estimate the seconds of a solve from the former point, whose K beta is known."""
    steps = STEP * min(STEPS_OF_MARGIN * margin, STEPS_OF_MOVER * moving)
    verified = ENTRY * n * support  # once, and the rows of what moves
    entries = ENTRY * n * min(support, 8 * moving)
    return BASE + verified + entries + steps


def least_seconds(n: int, margin: int, moving: int, held: int = 0) -> float:
    """Estimate the shortest path there is: rows move, and nothing else."""
    return PATH_BASE + path_seconds(n, max(1, moving), margin, held=held)


def worth_testing(anew: float, rows: int, share: float) -> bool:
    """Whether to test first that rows leave the model as it is.

    The test costs part of a refit. `anew` is the estimated time of a refit, which is
    saved where the model stays.
    """
    return (1.0 - moving_share(rows, share)) * anew > TESTED


def moving_share(rows: int, share: float) -> float:
    """Return how likely `rows` that enter and leave are to change something.

    That is one support vector among them, which this share of rows are.
    """
    return 1.0 - (1.0 - share) ** rows


def stored_features(samples: Any) -> float:
    """Return the numbers that a row has: all of dense ones, the stored of sparse."""
    if sparse.issparse(samples):
        return float(samples.nnz / max(1, samples.shape[0]))
    return float(samples.shape[1])


def influence(problem: DualProblem) -> float:
    """Return the influence of a row on its own decision value, in margins."""
    unit = float(np.abs(problem.linear).mean())
    own = float(((problem.upper - problem.lower) * problem.gram.diagonal()).mean())
    if unit == 0.0 or not np.isfinite(own):
        return 0.0
    return min(own / unit, MOST_INFLUENCE)


def prices(
    n: int,
    support: int,
    moving: int,
    margin: int,
    *,
    exact: bool,
    summed: bool = True,
    compiled: bool = False,
    features: float = 10.0,
    primal: int = 0,
    held: int = 0,
) -> Prices:
    """Return what a refit costs, and the parts of a path.

    Parameters
    ----------
    n, support, moving, margin : int
        Rows of the problem, its support vectors, those on their way to another bound,
        and those strictly inside their boxes.
    exact : bool
        Whether a solve has to end exactly, as a path does.
    summed : bool
        Whether K beta of the former point is known; a path would have to compute it.
    compiled : bool
        Whether a solve from nothing is one compiled call over the whole matrix.
    features : float
        Stored numbers of a row (:func:`stored_features`).
    primal : int
        Features, where a solve from nothing is one of Newton in the primal; else 0.
    held : int
        Rows of the margin set whose kernel columns former paths have left.
    """
    anew = refit_seconds(
        n, support, margin,
        exact=exact, compiled=compiled, features=features, primal=primal,
    )  # fmt: skip
    sums = LINEAR_SUM * n * primal if primal else SUMMED * n * support  # in float64
    begun = PATH_BASE + begun_seconds(n, moving, margin, held)
    begun += 0.0 if summed else sums
    each = repair_seconds(n, margin), event_seconds(n, moving, margin)
    return Prices(anew, begun, *each)


def cheapest(
    n: int,
    support: int,
    moving: int,
    margin: int,
    costs: Prices,
    *,
    exact: bool,
    warm: bool,
    influence: float = 0.0,
    compiled: bool = False,
    to_come: float = 0.0,
    credit: float = CREDIT,
) -> tuple[Route, int]:
    """Return the cheapest route, and the number of events that a path may take.

    Parameters
    ----------
    n, support, moving, margin, exact, compiled
        As for :func:`prices`, which made `costs` of them.
    warm : bool
        Whether a solve may begin at the former point.
    influence : float
        Change of a row's own decision value when its coefficient crosses its box, in
        units of the margin: the larger, the more bounded rows change sides.
    to_come : float
        Share of the next updates that will move something; 0 where none is expected. A
        path leaves them K beta and the columns of the margin set, and an exact
        solution, which the others leave as it is; a refit to `tol` comes each time.
    credit : float
        The balance of updates in a row.
    """
    anew = costs.refit
    # An exact fit of few rows is one compiled call: no start makes it shorter.
    warm = warm and not exact
    again = warm_seconds(n, support, margin, moving) if warm else np.inf
    bounded = max(0, support - moving - margin)
    crossing = CROSSING * influence * bounded * moving
    along = later = costs.begun + path_events(moving, crossing) * costs.event
    if to_come > 0.0:  # what is evaluated now serves them
        later = path_seconds(n, moving, margin, crossing, held=margin)
        later = PATH_BASE + (1.0 if exact else to_come) * later
    allowed = (SLACK - 1.0 + min(1.0, credit)) * anew
    pays = later <= (SURELY if compiled else CLEARLY) * anew and along <= allowed
    route = Route.WARM if again < anew else Route.REFIT
    if pays and along <= NEXT_TIME * again:
        route = Route.PATH
    return route, costs.events(credit)


def _polish_seconds(n: int, margin: int, exact: bool) -> float:
    polishes = exact and margin <= POLISHED
    return FACTOR * margin**3 + ENTRY * n * margin if polishes else 0.0

"""What a path costs, estimated before it is followed.

Seconds on one core; only their ratios to those of a solve matter
(:mod:`widemargin.engine.update_routes`).
"""

from __future__ import annotations

from .follow import WATCH_ALL_BELOW, WATCH_SHARE

ENTRY = 1.8e-9  # seconds per kernel entry in float64, summed
STORED = 2.5e-9  # seconds per kernel entry that is held: renewed, read, summed
FACTOR = 1e-11  # seconds of the first factor, per cube of the size of the margin set
PASS = 1.1e-10  # seconds of an event, per watched row and member of the margin set
BASE = 2.1e-3  # seconds of fixed costs,
ROW = 1.6e-7  # and seconds per row, of what is done once to all of them
EVENTS = 2  # events per row that moves: it arrives, and others leave


def path_seconds(
    n: int, moving: int, margin: int, crossing: float = 0.0, held: int = 0
) -> float:
    """Estimate the seconds a path takes on one core.

    Fitted to single moves and to streams on the sets of ``python benchmarks/updates.py
    choice`` at odd places, as are the constants of a solve.

    Parameters
    ----------
    n : int
        Rows of the problem.
    moving : int
        Rows on their way to another bound, or whose gradient has to change.
    margin : int
        Size of the margin set.
    crossing : float
        Events beyond those of the moving rows: others that change sides on the way.
    held : int
        Members of the margin set whose kernel columns are there.
    """
    begun = begun_seconds(n, moving, margin, held)
    return begun + path_events(moving, crossing) * event_seconds(n, moving, margin)


def path_events(moving: int, crossing: float) -> float:
    """Estimate the events of a path."""
    return 10 + EVENTS * moving + crossing


def begun_seconds(n: int, moving: int, margin: int, held: int = 0) -> float:
    """Estimate the seconds of a path besides its events and repairs."""
    margin += 10
    anew = margin - min(held, margin)
    entries = anew * _watched(n, moving + margin) + n * (anew + moving)
    once = BASE + ROW * n + ENTRY * entries
    return once + FACTOR * margin**3 + STORED * n * held


def repair_seconds(n: int, margin: int) -> float:
    """Estimate the seconds of a repair besides its events: the columns are there."""
    return FACTOR * margin**3 + STORED * n * margin


def event_seconds(n: int, moving: int, margin: int) -> float:
    """Estimate the seconds of an event."""
    margin += 10
    return PASS * margin * (2 * _watched(n, moving + margin) + 4 * margin)


def _watched(n: int, concerned: int) -> int:
    return min(n, max(WATCH_ALL_BELOW, WATCH_SHARE * concerned))

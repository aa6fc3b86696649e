"""Remaining time of a solve, extrapolated from its violation: a range, or unknown."""

from __future__ import annotations

import math
from bisect import bisect_left

# The violation falls by about the same factor each second once the support vectors are
# found; before that, and where a stage of more samples begins, it rises and stands.
# So the rate is that of the last part of the time, and the range is wide; refinement
# and certificate come after the tolerance and take a share of the time before.
# The first two were chosen on half of the data sets: python benchmarks/command.py left
RECENT = 0.75
WIDTH = 3.0
AFTERWARDS = 0.2


class TimeLeft:
    """Predict the remaining time of a solve from the decline of its KKT violation.

    Parameters
    ----------
    tol : float
        The violation at which the solve ends.
    """

    def __init__(self, tol: float) -> None:
        self._end = math.log(tol)
        self._seconds: list[float] = []
        self._logarithms: list[float] = []

    def observe(self, seconds: float, violation: float) -> tuple[float, float] | None:
        """Return the least and the largest number of seconds left; None if unknown.

        Unknown where the violation has not fallen over the last three quarters of the
        time. ``seconds`` count from the start of the solve and never decrease.
        """
        now = math.log(max(violation, math.exp(self._end)))
        first = bisect_left(self._seconds, (1.0 - RECENT) * seconds)
        estimate = None
        if first < len(self._seconds) and self._seconds[first] < seconds:
            fallen = self._logarithms[first] - now
            if fallen > 0.0:
                passed = seconds - self._seconds[first]
                estimate = (now - self._end) * passed / fallen
        self._seconds.append(seconds)
        self._logarithms.append(now)
        if estimate is None:
            return None
        return estimate / WIDTH, estimate * WIDTH + AFTERWARDS * seconds


def in_words(left: tuple[float, float] | None) -> str:
    """Return the range in words, rounded to its accuracy."""
    if left is None:
        return "time left unknown"
    low, high = left
    if high < 1.0:
        return "under 1 s left"
    if high < 120.0:
        return f"{low:.0f} to {high:.0f} s left"
    return f"{low / 60.0:.0f} to {high / 60.0:.0f} min left"

"""The one form of a time limit: the moment at which work must end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass


class DeadlinePassedError(Exception):
    """Work whose partial result is useless did not end in time."""


@dataclass(frozen=True)
class Deadline:
    """A moment of this process's clock; pickled, the remaining seconds count.

    Parameters
    ----------
    moment : float
        Reading of ``time.perf_counter``; infinite for no limit.
    """

    moment: float = math.inf

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the moment `seconds` from now; None is no limit."""
        return cls() if seconds is None else cls(time.perf_counter() + seconds)

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.moment < math.inf

    @property
    def passed(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() > self.moment

    def check(self) -> None:
        """Raise :class:`DeadlinePassedError` if it is too late."""
        if self.passed:
            raise DeadlinePassedError

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline, at least 0; infinite without a limit."""
        if not self.limited:
            return math.inf
        return max(0.0, self.moment - time.perf_counter())

    def __reduce__(self) -> tuple[Callable[[float | None], Deadline], tuple[object]]:
        """Pickle the remaining seconds: another process has another clock."""
        return Deadline.after, (self.seconds_left if self.limited else None,)


NEVER = Deadline()

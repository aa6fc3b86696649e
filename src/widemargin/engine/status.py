"""How a solve ended."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a solve ended; equal to its word, as in ``certificate.status``."""

    START = "start"  # a feasible point that no solver has worked on yet
    CONVERGED = "converged"  # the KKT violation is at most the tolerance
    POLISHED = "polished"  # exact up to rounding
    STALLED = "stalled"  # rounding leaves more than the tolerance
    EXHAUSTED = "exhausted"  # no admissible pair is left to draw (DPWSS)
    MAX_ITER = "max_iter"
    MAX_TIME = "max_time"
    EPOCHS = "epochs"  # as many passes over the data as were asked for
    OVERFLOW = "overflow"  # numbers exceed the floating-point range: nothing is proved
    INTERRUPTED = "interrupted"
    EARLY = "early"  # converged with the kernel cut to clusters
    MAX_ROUNDS = "max_cccp_iter"  # the clipped samples of a ramp loss still change
    CLASS_CLIPPED = "class_clipped"  # the ramp loss would clip most of a class

    @property
    def solved(self) -> bool:
        """Whether the requested tolerance was reached."""
        return self is Status.CONVERGED or self is Status.POLISHED

    @property
    def stopped(self) -> bool:
        """Whether a limit, or the user, ended the solve."""
        return self in (Status.MAX_ITER, Status.MAX_TIME, Status.INTERRUPTED)

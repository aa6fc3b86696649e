"""Progress of a solve on a terminal, and nothing when nobody watches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from tqdm.auto import tqdm


class Progress:
    """A bar that runs from the first violation seen down to the tolerance.

    Used as ``monitor=`` of :func:`widemargin.solve.solve`. The bar is logarithmic: every
    decade of violation is worth the same. It appears only after a second, so quick
    fits print nothing.

    Parameters
    ----------
    verbose : bool or int
        0 shows nothing.
    tol : float
        Where the bar ends.
    label : str
        Written in front.
    delay : float
        Seconds before the bar appears.
    """

    def __init__(
        self, verbose: bool | int, tol: float, label: str = "fit", delay: float = 1.0
    ) -> None:
        self.verbose = bool(verbose)
        self.tol = tol
        self.label = label
        self.delay = delay
        self._bar: Any = None
        self._first: float | None = None
        self._start = time.perf_counter()

    def __enter__(self) -> Progress:
        """Start the clock."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()

    @property
    def monitor(self) -> Callable[[int, float, int], bool] | None:
        """The monitor to hand to ``solve``; None when not verbose."""
        return self if self.verbose else None

    def __call__(self, n_iter: int, violation: float, active: int) -> bool:
        """Show where the solve stands; always go on."""
        if self._first is None and violation > 0:
            self._first = violation
        if self._bar is None and time.perf_counter() - self._start > self.delay:
            self._bar = tqdm(total=100, desc=self.label, unit="%", leave=False)
        if self._bar is not None and self._first is not None:
            decades = math.log(max(self._first / self.tol, 1.0 + 1e-9))
            done = math.log(max(self._first / max(violation, self.tol), 1.0)) / decades
            self._bar.n = max(self._bar.n, round(100 * min(done, 1.0), 1))
            self._bar.set_postfix(
                steps=n_iter, violation=f"{violation:.1e}", active=active
            )
        return True


class ClusterProgress:
    """A bar over the clusters of each level of a divided solve.

    Called with (what, done, of); a new bar begins with each new `what`.

    Parameters
    ----------
    verbose : bool or int
        0 shows nothing.
    label : str
        Written in front.
    """

    def __init__(self, verbose: bool | int, label: str = "fit") -> None:
        self.verbose = bool(verbose)
        self.label = label
        self._bar: Any = None
        self._what = ""

    def __enter__(self) -> ClusterProgress:
        """Begin without a bar."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __call__(self, what: str, done: int, of: int) -> None:
        """Show that `done` of the clusters are solved."""
        if not self.verbose:
            return
        if what != self._what:
            self.__exit__()
            self._what = what
            self._bar = tqdm(
                total=of, desc=f"{self.label} {what}", unit="cluster", leave=False
            )
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

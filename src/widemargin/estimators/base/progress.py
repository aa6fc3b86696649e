"""Progress of a solve, on a terminal and to scikit-learn's callbacks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from tqdm.auto import tqdm

from widemargin.runtime.cancellation import check_cancelled, is_cancellable

from .sklearn_compat import CallbackTask
from .time_left import TimeLeft, in_words

CALLBACK_STEPS = 20  # steps reported to callbacks, over equal decades of violation
# Refinement, polish and certificate follow: the tolerance is not 100 %.
MOST_SHOWN = 99.0
# No rate: a solve slows down towards its end, so percent per second mislead.
BAR = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}"


class Progress:
    """A bar that runs from the first violation seen down to the tolerance.

    Used as ``monitor=`` of :func:`widemargin.engine.solve.solve`. The bar is
    logarithmic: every decade of violation is worth the same; it ends short of 100 %,
    since work is left at the tolerance. Beside it stands how long it may still take, as
    a range. It appears only after a second, so quick fits print nothing.

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
    estimator : object, optional
        Its callbacks (scikit-learn's callback API) receive the progress, too.
    """

    def __init__(
        self,
        verbose: bool | int,
        tol: float,
        label: str = "fit",
        delay: float = 1.0,
        estimator: Any = None,
    ) -> None:
        self.verbose = bool(verbose)
        self.tol = tol
        self.label = label
        self.delay = delay
        self._bar: Any = None
        self._first: float | None = None
        self._task = CallbackTask(estimator, "solve", CALLBACK_STEPS)
        self._notified = 0
        self._left = TimeLeft(tol)
        self._start = time.perf_counter()

    def __enter__(self) -> Progress:
        """Start the clock."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
        self._task.close()

    @property
    def monitor(self) -> Callable[[int, float, int], bool] | None:
        """The monitor to pass to ``solve``; None if it would have no effect."""
        watched = self.verbose or self._task.has_callbacks or is_cancellable()
        return self if watched else None

    def __call__(self, n_iter: int, violation: float, active: int) -> bool:
        """Show where the solve stands; False when a callback stops it."""
        if self._first is None and violation > 0:
            self._first = violation
        share = 0.0
        if self._first is not None:
            decades = math.log(max(self._first / self.tol, 1.0 + 1e-9))
            fall = math.log(max(self._first / max(violation, self.tol), 1.0))
            share = min(fall / decades, 1.0)
        self._show(share, n_iter, violation, active)
        return self._notify(share) and check_cancelled()

    def _show(self, share: float, n_iter: int, violation: float, active: int) -> None:
        if not self.verbose:
            return
        passed = time.perf_counter() - self._start
        left = self._left.observe(passed, violation)
        if self._bar is None and passed > self.delay:
            self._bar = tqdm(total=100, desc=self.label, bar_format=BAR, leave=False)
        if self._bar is not None:
            shown = min(round(100 * share, 1), MOST_SHOWN)
            self._bar.n = max(self._bar.n, shown)
            self._bar.set_postfix_str(
                f"{in_words(left)}, violation {violation:.1e}, {active} active, "
                f"{n_iter} steps"
            )

    def _notify(self, share: float) -> bool:
        if not self._task.has_callbacks:
            return True
        while self._notified < int(share * CALLBACK_STEPS):
            self._notified += 1
            if self._task.step():
                return False
        return True


class ClusterProgress:
    """A bar over the clusters of each level of a divided solve.

    Called with (what, done, of); a new bar begins with each new `what`, and goes with
    its last cluster: what comes then is not counted in clusters.

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
        if done == of:
            self.__exit__()

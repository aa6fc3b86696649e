"""The threads of a search: sheets side by side, and the chains of each, share them.

Sheets differ in how long they take, most of all by the width of their kernel. When few
are left, their chains take the threads of those that are done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from widemargin.runtime.cancellation import CancellationScope


class Cores:
    """Keeps at most this many threads at work; a thread enters to work.

    Parameters
    ----------
    count : int
        How many.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = threading.Semaphore(count)

    def __enter__(self) -> Cores:
        """Wait for a free core and take it."""
        self._free.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the core back."""
        self._free.release()

    def mapped(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Return the work on each item, done by threads that enter.

        Parameters
        ----------
        work : callable
            What is done.
        items : iterable
            On what. The caller has entered, and its core is free while it waits.
        """
        items = list(items)
        if len(items) == 1:
            return [work(items[0])]

        def entered(item: Any) -> Any:
            with self:
                return work(item)

        self._free.release()
        try:
            with ThreadPoolExecutor(self.count) as pool, CancellationScope() as scope:
                return list(pool.map(partial(scope.run, entered), items))
        finally:
            self._free.acquire()

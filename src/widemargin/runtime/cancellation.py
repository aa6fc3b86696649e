"""Work in several threads that ends together: Ctrl-C reaches only the main one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_present: ContextVar[Together | None] = ContextVar("together", default=None)


class Together:
    """What runs inside ends when the wait for it is broken off.

    A context for the waiting thread: whatever leaves it early, Ctrl-C for instance, is
    raised when all the work handed to :meth:`run` has ended. The work has to ask
    :func:`go_on` now and then, as every solve does. One that is made by such work, for
    work of its own in still other threads, is stopped with it.

    In another process (it can be pickled) it is a fresh one that nobody stops.
    """

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._change = threading.Condition()
        self._running = 0
        self._above = _present.get()

    def __enter__(self) -> Together:
        """Begin to wait."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Stop what still runs, if the wait was broken off, and see it end."""
        if kind is not None:
            self._stopped.set()
            with self._change:
                self._change.wait_for(lambda: self._running == 0)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function, in a thread of its own as a rule."""
        with self._change:
            self._running += 1
        token = _present.set(self)
        try:
            go_on()
            return function(*arguments)
        except KeyboardInterrupt:
            if not self.stopped:
                raise
        finally:
            _present.reset(token)
            with self._change:
                self._running -= 1
                self._change.notify_all()
        # Raised anew, without the frames of the work: a process that ends at once would
        # find them, and all that they hold, in a thread it cannot wait for.
        del function, arguments
        raise KeyboardInterrupt

    @property
    def stopped(self) -> bool:
        """Whether the wait was broken off, here or above."""
        above = self._above is not None and self._above.stopped
        return above or self._stopped.is_set()

    def __reduce__(self) -> tuple[type[Together], tuple[()]]:
        """Pickle as a fresh one."""
        return Together, ()


def in_company() -> bool:
    """Whether this thread works for another one."""
    return _present.get() is not None


def go_on(*_: Any) -> bool:
    """Return True, or raise what the main thread was stopped by.

    It has the form of a monitor of :func:`widemargin.engine.solve.solve`; raising ends
    a solve sooner than False would, which has it return where it stands.
    """
    present = _present.get()
    if present is not None and present.stopped:
        raise KeyboardInterrupt
    return True

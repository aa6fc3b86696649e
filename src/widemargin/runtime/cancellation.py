"""Cancellation of work in several threads: Ctrl-C reaches only the main one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_current: ContextVar[CancellationScope | None] = ContextVar("scope", default=None)


class CancellationScope:
    """Cancels the work that it runs when the thread that waits for it is interrupted.

    A context manager of the waiting thread: an exception that leaves it, such as
    KeyboardInterrupt, is raised once all the work passed to :meth:`run` has ended. The
    work calls :func:`check_cancelled` regularly, as every solve does. A scope made
    inside of such work is cancelled with the outer one.

    Unpickled in another process it is a new scope, which no thread cancels.
    """

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._change = threading.Condition()
        self._running = 0
        self._outer = _current.get()

    def __enter__(self) -> CancellationScope:
        """Enter the scope."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Cancel the work after an exception, and wait until it has ended."""
        if kind is not None:
            self._stopped.set()
            with self._change:
                self._change.wait_for(lambda: self._running == 0)

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function within the scope, usually in a worker thread."""
        with self._change:
            self._running += 1
        token = _current.set(self)
        try:
            check_cancelled()
            return function(*arguments)
        except KeyboardInterrupt:
            if not self.stopped:
                raise
        finally:
            _current.reset(token)
            with self._change:
                self._running -= 1
                self._change.notify_all()
        # A new exception, without the frames of the work: a process that ends at once
        # would find them, and all that they hold, in a thread it cannot wait for.
        del function, arguments
        raise KeyboardInterrupt

    @property
    def stopped(self) -> bool:
        """Whether this scope, or one around it, was cancelled."""
        outer = self._outer is not None and self._outer.stopped
        return outer or self._stopped.is_set()

    def __reduce__(self) -> tuple[type[CancellationScope], tuple[()]]:
        """Pickle as a new scope."""
        return CancellationScope, ()


def is_cancellable() -> bool:
    """Whether this thread runs within a scope that may be cancelled."""
    return _current.get() is not None


def check_cancelled(*_: Any) -> bool:
    """Return True, or raise KeyboardInterrupt if the scope was cancelled.

    Has the signature of a monitor of :func:`widemargin.engine.solve.solve`. Raising
    ends a solve at once; False would have it return the point it has reached.
    """
    present = _current.get()
    if present is not None and present.stopped:
        raise KeyboardInterrupt
    return True

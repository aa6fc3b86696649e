"""A lock of the whole process that a forked process finds released."""

from __future__ import annotations

import os
import threading


class ForkLock:
    """A lock that many instances share; entered by ``with``.

    A process forked while another thread holds a lock would wait for it for ever: that
    thread is not there to release it. The child therefore begins with a new one.
    """

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):  # POSIX
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

"""Sampling while something runs: memory in use, bytes sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Sample = TypeVar("Sample")


@contextmanager
def sampled(read: Callable[[], Sample], every: float) -> Iterator[list[Sample]]:
    """Collect what `read` returns, once and then every so many seconds."""
    samples = [read()]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(every):
            samples.append(read())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield samples
    finally:
        ended.set()
        watcher.join()

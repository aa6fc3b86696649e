"""Sampling while something runs: memory in use, bytes sent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Sample = TypeVar("Sample")


@contextmanager
def sampled(read: Callable[[], Sample], every: float) -> Iterator[list[Sample]]:
    """Collect what `read` returns, at once and then at intervals of `every` seconds."""
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

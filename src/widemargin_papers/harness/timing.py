"""Processor seconds, which other jobs of the machine disturb least."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def processor_seconds(
    run: Callable[[], Result], repeats: int = 1
) -> tuple[float, Result]:
    """Return the least processor seconds of some runs, and what the last returned."""
    least = float("inf")
    for _ in range(repeats):
        begun = time.process_time()
        result = run()
        least = min(least, time.process_time() - begun)
    return least, result

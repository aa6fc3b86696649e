"""Processor seconds, which other jobs of the machine disturb least."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .results import Record

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


def _by_processor(record: Record) -> Any:
    return record["processor"]


def fastest_in_turn(
    runs: Mapping[str, Callable[[], Record]],
    repeats: int,
    *,
    long: float = float("inf"),
    order: Callable[[Record], Any] = _by_processor,
) -> dict[str, Record]:
    """Make every run in turn, `repeats` times, and keep each one's best record whole.

    In turn, so that a ratio compares neighbours in time. A record has the run's
    ``processor`` seconds; what took more than `long` of them is not repeated.
    """
    best: dict[str, Record] = {}
    for repeat in range(repeats):
        for name, run in runs.items():
            known = best.get(name)
            if known is None or known["processor"] <= long:
                new = run()
                kept = new if known is None else min(known, new, key=order)
                best[name] = kept | {"repeats": repeat + 1}
    return best

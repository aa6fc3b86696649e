"""Wall and processor seconds of a run; other jobs disturb the latter least."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from .results import Record

Result = TypeVar("Result")


@dataclass
class Spent:
    """Seconds of the processor, all threads of this process, and of the clock."""

    processor: float = 0.0
    wall: float = 0.0


@contextmanager
def spending() -> Iterator[Spent]:
    """Measure the block; the figures are there when it has ended."""
    spent = Spent()
    processor, wall = time.process_time(), time.perf_counter()
    yield spent
    spent.processor = time.process_time() - processor
    spent.wall = time.perf_counter() - wall


def processor_seconds(
    run: Callable[[], Result], repeats: int = 1
) -> tuple[float, Result]:
    """Return the least processor seconds of some runs, and what the last returned."""
    least = float("inf")
    for _ in range(repeats):
        with spending() as spent:
            result = run()
        least = min(least, spent.processor)
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

"""What an update leaves in ``history_``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from widemargin.engine.solution import Solution, stage_record
from widemargin.engine.updates import PathAccount

COUNTED = ("steps", "exchanges", "shifts", "perturbations", "refactorisations")
NO_COUNTS = ((),) * len(COUNTED)
_counts = attrgetter(*COUNTED)
STAGES = ("add", "forget", "update")
KEPT = 1000  # records of history_: a stream has no end


def recent(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the last records of a history."""
    return history[-KEPT:]


def after_update(history: list[dict[str, Any]]) -> bool:
    """Whether what was done last is an update."""
    return bool(history) and history[-1]["stage"] in STAGES


@dataclass(frozen=True)
class Update:
    """What was asked for.

    Attributes
    ----------
    stage : str
        "add" (with or without rows that leave), "forget" or "update".
    chunk : int
        How many rows enter; of "forget", how many leave.
    forgotten : int
        How many leave.
    begun : float
        When, by ``time.perf_counter``.
    """

    stage: str
    chunk: int
    forgotten: int
    begun: float


def update_record(
    update: Update,
    size: int,
    solutions: list[Solution],
    accounts: list[PathAccount],
    margin: int = 0,
) -> dict[str, Any]:
    """Return the stage record of one update, summed over the pairs of classes.

    The largest KKT violation is recorded. `margin` is the number of free
    support vectors of the pair that has most.
    """
    certificates = [solution.certificate for solution in solutions]
    routes = {account.route for account in accounts} - {"unchanged"}
    record = stage_record(
        update.stage,
        size,
        time.perf_counter() - update.begun,
        certificates,
        kkt_violation=max([c.kkt_violation or 0.0 for c in certificates], default=0.0),
        chunk=update.chunk,
        forgotten=update.forgotten,
        margin=margin,
    )
    counts = zip(*map(_counts, accounts), strict=True) if accounts else NO_COUNTS
    record.update(zip(COUNTED, map(sum, counts), strict=True))
    record["route"] = "+".join(sorted(routes)) or "unchanged"
    return record

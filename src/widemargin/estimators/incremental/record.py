"""What an update leaves in ``history_``."""

from __future__ import annotations

import time
from typing import Any

from widemargin.engine.solution import Solution, stage_record
from widemargin.engine.updates import PathAccount

KEPT = 1000  # records of history_: a stream has no end


def recent(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the last records of a history."""
    return history[-KEPT:]


def update_record(
    stage: str,
    chunk: int,
    size: int,
    begun: float,
    solutions: list[Solution],
    accounts: list[PathAccount],
) -> dict[str, Any]:
    """Return the stage record of one update, summed over the pairs of classes.

    Of violations and margin sets (rows strictly inside their boxes) the largest.
    """
    certificates = [solution.certificate for solution in solutions]
    routes = sorted({account.route for account in accounts} - {"unchanged"})
    violations = (c.kkt_violation or 0.0 for c in certificates)
    return stage_record(
        stage,
        size,
        time.perf_counter() - begun,
        certificates,
        kkt_violation=max(violations, default=0.0),
        chunk=chunk,
        steps=sum(account.steps for account in accounts),
        margin=max((solution.margin.size for solution in solutions), default=0),
        exchanges=sum(account.exchanges for account in accounts),
        shifts=sum(account.shifts for account in accounts),
        perturbations=sum(account.perturbations for account in accounts),
        refactorisations=sum(account.refactorisations for account in accounts),
        route="+".join(routes) or "unchanged",
    )

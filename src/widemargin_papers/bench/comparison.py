"""Measure ourselves and the peers on one problem, each in a process of its own."""

from __future__ import annotations

from dataclasses import replace

from widemargin_papers.harness.measuring import (
    ContestantFailedError,
    Problem,
    cap_for,
    present,
    run,
    say,
)
from widemargin_papers.harness.results import Record, ResultStore

from .tables import OURS, seconds

LINEAR_TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)


def measure(
    store: ResultStore,
    problem: Problem,
    *,
    force: bool = False,
    cap: float | None = None,
    budget: float = 20.0,
) -> None:
    """Measure ourselves and then the peers on one problem, and store the records.

    Parameters
    ----------
    store : ResultStore
        Where the records go.
    problem : Problem
        What is measured.
    force : bool
        Measure again what is there already.
    cap : float, optional
        Seconds after which a peer is stopped; by default 1.25 times the claimed ratio
        times our time.
    budget : float
        No further repeat is started once a contestant spent this many seconds.
    """
    for contestant in (OURS, *present(problem.peers)):
        key = f"{problem.name} | {contestant}"
        if store.has(key) and not force:
            continue
        say(f"{problem.name}: {contestant} ...")
        limit = None
        if contestant != OURS:
            ours = store.records.get(f"{problem.name} | {OURS}")
            if ours is None:
                continue
            limit = cap or cap_for(problem, contestant, _total(ours))
        try:
            if contestant == "LinearSVC":
                record = _equal_objective(store, problem, limit, budget)
            else:
                record = run(
                    problem, contestant, problem.settings, cap=limit, budget=budget
                )
        except ContestantFailedError as failure:
            say(f"{problem.name}: {contestant} failed: {failure}")
            continue
        store.add(key, record)
        say(f"{problem.name}: {contestant} {seconds(record)} s")


def _total(record: Record) -> float:
    """Seconds of one whole run: a prediction is preceded by a fit."""
    return float(record["seconds"]) + float(record.get("fit_seconds", 0.0))


def _equal_objective(
    store: ResultStore, problem: Problem, cap: float | None, budget: float
) -> Record:
    """Run LinearSVC at the loosest tolerance whose objective is no worse than ours.

    Its tolerance has another meaning than ours: only equal objectives compare.
    """
    ours = store.records[f"{problem.name} | {OURS}"]
    reached = ours["objective"] * (1 + 1e-5)
    for tol in LINEAR_TOLERANCES:
        settings = replace(problem.settings, tol=tol)
        record = run(problem, "LinearSVC", settings, cap=cap, budget=budget)
        if record["capped"] or record["objective"] <= reached:
            break
    return record

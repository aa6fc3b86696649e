"""Run the speed campaign: measure what is missing, print the tables.

Used by ``benchmarks/run.py`` and ``widemargin bench``. Runs are resumable: each record
is stored at once, and a run whose record this commit has made is not repeated.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from widemargin_papers.harness import datasets
from widemargin_papers.harness.campaign import run_missing
from widemargin_papers.harness.measuring import (
    ContestantFailedError,
    Problem,
    cap_for,
    present,
    run,
    say,
)
from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import provenance

from . import family, tuning_limits, tuning_times
from . import problems as speed
from .entries import entries_table
from .small import small_table
from .tables import OURS, family_table, growth_table, ratio_table, seconds

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


#: measured beside peers and stored: name -> what lists its problems
SUITES: dict[str, Callable[[], Iterable[Problem]]] = {
    "ratios": lambda: speed.problems().values(),
    "one-thread": speed.one_thread,
    "tight": speed.tighter,
    "growth": speed.growing,
    "sweep": speed.sweep,
    "family": family.problems,
}


def report(store: ResultStore, suite: str, chosen: Iterable[Problem]) -> str:
    """Return the tables of one suite."""
    tables = {"growth": growth_table, "family": family_table}
    table = tables.get(suite, ratio_table)
    return f"{table(store, chosen)}\n{provenance(store)}"


def tuning_table(store: ResultStore) -> str:
    """Return the tables of searches, and of what is not a grid."""
    tables = tuning_times.table(store), tuning_limits.table(store)
    return "\n".join(filter(None, (*tables, provenance(store))))


def as_rst(suite: str, store: ResultStore) -> str:
    """Return the tables of one suite as a literal block of a page."""
    text = report(store, suite, SUITES[suite]())
    lines = (f"   {line}".rstrip() for line in text.splitlines())
    return "::\n\n" + "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--suite",
        default="ratios",
        choices=["entries", "small", "tuning", *sorted(SUITES)],
    )
    parser.add_argument("--only", default="", help="problems whose name contains this")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--print", action="store_true", help="measure nothing")
    parser.add_argument("--force", action="store_true", help="measure again")
    parser.add_argument("--cap", type=float, help="seconds after which peers stop")
    parser.add_argument("--budget", type=float, default=20.0, help="for repeats")
    parser.add_argument("--minutes", type=float, help="start no problem after these")
    options = parser.parse_args(arguments)
    if options.suite == "entries":
        halves = {
            half: [one for one in problems if options.only in one.name]
            for half, problems in speed.counted().items()
        }
        print(entries_table(halves))
        return
    if options.suite == "small":
        print(small_table(options.only))
        return
    if options.suite == "tuning":
        store = ResultStore(options.results / "tuning.json")
        if not options.print:
            only = [part.strip() for part in options.only.split(",")]
            work = chain(tuning_times.work(), tuning_limits.work())
            minutes = options.minutes or math.inf
            run_missing(store, work, only=only, again=options.force, minutes=minutes)
        print(tuning_table(store))
        return
    chosen = [one for one in SUITES[options.suite]() if options.only in one.name]
    store = ResultStore(options.results / f"{options.suite}.json")
    started = time.monotonic()
    if not options.print:
        for problem in chosen:
            if options.minutes and time.monotonic() - started > 60 * options.minutes:
                say(f"{options.minutes:g} minutes are over: run again to go on")
                break
            if problem.file is not None and not datasets.available(problem.file):
                say(f"{problem.name}: {problem.file} is not there")
                continue
            measure(
                store,
                problem,
                force=options.force,
                cap=options.cap,
                budget=options.budget,
            )
    print(report(store, options.suite, chosen))

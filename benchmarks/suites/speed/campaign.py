"""Run the speed campaign: measure what is missing, print the tables.

Used by ``benchmarks/run.py``. Runs are resumable: each record
is stored at once, and a run whose record this commit has made is not repeated.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path

from widemargin_papers.bench.comparison import measure
from widemargin_papers.bench.problems import problems as ratio_problems
from widemargin_papers.bench.tables import HEADER, ratio_rows, ratio_table
from widemargin_papers.harness import datasets
from widemargin_papers.harness.measuring import Problem, say
from widemargin_papers.harness.missing_runs import run_missing
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.harness.text_tables import folded, provenance, rst_table

from . import family, tuning_limits, tuning_times
from . import problems as speed
from .entries import entries_table
from .small import small_table
from .tables import (
    family_table,
    growth_table,
    parted,
    quantile_shares,
    sweep_summary,
)

#: measured beside peers and stored: name -> what lists its problems
SUITES: dict[str, Callable[[], Iterable[Problem]]] = {
    "ratios": lambda: ratio_problems().values(),
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
    """Return the tables of one suite as they stand on a page."""
    if suite == "growth":
        lines = growth_table(store, SUITES[suite]()).splitlines()
        blocks = []
    else:
        table, growing = parted(SUITES[suite]())
        ratios = _figures_table(HEADER, ratio_rows(store, table))
        blocks = [folded("The sixty problems", ratios) if suite == "sweep" else ratios]
        lines = sweep_summary(store, table) if suite == "sweep" else []
        lines += quantile_shares(store, table)
        lines += growth_table(store, growing).splitlines()
    if lines:
        blocks.insert(0, "\n".join(f"- {line}" for line in lines) + "\n")
    return "\n".join([*blocks, ".. rst-class:: provenance", "", provenance(store)])


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


def _figures_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of many columns in small print, without the empty columns."""
    full = [k for k in range(len(header)) if any(row[k] != "-" for row in rows)]
    kept = [[one[k] for k in full] for one in (header, *rows)]
    return ".. rst-class:: figures\n\n" + rst_table(kept[0], kept[1:])

"""Tables of the documentation, filled in from the stored results.

On a page a table stands between two comments::

    .. measured: NAME

    (the table)

    .. end of measured

``python tools/measured_tables.py`` writes what the stored results say between them; a
test holds the pages to it, so that no figure on a page is typed by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from widemargin_papers.command_benchmarks import early_pays, memory
from widemargin_papers.command_benchmarks import runs as command_runs
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.ramp import further_timing as ramp_more
from widemargin_papers.ramp import pair_timing as ramp_pairs_timing
from widemargin_papers.ramp import rank_rule as ramp_rank
from widemargin_papers.ramp import report as ramp_report
from widemargin_papers.speed import campaign as bench

_MARKED = re.compile(r"(\.\. measured: ([^\n]+)\n).*?(\.\. end of measured\n)", re.S)


def filled(page: str, results: Path) -> str:
    """Return the page with each table as the results in that folder say."""

    def block(found: re.Match[str]) -> str:
        stem, write = TABLES[found[2]]
        store = ResultStore(results / f"{stem}.json")
        table = write(store).strip("\n") if store.records else "Not measured yet."
        return f"{found[1]}\n{table}\n\n{found[3]}"

    return _MARKED.sub(block, page)


def names(page: str) -> list[str]:
    """Return the names of the tables on a page."""
    return [found[2] for found in _MARKED.finditer(page)]


#: name on the page -> file of results, and who writes the table
TABLES: dict[str, tuple[str, Callable[[ResultStore], str]]] = {
    **{
        f"speed {suite}": (suite, partial(bench.as_rst, suite))
        for suite in ("ratios", "one-thread", "tight", "growth", "sweep")
    },
    "ramp robustness": ("mislabelled", ramp_report.robustness_tables),
    "ramp untuned": ("mislabelled_untuned", ramp_report.robustness_tables),
    "ramp shares": ("ramp_shares", ramp_report.share_tables),
    "ramp times": ("ramp_times", ramp_report.timing_tables),
    "ramp targets": ("ramp_times", ramp_report.target_tables),
    "ramp rank": ("ramp_rank", ramp_rank.table),
    "ramp more": ("ramp_more", ramp_more.tables),
    "ramp pairs": ("ramp_pairs", ramp_pairs_timing.tables),
    "early pays": ("early_pays", early_pays.as_rst),
    "train memory": ("memory", memory.as_rst),
    "demo run": ("demo", command_runs.demo_table),
    "quick papers": ("quick", command_runs.quick_table),
}

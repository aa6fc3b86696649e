"""Tables of the documentation, filled in from the stored results.

On a page a table stands between two comments::

    .. measured: NAME

    (the table)

    .. end of measured

``python tools/measured_tables.py`` writes what the stored results say between them; a
test holds the pages to it, so that no figure on a page is typed by hand. The parts of
a paper's page are files of their own, which it includes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from widemargin_papers import PAPERS
from widemargin_papers.harness.results import ResultStore

from .campaign import Campaign, paper_campaign
from .command.campaigns import CAMPAIGNS as COMMAND
from .divide_conquer.campaigns import CAMPAIGNS as DIVIDE_CONQUER
from .dpwss_rule.campaigns import CAMPAIGNS as DPWSS_RULE
from .error_bars.campaigns import CAMPAIGNS as ERROR_BARS
from .helps.campaigns import CAMPAIGNS as HELPS
from .helps.cost_report import advice as cost_advice
from .helps.label_report import advice as label_advice
from .helps.label_targets import lead as label_lead
from .out_of_core.campaigns import CAMPAIGNS as OUT_OF_CORE
from .out_of_core.cost_model import early_table, exact_table
from .screening.campaigns import CAMPAIGNS as SCREENING
from .speed.campaign import SUITES, tuning_table
from .speed.campaign import as_rst as speed_table
from .streams.campaigns import CAMPAIGNS as STREAMS
from .streams.campaigns import UPDATES

Table = tuple[str, Callable[[ResultStore], str]]
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


def _tables(group: str, campaigns: Mapping[str, Campaign]) -> dict[str, Table]:
    return {f"{group} {name}": (c.store, c.table) for name, c in campaigns.items()}


#: what has files of its own: parts of pages, pictures
WITH_FILES = [*map(paper_campaign, PAPERS), *STREAMS.values()]

#: name on the page -> file of results, and what makes the table
TABLES: dict[str, Table] = {
    **{f"speed {suite}": (suite, partial(speed_table, suite)) for suite in SUITES},
    "speed tuning": ("tuning", tuning_table),
    **_tables("screening", SCREENING),
    **_tables("command", COMMAND),
    **_tables("divide_conquer", DIVIDE_CONQUER),
    **_tables("helps", HELPS),
    **_tables("out_of_core", OUT_OF_CORE),
    **_tables("DPWSS rule", DPWSS_RULE),
    **_tables("error bars", ERROR_BARS),
    "out_of_core exact, model": ("out_of_core_exact", exact_table),
    "out_of_core early, model": ("out_of_core_early", early_table),
    **_tables("stream", STREAMS),
    **_tables("updates", UPDATES),
    "helps labels, in short": ("helps_labels", label_advice),
    "helps targets, in short": ("helps_targets", label_lead),
    "helps costs, in short": ("helps_costs", cost_advice),
}

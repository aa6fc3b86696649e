"""The tables on the pages are what the stored results say, to the letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from suites.campaign import Campaign
from suites.command.early_pays import line, pays_from
from suites.pages import TABLES, WITH_FILES, filled, names
from widemargin.cli.hints import _EARLY_PAYS
from widemargin_papers.harness.results import ResultStore

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*"))
    if page.suffix in (".rst", ".inc") and names(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert filled(text, RESULTS) == text, "run python tools/measured_tables.py"


@pytest.mark.parametrize("campaign", WITH_FILES, ids=lambda own: own.store)
def test_parts_and_pictures(campaign: Campaign) -> None:
    store = campaign.stored(ROOT)
    for path, text in campaign.parts(store).items():
        written = (ROOT / path).read_bytes() == text.encode()
        assert written, f"{path}: run python tools/measured_tables.py"
    for path in campaign.pictures:
        shown = campaign.shows(store, ROOT / path)
        assert shown, f"{path}: run python tools/measured_tables.py"


def test_every_table_stands_on_a_page() -> None:
    found = [name for page in PAGES for name in names(page.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(TABLES)


def test_a_page_of_another_day_is_noticed() -> None:
    page = ".. measured: screening rank\n\n0.5\n\n.. end of measured\n"
    assert filled(page, RESULTS) != page
    assert filled(filled(page, RESULTS), RESULTS) == filled(page, RESULTS)


def test_where_early_prediction_is_ten_times_faster(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "early.json")
    # times faster grow like the square of the support vectors: ten at 1,000 of them
    for support in (250, 500, 2_000):
        store.records[str(support)] = {
            "exact support": support,
            "exact seconds": 10 * (support / 1_000) ** 2 * 0.3,
            "early seconds": 0.3,
        }
    assert line(store)[1:] == pytest.approx((2.0, 0.0))
    assert pays_from(store) == 1_000


def test_the_hint_speaks_from_the_measured_number_on() -> None:
    assert pays_from(ResultStore(RESULTS / "early_pays.json")) == _EARLY_PAYS

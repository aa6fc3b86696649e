"""The tables on the pages are what the stored results say, to the letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from widemargin.reproduction.early_pays import threshold
from widemargin.reproduction.pages import TABLES, filled, names
from widemargin.reproduction.results import ResultStore

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


def test_every_table_stands_on_a_page() -> None:
    found = [name for page in PAGES for name in names(page.read_text(encoding="utf-8"))]
    assert sorted(found) == sorted(TABLES)


def test_a_page_of_another_day_is_noticed() -> None:
    page = ".. measured: ramp times\n\n0.5\n\n.. end of measured\n"
    assert filled(page, RESULTS) != page
    assert filled(filled(page, RESULTS), RESULTS) == filled(page, RESULTS)


def test_where_early_prediction_is_ten_times_faster(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "early.json")
    for rows in (1_000, 4_000):  # n to the power 1.5 against n: ten at 100,000
        exact, early = (rows / 1_000) ** 1.5, rows / 1_000
        store.records[str(rows)] = {
            "data": "made",
            "rows": rows,
            "exact seconds": exact,
            "early seconds": early,
        }
    assert threshold(store)["made"] == pytest.approx(100_000)

"""Draw and say how fast we are, for the README: python tools/readme_chart.py."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from suites.speed.campaign import SUITES
from suites.speed.chart import chart, chart_rows, measured_with, span
from widemargin_papers.harness.figures import save
from widemargin_papers.harness.results import ResultStore

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "_static" / "how_fast.svg"


def main() -> None:
    """Draw the stored ratios; nothing is measured here."""
    store = ResultStore(ROOT / "benchmarks" / "results" / "ratios.json")
    rows = chart_rows(store, SUITES["ratios"]())
    note = measured_with(rows, ROOT)
    save(chart(rows, note), TARGET)
    print(note)
    for page in (ROOT / "README.md", ROOT / "docs" / "index.rst"):
        text = page.read_text(encoding="utf-8")
        told = re.sub(r"\d+ to \d+ times faster", span(rows), text)
        page.write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()

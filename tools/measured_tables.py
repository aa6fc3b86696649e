"""Put the stored results into the pages: python tools/measured_tables.py."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from suites.pages import filled
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.ramp.report import draw

ROOT = Path(__file__).resolve().parent.parent
SHARES = ROOT / "benchmarks" / "results" / "ramp_shares.json"
FIGURES = ROOT / "docs" / "systems" / "figures"


def main() -> None:
    """Rewrite the tables of every page that has some, and the ramp page's picture."""
    draw(ResultStore(SHARES), FIGURES / "ramp_figure3.png")
    for page in sorted((ROOT / "docs").rglob("*.rst")) + sorted(
        (ROOT / "docs").rglob("*.inc")
    ):
        text = page.read_text(encoding="utf-8")
        new = filled(text, ROOT / "benchmarks" / "results")
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()

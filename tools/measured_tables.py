"""Put the stored results into the pages: python tools/measured_tables.py."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from suites.pages import WITH_FILES, filled

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Rewrite the tables of every page that has some, the papers' parts, pictures."""
    for campaign in WITH_FILES:
        campaign.write(ROOT)
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

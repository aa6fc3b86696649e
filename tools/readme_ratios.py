"""Put the stored ratio table into the README: python tools/readme_ratios.py."""

from __future__ import annotations

import re
from pathlib import Path

from widemargin_papers.harness.results import ResultStore
from widemargin_papers.speed.campaign import SUITES, report

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Write what ``benchmarks/run.py --print`` prints between the two marks."""
    store = ResultStore(ROOT / "benchmarks" / "results" / "ratios.json")
    table = report(store, "ratios", SUITES["ratios"]())
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    marked = r"(<!-- ratios:[^\n]*-->\n).*?(<!-- end of ratios -->)"
    block = f"\n```\n{table}\n```\n\n"
    text = re.sub(
        marked, lambda found: found[1] + block + found[2], text, flags=re.DOTALL
    )
    readme.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""What the README says runs, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import widemargin
from widemargin_papers.harness.results import ResultStore
from widemargin_papers.speed.campaign import SUITES, report

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_two_commands_stand_on_top():
    top = README.split("##")[0]
    assert "make demo" in top and "make test" in top
    assert top.index("make demo") < 60


def test_the_ten_lines_run(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(block.strip().splitlines()) <= 11
    exec(compile(block, "README.md", "exec"), {})
    score, gap, violation = map(float, capsys.readouterr().out.split())
    assert score > 0.98 and gap >= 0.0 and violation <= 1e-3


def test_every_estimator_is_in_the_table():
    for name in widemargin.__all__:
        thing = getattr(widemargin, name)
        if name.endswith(("SVC", "Classifier")) and hasattr(thing, "fit"):
            assert f"| `{name}` |" in README


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


def test_the_ratios_are_the_stored_ones():
    store = ResultStore(ROOT / "benchmarks" / "results" / "ratios.json")
    table = report(store, "ratios", SUITES["ratios"]())
    assert f"```\n{table}\n```" in README, "run python tools/readme_ratios.py"

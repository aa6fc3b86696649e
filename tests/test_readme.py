"""What the README says runs, and its links lead somewhere."""

from __future__ import annotations

import html
import re
import tomllib
from pathlib import Path

import click
import pytest

import widemargin
from suites.speed.campaign import SUITES
from suites.speed.chart import chart_rows, span, with_unit
from widemargin.cli.__main__ import widemargin as widemargin_command
from widemargin.cli.doctor_command import PACKAGES
from widemargin_papers.bench.tables import verdict
from widemargin_papers.harness.results import ResultStore

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_order_is_that_of_a_newcomers_questions():
    first = README.index("**Support vector machines")
    assert first < README.index("make demo") < README.index("![") < 1000
    assert re.findall(r"^## (.*)$", README, re.MULTILINE) == [
        "Install",
        "Ten lines",
        "Which one",
        "How fast",
        "What no other package has",
        "Limits",
        "Develop",
    ]


def test_the_ten_lines_run(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in block.splitlines() if line]) <= 10
    exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out.strip().splitlines()
    (told,) = re.findall(r"```text\n(.*?)\n```", README, re.DOTALL)
    for chosen, gap in (printed, told.splitlines()):
        score, C, gamma = map(float, re.findall(r"\d+\.\d+", chosen))
        assert (score, C, gamma) == pytest.approx((0.979021, 4.262159, 0.0111207), 1e-5)
        assert 0.0 <= float(gap) < 1e-7


def test_every_estimator_is_in_the_table():
    """On one line, with a link to its page."""
    rows = re.findall(r"^\| \[(.*?)\]\(docs/.*?\) \| (.*) \|$", README, re.MULTILINE)
    cells = [cell for cell, _ in rows]
    told = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    estimators = [
        name
        for name in widemargin.__all__
        if hasattr(getattr(widemargin, name), "predict") and "Search" not in name
    ]
    assert sorted(told) == sorted(estimators)
    assert max(len(when) for _, when in rows) < 100


def test_every_command_of_a_shell_block_exists():
    """``make newcomer`` runs them all; here: known targets, commands and packages."""
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", made, re.MULTILINE)[1].split()
    context = click.Context(widemargin_command)
    known = {"make": targets, "widemargin": widemargin_command.list_commands(context)}
    known |= {"pip": ["install"], "python": ["-c"]}
    found = [
        re.split(r"\s+", line)[:2]
        for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
        for line in block.splitlines()
    ]
    assert len(found) >= 8
    for program, word in found:
        assert word in known[program]
    assert not re.search(r"^```\n\w", README, re.MULTILINE), "say what a block is"


def test_what_is_downloaded_is_named_there_and_by_the_doctor():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [re.split(r"[>=[]", one)[0] for one in project["project"]["dependencies"]]
    assert sorted(needed) == sorted(PACKAGES)
    told = README[README.index("downloads") : README.index("with `all`")].lower()
    assert all(name in told for name in needed)


def test_links_lead_somewhere():
    links = [one for one in re.findall(r"\]\(([^)]+)\)", README) if "://" not in one]
    assert any("#" in link for link in links)
    for link in links:
        path, _, heading = link.partition("#")
        target = ROOT / (path or "README.md")
        assert target.exists(), link
        if heading:  # GitHub's name of it: in lower case, with hyphens
            text = target.read_text(encoding="utf-8")
            marked = [line.lstrip("# ").lower() for line in text.splitlines()]
            assert heading in [line.replace(" ", "-") for line in marked], link


def test_every_page_has_a_link():
    pages = [*(ROOT / "docs").glob("*.rst"), *(ROOT / "docs" / "systems").glob("*.rst")]
    for page in pages:
        if page.stem != "index":
            assert f"]({page.relative_to(ROOT)})" in README, page


def test_the_chart_shows_the_stored_ratios():
    store = ResultStore(ROOT / "benchmarks" / "results" / "ratios.json")
    rows = chart_rows(store, SUITES["ratios"]())
    drawn = (ROOT / "docs" / "_static" / "how_fast.svg").read_text(encoding="utf-8")
    texts = [html.unescape(text) for text in re.findall(r">([^<>]+)</text>", drawn)]
    assert len(rows) == 5
    index = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8")
    for page in (README, index):
        assert re.findall(r"\d+ to \d+ times faster", page) == [span(rows)]
    for row in rows:
        assert row.problem in texts, "run python tools/readme_chart.py"
        assert f"ours {with_unit(row.ours)}" in texts
        for record in row.peers.values():
            assert verdict(row.ours, record, None) in " ".join(texts)
            assert f"({with_unit(record)})" in " ".join(texts)
        assert row.ours["commit"] in " ".join(texts)

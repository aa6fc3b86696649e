"""The table of kernel entries: what is counted, and both halves."""

from functools import partial

from suites.speed import campaign as bench
from suites.speed.entries import PURPOSES, count
from widemargin_papers.harness import datasets
from widemargin_papers.harness.contestants import Settings
from widemargin_papers.harness.measuring import Problem


def toy(n):
    load = partial(datasets.generated, n, 5)
    return Problem(f"toy {n}", load, Settings(C=1.0, gamma=0.2), {})


def test_a_count_adds_up():
    found = count(toy(800))
    assert found.entries["certificate"] > 0
    assert set(PURPOSES) <= set(found.entries)
    assert 0 < found.certificate < found.seconds
    assert sum(found.activities.values()) <= found.seconds
    assert 0 < found.limit < found.seconds


def test_the_suite_prints_both_halves(capsys, monkeypatch):
    halves = {"chosen on": [toy(600)], "checked on": [toy(700)]}
    monkeypatch.setattr(bench.speed, "counted", lambda: halves)
    bench.main(["--suite", "entries"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[2:]] == [
        "chosen on", "toy 600", "checked on", "toy 700",
    ]  # fmt: skip

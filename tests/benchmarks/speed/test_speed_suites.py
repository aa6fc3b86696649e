"""The suites of speed: what they list, and what they print without measuring."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from suites.speed import campaign as bench
from suites.speed import family, problems
from suites.speed.tables import family_table, growth_table
from widemargin_papers.harness.measuring import Problem
from widemargin_papers.harness.results import ResultStore

ROOT = Path(__file__).resolve().parents[3]


def data():
    return np.zeros((2, 1)), np.zeros(2)


def test_times_grow_by_the_exponent_that_is_printed():
    store = ResultStore(Path("nowhere.json"))
    listed = []
    for size in (1000, 2000, 4000):
        name = f"toy n={size}"
        listed.append(Problem(name, data))
        store.records[f"{name} | widemargin"] = {
            "n": size,
            "seconds": size**2 * 1e-8,
            "capped": False,
        }
    assert "n^2.00" in growth_table(store, listed)


def test_the_suites_are_those_asked_for():
    sweep = problems.sweep()
    assert len(sweep) == 80
    shapes = [
        tuple(map(int, p.name.split(": ")[1].split(",")[0].split("x"))) for p in sweep
    ]
    assert all(100 <= n <= 20_000 and 2 <= d <= 500 for n, d in shapes[:60])
    assert all(500 <= d <= 2_000 for _, d in shapes[60::2])
    assert sum("classes" in p.name for p in sweep) == 10
    assert len(problems.growing()) == 10
    assert all(p.settings.threads == 1 for p in problems.one_thread())
    assert all(p.settings.tol == 1e-6 for p in problems.tighter())


def test_the_script_prints_without_measuring(tmp_path, monkeypatch, capsys):
    script = ROOT / "benchmarks" / "run.py"
    line = [str(script), "--print", "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", line)
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert "problem" in printed and "no results yet" in printed


def test_a_suite_is_listed_only_when_it_is_asked_for(tmp_path, monkeypatch):
    """The sweep generates sixty data sets to name its problems."""

    def fail():
        raise AssertionError("listed")

    monkeypatch.setitem(bench.SUITES, "sweep", fail)
    bench.main(["--print", "--results", str(tmp_path)])
    assert "toy" not in bench.as_rst("ratios", ResultStore(tmp_path / "none.json"))
    with pytest.raises(AssertionError, match="listed"):
        bench.main(["--print", "--suite", "sweep", "--results", str(tmp_path)])


def test_the_family_prints_without_data(tmp_path, monkeypatch):
    monkeypatch.setenv("WIDEMARGIN_DATA", str(tmp_path))
    listed = family.problems()
    assert {one.settings.estimator for one in listed} >= {"SVR", "OneClassSVM"}
    store = ResultStore(tmp_path / "family.json")
    common = {"capped": False, "peak_mb": 1.0, "n": 1, "processor_seconds": 1.0}
    for name, seconds in (("SVR ", 2.0), ("QuantileSVR one, ", 1.0)):
        store.records[f"{name}bike | widemargin"] = common | {"seconds": seconds}
    nine = "QuantileSVR nine, bike"
    store.records[f"{nine} | widemargin"] = common | {"seconds": 3.0}
    asked = [*listed, Problem(nine, data, peers=())]
    text = family_table(store, asked)
    assert "nine quantiles take 3 times one" in text
    assert "one quantile takes 0.5 times SVR" in text

"""``widemargin reproduce``: resumable, missing files named, results kept."""

from __future__ import annotations

import csv
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from widemargin_papers import PAPERS
from widemargin_papers.commands import data, reproduce
from widemargin_papers.harness import reproduction as papers
from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.missing_runs import paper_modules


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A small paper in place of a real one; the list says what has run."""
    ran: list[str] = []

    def row(name: str, ours: float) -> Any:
        def run() -> Iterable[Cell]:
            ran.append(name)
            return [Cell("Table 1", name, "objective", ours, 1.0, 0.05)]

        return run

    paper: Any = types.ModuleType("paper")
    paper.TITLE = "A paper"
    paper.tasks = lambda quick: [
        Task("good", row("good", 1.01), ("heart",)),
        Task("off", row("off", 2.0)),
        Task("absent", row("absent", 1.0), ("gisette_scale",), 4),
    ][: None if not quick else 1]
    paper.figures = lambda cells: {"figure": Figure()}
    monkeypatch.setattr(papers, "paper_modules", lambda name: (paper, paper))
    monkeypatch.setattr(
        papers.ResultStore, "has", lambda self, key, any_commit: key in self.records
    )
    (tmp_path / "heart").write_text("1 1:1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WIDEMARGIN_DATA", "nowhere")
    return ran


def test_a_paper_with_a_missing_file(runs: list[str], tmp_path: Path) -> None:
    arguments = ["dcsvm", "--data-dir", str(tmp_path), "--output", "out"]
    result = CliRunner().invoke(reproduce, arguments)
    assert result.exit_code == 1, result.output  # part of the work only
    assert runs == ["good", "off"]
    assert "not available" not in result.output
    missing = result.stderr.partition("missing data files (not in ")[2].splitlines()
    assert missing[1:] == [
        "  gisette_scale (6,000 x 5000): https://www.csie.ntu.edu.tw/~cjlin/"
        "libsvmtools/datasets/binary.html [4 cells]"
    ]
    assert "1 cells reproduced of 2 attempted, 4 unavailable" in result.stdout
    out = tmp_path / "out"
    assert {p.name for p in out.iterdir()} >= {"cells.csv", "figure.png", "index.html"}
    with (out / "cells.csv").open() as file:
        assert [r["row"] for r in csv.DictReader(file)] == ["good", "off"]
    page = (out / "index.html").read_text()
    assert "A paper" in page
    assert page.index("Table 1") < page.index("gisette_scale")  # results first


def test_a_second_run_goes_on_where_the_first_was(
    runs: list[str], tmp_path: Path
) -> None:
    arguments = ["dcsvm", "--data-dir", str(tmp_path), "--output", "out"]
    CliRunner().invoke(reproduce, arguments)
    result = CliRunner().invoke(reproduce, [*arguments, "--summary"])
    assert runs == ["good", "off"]
    assert result.stdout.startswith("1 cells reproduced of 2 attempted")


def test_without_matplotlib_there_are_tables_and_no_pictures(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(papers, "find_spec", lambda name: None)
    arguments = ["dcsvm", "--data-dir", str(tmp_path), "--output", "out", "--quick"]
    result = CliRunner().invoke(reproduce, arguments)
    assert result.exit_code == 0, result.output
    assert "matplotlib, pip install 'widemargin[plot]'" in result.stderr
    assert "1 cells reproduced of 1 attempted" in result.stdout
    assert not list((tmp_path / "out").glob("*.png"))


def test_quick_is_kept_apart(runs: list[str], tmp_path: Path) -> None:
    arguments = ["dcsvm", "--data-dir", str(tmp_path), "--output", "out", "--quick"]
    result = CliRunner().invoke(reproduce, arguments)
    assert result.exit_code == 0, result.output
    assert runs == ["good"]
    assert (tmp_path / "out" / "quick.json").is_file()


def test_data_lists_what_is_found_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "heart_scale.gz").write_bytes(b"x" * 150_000)
    result = CliRunner().invoke(data, ["--data-dir", str(tmp_path)])
    found, missing = result.stdout.split("missing: 61 files, published at\n")
    assert result.exit_code == 0
    assert f"found in {tmp_path}: 1 files" in found
    assert " ".join(found.split()).endswith("270 x 13 0.1 MB heart_scale.gz")
    assert "  ijcnn1 (49,990 x 22): https://" in missing
    assert "heart_scale" not in missing
    monkeypatch.delenv("WIDEMARGIN_DATA", raising=False)
    result = CliRunner().invoke(data, [])
    assert result.exit_code == 0
    assert result.stdout.startswith("WIDEMARGIN_DATA is not set")
    assert "missing: 62 files" in result.stdout


def test_unknown_paper() -> None:
    result = CliRunner().invoke(reproduce, ["poetry"])
    assert result.exit_code == 2
    assert "'poetry' is not one of" in result.output


@pytest.mark.parametrize("name", PAPERS)
def test_every_paper_lists_its_tasks(name: str) -> None:
    module, _ = paper_modules(name)
    assert module.TITLE
    for quick in (True, False):
        tasks = module.tasks(quick)
        assert tasks
        assert len({task.name for task in tasks}) == len(tasks)
        assert all(isinstance(task, Task) for task in tasks)

"""Campaigns go on where they stopped, and write the pages of their papers."""

from __future__ import annotations

import sys
import types

import pytest
from matplotlib.figure import Figure

from suites import campaign
from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.results import ResultStore


@pytest.fixture
def ran(tmp_path, monkeypatch):
    """A paper of four tasks, one without its data; the list says what has run."""
    done, store = [], tmp_path / "benchmarks" / "results" / "own.json"

    def task(name, *needs):
        def run():
            done.append(name)
            ResultStore(store).add(f"beside {name}", {"cells": []})
            return [Cell("Table 1", name, "accuracy %", float(len(done)))]

        return Task(name, run, needs)

    listed = [task("first"), task("second"), task("far", "no-such-file"), task("third")]
    modules = types.SimpleNamespace(
        tasks=lambda quick: listed,
        STORE="own",
        PICTURES={"pictures/one.png": "figure1", "pictures/two.svg": "figure2"},
        parts=lambda store, cells: {
            "page.inc": f"{[cell.row for cell in cells]}\r\n",
            "cells.csv": "many cells",
        },
        figures=lambda cells: {"figure1": Figure()},
    )
    for part in ("tasks", "report"):
        monkeypatch.setitem(sys.modules, f"widemargin_papers.chance.{part}", modules)
    return done


def run(root, *arguments):
    own = {"chance": campaign.paper_campaign("chance")}
    campaign.main(own, "", ["--root", str(root), *arguments])
    return own["chance"].stored(root)


def test_what_is_missing_is_measured_by_name_and_once(ran, tmp_path, capsys):
    run(tmp_path, "--only", "third", "first")
    assert ran == ["first", "third"]
    run(tmp_path, "--minutes", "0")
    assert ran == ["first", "third"]
    assert "time is up" in capsys.readouterr().err
    store = run(tmp_path)
    assert ran == ["first", "third", "second"]  # what has no data is left out
    # records that another campaign added meanwhile are kept
    assert {"beside first", "beside second", "beside third"} <= set(store.records)


def test_results_of_another_commit_are_measured_again_only_if_asked(ran, tmp_path):
    store = run(tmp_path, "--only", "first")
    store.records["first"]["commit"] = "another"
    store.save()
    run(tmp_path, "--only", "first")
    assert ran == ["first"]
    run(tmp_path, "--only", "first", "--again")
    assert ran == ["first", "first"]


def test_a_page_is_written_with_the_pictures_there_are(ran, tmp_path, capsys):
    store = run(tmp_path, "--only", "first")
    printed = capsys.readouterr().out
    assert "['first']" in printed and "many cells" not in printed
    assert not (tmp_path / "page.inc").exists()
    own = campaign.paper_campaign("chance")
    own.write(tmp_path)
    assert (tmp_path / "page.inc").read_bytes() == b"['first']\r\n"
    assert (tmp_path / "cells.csv").read_text() == "many cells"
    (picture,) = (tmp_path / "pictures").iterdir()
    assert picture.name == "one.png" and own.shows(store, picture)
    assert ran == ["first"]


def test_a_picture_of_other_results_is_drawn_again(ran, tmp_path):
    picture = tmp_path / "pictures" / "one.png"
    run(tmp_path, "--only", "first")
    own = campaign.paper_campaign("chance")
    own.write(tmp_path)
    picture.write_bytes(picture.read_bytes() + b"kept")
    store = own.stored(tmp_path)
    store.records["first"]["commit"] = "another"
    store.save()
    own.write(tmp_path)
    assert picture.read_bytes().endswith(b"kept")
    store = run(tmp_path, "--only", "second")
    assert not own.shows(store, picture)
    own.write(tmp_path)
    assert own.shows(store, picture)
    assert not picture.read_bytes().endswith(b"kept")


def test_a_campaign_prints_its_table_and_all_are_printed_by_default(tmp_path, capsys):
    def table(store):
        return f"{store.path.stem}: {sorted(store.records)}"

    campaigns = {
        name: campaign.Campaign(name, lambda: [("one", dict), ("two", dict)], table)
        for name in ("fast", "slow")
    }

    def main(*arguments):
        campaign.main(campaigns, "", ["--root", str(tmp_path), *arguments])
        return capsys.readouterr().out

    assert main() == ""
    assert main("slow", "--only", "two") == "slow: ['two']\n"
    assert main("fast") == "fast: ['one', 'two']\n"
    assert main() == "fast: ['one', 'two']\nslow: ['two']\n"


def test_the_only_campaign_needs_no_name_and_draws_its_pictures(tmp_path, capsys):
    own = campaign.Campaign(
        "one",
        lambda: [("a", lambda: {"x": 1})],
        lambda store: str(sorted(store.records)),
        pictures={"docs/one.svg": "drawn"},
        figures=lambda store: {"drawn": Figure()},
    )
    campaign.main({"one": own}, "one", ["--root", str(tmp_path)])
    assert capsys.readouterr().out == "['a']\n"
    assert not (tmp_path / "docs").exists()
    own.write(tmp_path)
    assert own.shows(own.stored(tmp_path), tmp_path / "docs" / "one.svg")

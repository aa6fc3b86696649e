"""The harness end to end on small problems: children, caps, store, tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from numpy.testing import assert_allclose

from widemargin_papers.bench import comparison
from widemargin_papers.bench.problems import problems as named_problems
from widemargin_papers.bench.tables import excess, ratio_table, verdict
from widemargin_papers.harness import datasets
from widemargin_papers.harness.contestants import CONTESTANTS, Settings
from widemargin_papers.harness.measuring import (
    ContestantFailedError,
    Problem,
    cap_for,
    run,
)
from widemargin_papers.harness.results import ResultStore, commit, machine
from widemargin_papers.harness.text_tables import provenance


def toy(**changes):
    problem = Problem(
        "toy 300x4",
        lambda: datasets.generated(300, 4, seed=1),
        Settings(C=2.0, gamma=0.2, threads=1, cache_size=50.0),
        {"scikit-learn": 1e-6},
        repeats=2,
        peers=("scikit-learn",),
    )
    return replace(problem, **changes)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """The toy measured by commit abc, in no way that this process could have done."""
    store = ResultStore(tmp_path_factory.mktemp("campaign") / "ratios.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("widemargin_papers.harness.results.commit", lambda: "abc")
        patch.setattr("widemargin_papers.harness.worker.measure", None)
        comparison.measure(store, toy())
    return store


def test_a_contestant_is_measured_in_its_own_process_and_judged(campaign):
    ours, theirs = (
        campaign.records[f"toy 300x4 | {name}"]
        for name in ("widemargin", "scikit-learn")
    )
    for record in (ours, theirs):
        assert record["seconds"] > 0 and record["processor_seconds"] > 0
        assert record["peak_mb"] >= record["resident_mb"] > 20
        assert record["repeats"] > 2 and not record["capped"]
        assert record["n"] == 300 and record["d"] == 4
        assert -1e-9 <= record["gap"] <= 1e-3 * 300 * 2.0  # rounding of the judge
    assert_allclose(ours["bound"], theirs["bound"], rtol=1e-5)


@pytest.mark.parametrize("action", ["predict", "predict_row"])
def test_predictions_are_measured_apart_from_the_fit(action, contestants_here):
    problem = toy(action=action, load_test=lambda: datasets.generated(500, 4)[0])
    record = run(problem, "widemargin", problem.settings)
    assert record["fit_seconds"] > 0 and record["seconds"] > 0


def test_a_capped_peer_is_stopped_and_marked(monkeypatch):
    slow = toy(load=lambda: datasets.generated(20_000, 30, noise=0.9))
    monkeypatch.setattr("widemargin_papers.harness.measuring.START_SECONDS", 0.5)
    record = run(slow, "scikit-learn", replace(slow.settings, C=1e3), cap=0.5)
    assert record["capped"] and 0.0 < record["seconds"] <= 0.5
    assert record["peak_mb"] > 0.0
    assert verdict({"seconds": record["seconds"] / 5}, record, 3.0) == ">5x"


def test_a_failing_contestant_says_its_last_words():
    with pytest.raises(ContestantFailedError, match="gamma"):
        run(toy(), "scikit-learn", replace(toy().settings, gamma=-1.0))


def test_caps_are_never_below_the_claim():
    problem = toy(target={"scikit-learn": 30.0})
    assert cap_for(problem, "scikit-learn", 10.0) >= 300.0
    assert cap_for(problem, "scikit-learn", 1e-3) >= 20.0


def test_a_campaign_resumes_and_prints(campaign, monkeypatch):
    monkeypatch.setattr("widemargin_papers.harness.results.commit", lambda: "abc")
    assert set(campaign.records) == {
        "toy 300x4 | widemargin",
        "toy 300x4 | scikit-learn",
    }
    again = ResultStore(campaign.path)
    assert again.records == campaign.records

    def fail(*_, **__):
        raise AssertionError("measured again")

    monkeypatch.setattr(comparison, "run", fail)
    comparison.measure(again, toy())
    with pytest.raises(AssertionError, match="measured again"):
        comparison.measure(again, toy(), force=True)
    table = ratio_table(again, [toy()])
    assert "toy 300x4" in table and "x" in table.splitlines()[2]
    assert "commit" in provenance(again)
    for cores, words in ((1, ", 1 core;"), (2, ", 2 cores;")):
        for record in again.records.values():
            record["machine"]["cores"] = cores
        assert words in provenance(again)
    (stored,) = {record["commit"] for record in again.records.values()}
    assert stored == "abc" and commit()


def test_tables_mark_what_was_missed():
    ours = {"seconds": 1.0, "capped": False, "objective": 10.0, "bound": 9.0}
    theirs = {"seconds": 5.0, "capped": False, "objective": 10.1, "bound": 8.9}
    assert verdict(ours, theirs, 4.0) == "5x"
    assert verdict(ours, theirs, 7.0) == "5x !7"
    assert verdict(ours, None, 7.0) == "-"
    assert excess(ours, theirs).startswith("-")


def test_machine_is_described():
    described = machine()
    assert described["cores"] >= 1 and described["processor"]


def test_the_problems_are_those_asked_for():
    asked = {
        "letter": (20, 10), "cod-rna 20000x8 in": (25, 14), "ijcnn1": (40, 20),
        "covtype 5": (60, 18), "images 1": (18, 1.4), "images, ten": (12, 4.5),
        "magic04": (15, 5), "phoneme": (15, 5), "protein": (15, 5), "w5a": (15, 5),
    }  # fmt: skip
    problems = named_problems()
    for start, (first, second) in asked.items():
        (found,) = [p for name, p in problems.items() if name.startswith(start)]
        assert found.target == {"scikit-learn": first, "intelex": second}


def test_every_contestant_takes_the_settings():
    for contestant in CONTESTANTS.values():
        if contestant.present:
            model = contestant.build(Settings(C=3.0, kernel="linear", tol=1e-2))
            assert model.C == 3.0 and model.tol == 1e-2

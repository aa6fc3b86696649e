"""The suite's halves, splits, noises and tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from suites.helps import candidates, label_report, label_targets, labels, suite
from suites.helps.label_methods import (
    CUTS,
    METHODS,
    SETTINGS,
    Trial,
    by_ramp,
    by_svc,
    margin_doubts,
)
from suites.helps.labels import FIGURES, packed, unpacked
from suites.helps.noise import NOISES, given_labels
from suites.helps.suite import HALVES, SUITE, DataSet, measurements, split
from widemargin import SVC, RampSVC
from widemargin_papers.harness.results import ResultStore

WINE = next(data for data in SUITE if data.name == "wine")
BREAST = next(data for data in SUITE if data.name == "breast_cancer")


def test_both_halves_have_sets_of_both_kinds() -> None:
    assert len({data.name for data in SUITE}) == len(SUITE)
    for half in HALVES:
        kinds = [data.multiclass for data in SUITE if data.half == half]
        assert kinds.count(False) >= 10
        assert kinds.count(True) >= 3


def test_the_halves_follow_from_the_names_alone() -> None:
    """In alphabetical order, in turn, two-class and multiclass sets apart."""
    for several in (False, True):
        own = {data.name: data.half for data in SUITE if data.multiclass == several}
        for place, name in enumerate(sorted(own)):
            assert own[name] == ("choose", "check")[place % 2]
    assert {
        "phoneme", "banknote", "mammography", "haberman", "vote", "hypothyroid",
        "segment7", "wheat-seeds", "mnist.t",
    } <= {data.name for data in SUITE}  # fmt: skip


def test_no_set_has_more_rows_or_values_than_the_page_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    for rows, features, training in ((4000, 2, 1000), (3500, 400, 750), (900, 3, 540)):
        X = rng.normal(size=(rows, features))
        y = (rng.uniform(size=rows) < 0.3).astype(int)
        monkeypatch.setattr(suite, "_load", lambda _, both=(X, y): both)
        part = split(WINE, 0)
        assert len(part.y) == training
        assert len(part.y) + len(part.y_test) == min(rows, 3000)
        assert abs(part.y.mean() - y.mean()) < 0.01  # drawn by class


def test_a_record_says_of_which_set_half_and_split_it_is() -> None:
    work = measurements(lambda data, number: {"rows": 3}, 2, multiclass=True)
    found = {name: measure() for name, measure in work}
    (iris,) = (data for data in SUITE if data.name == "iris")
    own = {"set": "iris", "half": iris.half, "rows": 3}
    for number in range(2):
        assert found[f"{iris.half}: iris, split {number}"] == own | {"split": number}
    assert {record["set"] for record in found.values()} >= {"digits", "iris", "wine"}
    assert not any(record["set"] == "breast_cancer" for record in found.values())


def test_a_split_is_the_same_each_time_and_another_is_another() -> None:
    one, same, other = split(WINE, 0), split(WINE, 0), split(WINE, 1)
    assert_array_equal(one.X, same.X)
    assert not np.array_equal(one.X, other.X)
    assert len(one.y) == round(0.6 * 178)
    assert set(one.y) == set(one.y_test) == {0, 1, 2}
    np.testing.assert_allclose(one.X.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("data", [WINE, BREAST], ids=lambda data: data.name)
@pytest.mark.parametrize("kind", NOISES)
def test_noise_changes_as_many_labels_as_it_says(data: DataSet, kind: str) -> None:
    part = split(data, 0)
    given = given_labels(kind, part.X, part.y, 0)
    wrong = given != part.y
    shares = {"clean": 0.0, "uniform 10 %": 0.1, "uniform 30 %": 0.3}
    expected = shares.get(kind, 0.2)
    if kind == "one-sided":
        assert len(set(part.y[wrong])) == len(set(given[wrong])) == 1
        expected = 0.3 * np.mean(part.y == part.y[wrong][0])
    assert abs(int(wrong.sum()) - expected * len(given)) <= 1
    assert set(given) == set(part.y)
    assert_array_equal(given, given_labels(kind, part.X, part.y, 0))


@pytest.mark.parametrize("data", [WINE, BREAST], ids=lambda data: data.name)
def test_doubts_are_largest_for_rows_on_the_wrong_side(data: DataSet) -> None:
    part = split(data, 0)
    model = SVC(decision_function_shape="ovo").fit(part.X, part.y)
    doubts = margin_doubts(model, part.X, part.y)
    right = model.predict(part.X) == part.y
    if data is BREAST:
        assert_array_equal(doubts < 0.0, right)
    assert doubts[right].mean() < -0.5
    wrong = (part.y + 1) % (part.y.max() + 1)
    assert margin_doubts(model, part.X, wrong).mean() > 0.5


def made_up(lift: float) -> dict[str, dict[str, float]]:
    """Figures in which every method but SVC is better by `lift`."""
    plain = {"accuracy": 0.8, "seconds": 1.0, "listed": 10.0, "found": 5.0}
    return {
        name: plain
        | {"balanced": 0.8 + lift * (name != "SVC")}
        | ({"accuracy": 0.85} if name == "SVC" else {})
        for name in label_report.NAMES
    }


def test_the_tables_say_what_the_records_say() -> None:
    store = ResultStore(Path("nowhere"))
    for place, half in enumerate(HALVES * 2):
        lift = 0.02 if half == "check" else -0.03
        lines = {name: packed(found) for name, found in made_up(lift).items()}
        settings = dict.fromkeys(SETTINGS, lines)
        noise = {"wrong": 20, "settings": settings}
        store.records[str(place)] = {
            "set": half,
            "half": half,
            "split": place // 2,
            "noise": dict.fromkeys(NOISES, noise),
        }
    text, asked = label_report.table(store), label_targets.table(store)
    assert "2 data sets (1 to choose, 1 to check), 2 splits each" in text
    assert "check   clean              80.0  +2.0 / +2.0 (1-0-0)" in text
    assert "choose  in clusters        80.0  -3.0 / -3.0 (0-0-1)" in text
    assert "0.50 / 0.25" in text
    assert "2 data sets (1 to choose, 1 to check), 2 splits each" in asked
    assert "-3.00 [-3.00, -3.00] (missed)" in asked
    assert "+2.00 [+2.00, +2.00] (met)" in asked
    lead = label_targets.lead(store)
    assert "-3.0 (choose) and +2.0 (check) points on clean labels" in lead
    assert "choose  uniform 30 %  -3.0 / -3.0 (0-0-1)" in asked
    assert "check   uniform 10 %       85.0  80.0" in text
    store.records["4"] = store.records["0"]  # a split that is not whole is told
    assert "2 to 3 splits each" in label_targets.table(store)
    short = label_report.advice(store)
    assert "uniform 30 %       +2.0     +2.0" in short
    assert "-3.0" not in short


def test_targets_have_the_cells_of_the_large_comparison() -> None:
    found = label_targets.measured(WINE, 0)["noise"]
    assert tuple(found) == label_targets.KINDS
    assert {target.kind for target in label_targets.TARGETS} == set(found)
    alone = {"RampSVC": METHODS["RampSVC"]}
    again = labels.measured(WINE, 0, ["uniform 30 %"], alone)["noise"]
    for setting, lines in again["uniform 30 %"]["settings"].items():
        own = found["uniform 30 %"]["settings"][setting]
        assert tuple(own) == ("SVC", "RampSVC")
        one, same = unpacked(own["RampSVC"]), unpacked(lines["RampSVC"])
        assert one | {"seconds": 0.0} == same | {"seconds": 0.0}


def test_figures_are_kept_in_one_line() -> None:
    found = dict(zip(FIGURES, (0.81234, 0.9, 1.5, 12.0, 7.0), strict=True))
    assert packed(found) == "0.8123 0.9 1.5 12 7"
    assert unpacked(packed(found)) == found | {"balanced": 0.8123}


def test_a_method_is_judged_by_the_clean_labels_and_its_list() -> None:
    part = split(BREAST, 0)
    given = given_labels("uniform 20 %", part.X, part.y, 0)
    trial = Trial(part, given, 0)
    answer = by_ramp(trial, (1.0,))
    wrong = given != part.y
    figures = labels.figures(answer, wrong, answer.listed, part.y_test)
    assert figures["balanced"] > 0.9
    assert figures["found"] > 0.9 * figures["listed"] > 20.0
    assert by_svc(trial, (1.0,)).listed == 0


def test_cross_validation_may_keep_the_plain_machine() -> None:
    part = split(WINE, 0)
    trial = Trial(part, part.y, 0)
    C, s, seconds = trial.chosen((1.0,), CUTS)
    assert (C, s in CUTS, seconds > 0.0) == (1.0, True, True)
    assert trial.held_out(C, s).score == max(trial.held_out(C, x).score for x in CUTS)


def test_gains_are_differences_of_points_and_the_rule_needs_clean_labels() -> None:
    store = ResultStore(Path("nowhere"))
    for number in range(2):
        figures = {"SVC": 0.8, "bold": 0.9 + 0.02 * number, "safe": 0.81}
        spoilt = figures | {"bold": 0.79}
        store.records[str(number)] = {
            "set": "one",
            "split": number,
            "figures": {"clean, C=1": spoilt, "uniform 20 %, C=1": figures},
        }
    found = candidates.gains(store)
    assert found["bold"]["uniform 20 %, C=1"]["one"] == pytest.approx(11.0)
    assert candidates.chosen(found) == "safe"


def test_a_target_names_the_set_that_misses_it() -> None:
    target = label_targets.TARGETS[0]
    lost = label_report.Gain({"a": [-3.0, -3.1, -2.9], "b": [0.5, -3.0, 0.1]})
    text, met = target.measured(lost)
    assert (met, "below: a -3.0" in text, "below: b" in text) == (False, True, False)
    assert lost.outcomes == "0-1-1"
    assert RampSVC().s in CUTS


def test_the_interval_of_a_mean_knows_sets_and_splits() -> None:
    sure = label_report.Gain({"a": [1.0, 1.0], "b": [1.0, 1.0]})
    assert_allclose(sure.interval, 1.0)
    rng = np.random.default_rng(0)
    sets = {str(k): list(2.0 + 3.0 * rng.normal(size=6)) for k in range(20)}
    found = label_report.Gain(sets)
    # the variance of a mean of means, as drawn with replacement at both levels
    between = np.var(list(found.means.values()))
    within = np.mean([np.var(each) / 6 for each in sets.values()])
    error = np.sqrt((between + within) / 20)
    expected = found.mean + np.array([-1.96, 1.96]) * error
    assert_allclose(found.interval, expected, atol=0.15 * error)

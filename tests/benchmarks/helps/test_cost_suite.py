"""Random cost matrices over the suite: what is measured, and the tables of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_1samp

from suites.helps import cost_report, cost_units, costs
from suites.helps.cost_report import Case
from suites.helps.costs import (
    BAYES,
    CHOSEN,
    CONSTANT,
    FIXED,
    OURS,
    PLAIN,
    cheapest_answer,
    cost_matrix,
    matrices,
    mean_cost,
    shortened,
)
from suites.helps.suite import SUITE, split
from widemargin import SVC, CostSensitiveSVC
from widemargin.estimators.cost_sensitive.prices import costs_of_pair
from widemargin.estimators.cost_sensitive.reduction import in_units_of_the_least
from widemargin_papers.harness.results import ResultStore

WINE = next(data for data in SUITE if data.name == "wine")
BREAST = next(data for data in SUITE if data.name == "breast_cancer")
DIGITS = next(data for data in SUITE if data.name == "digits")


def test_matrices_are_fixed_and_of_both_kinds() -> None:
    found = matrices("wine", 3)
    assert len(found) == 2 * costs.MATRICES and len(matrices("vote", 2)) == 3
    for name, matrix in found.items():
        off_diagonal = matrix[~np.eye(3, dtype=bool)]
        assert off_diagonal.min() >= 1 and off_diagonal.max() <= costs.SPREAD
        assert not np.diagonal(matrix).any()
        assert np.array_equal(matrix, matrix.T) == name.startswith("symmetric")
    assert_array_equal(found["asymmetric 1"], cost_matrix("wine", 3, 1, False))
    assert not np.array_equal(
        found["asymmetric 0"], matrices("iris", 3)["asymmetric 0"]
    )


def test_the_costs_of_one_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(costs.SETTINGS, CHOSEN, (0.1, 1.0))
    record = costs.measured(WINE, 0)
    part, matrix = split(WINE, 0), matrices("wine", 3)["asymmetric 2"]
    own = CostSensitiveSVC(cost_matrix=matrix, n_jobs=1).fit(part.X, part.y)
    found = record["cases"]["asymmetric 2"][FIXED]
    assert set(found) == {PLAIN, OURS, BAYES, CONSTANT}
    assert_allclose(
        found[OURS], mean_cost(matrix, part.y_test, own.predict(part.X_test)), atol=1e-6
    )
    plain = SVC().fit(part.X, part.y).predict(part.X_test)
    assert_allclose(found[PLAIN], mean_cost(matrix, part.y_test, plain), atol=1e-6)
    answer = cheapest_answer(matrix, part.y)
    assert_allclose(found[CONSTANT], matrix[part.y_test, answer].mean(), atol=1e-6)
    assert set(record["cases"]["asymmetric 0"]) == {FIXED, CHOSEN}
    assert set(record["cases"]["asymmetric 2"]) == {FIXED}
    assert record["rows"] == len(part.y_test)


def test_many_classes_have_fewer_training_rows() -> None:
    assert len(shortened(split(DIGITS, 0)).y) == costs.ROWS_OF_MANY
    assert len(shortened(split(WINE, 0)).y) == len(split(WINE, 0).y)


def test_c_is_the_one_of_least_held_out_cost() -> None:
    """Where every mistake but one is nearly free, a tiny C gives the one answer."""
    part = split(BREAST, 0)
    matrix = np.array([[0.0, 1.0], [1000.0, 0.0]])
    ours = {C: costs._Answers(part, 0, costs._ours(C, matrix)) for C in (1e-6, 1.0)}
    held = {C: answers.held_out_cost(matrix) for C, answers in ours.items()}
    least = min(held, key=held.__getitem__)
    assert_array_equal(costs._best(ours, matrix), ours[least].test)
    assert_array_equal(np.unique(ours[1e-6].test), [cheapest_answer(matrix, part.y)])


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    """Two splits of a set in each half; ours saves half, then loses to one answer."""
    kept = ResultStore(tmp_path / "costs.json")
    for number in range(2):
        for name, half, ours in (("vote", "choose", 2.0), ("wine", "check", 5.0)):
            found = {PLAIN: 4.0, OURS: ours, BAYES: 4.0, CONSTANT: 4.5}
            cases = {"asymmetric 0": {FIXED: found, CHOSEN: found}}
            if name == "wine":
                cases["symmetric 1"] = {FIXED: found | {OURS: 1.0}}
                cases["symmetric 2"] = {FIXED: found | {OURS: 4.2}}  # below one answer
            record = {"set": name, "half": half, "split": number, "rows": 9,
                      "cases": cases}  # fmt: skip
            kept.add(f"{half}: {name}, split {number}", record)
    return kept


def test_the_tables(store: ResultStore) -> None:
    choose = cost_report.case_costs(store, "choose", FIXED)
    assert_allclose(cost_report.geometric_mean(choose, OURS), 0.5, rtol=1e-3)
    assert cost_report.not_above(choose, OURS) == 1.0
    check = cost_report.case_costs(store, "check", FIXED)
    assert_allclose(cost_report.not_above(check, OURS), 1 / 3)
    above = cost_report.above_constant(check, OURS)
    assert above == [Case("wine", "asymmetric 0")]
    assert_allclose(cost_report.worst(check, OURS), 5 / 4.5, rtol=1e-3)
    table = cost_report.table(store)
    assert "2 data sets, 2 splits each; 1 cases" in table
    assert "0.50 (met)" in table and "1 of 3 (missed)" in table
    assert "wine 1.11 (1.11 to 1.11)" in table
    case = Case("wine", "asymmetric 0")
    ours, constant = [5.0, 4.0, 6.0, 7.0], [4.0, 4.0, 5.0, 5.0]
    low, high = cost_report.interval({case: {OURS: ours, CONSTANT: constant}}, case)
    rest = np.array(ours) - 22.0 / 18.0 * np.array(constant)
    tested = ttest_1samp(rest, 0.0).confidence_interval(0.95)
    width = (tested.high - tested.low) / np.mean(constant)
    assert_allclose([low + high, high - low], [2 * 22.0 / 18.0, width], rtol=1e-3)


def test_what_is_said_in_short_is_of_the_checking_half(store: ResultStore) -> None:
    (line,) = [
        line for line in cost_report.advice(store).splitlines() if FIXED in line
        and "several, symmetric" in line
    ]  # fmt: skip
    # wine: the root of 1.0 times 4.2, over 4
    assert line.split() == ["several,", "symmetric", FIXED, "0.51", "1.00", "1.12"]


def test_no_table_is_made_of_a_group_without_cases(store: ResultStore) -> None:
    lines = [
        line for line in cost_report.cost_table(store).splitlines() if "several" in line
    ]
    assert lines and not any(line.startswith("choose") for line in lines)


def test_units_of_a_matrix() -> None:
    matrix = np.array([[0.0, 1.0], [4.0, 0.0]])
    assert [cost_units.unit(matrix, name) for name in cost_units.UNITS] == [
        1.0,
        2.0,
        2.5,
    ]


def test_the_rule_for_the_unit(tmp_path: Path) -> None:
    kept = ResultStore(tmp_path / "units.json")
    found = {PLAIN: 2.0, CONSTANT: 3.0, "least cost": 2.0, "geometric mean": 1.0}
    record = {
        "set": "wine",
        "split": 0,
        "rows": 9,
        "cases": {"a": found | {"mean": 4.0}},
    }
    kept.add("choose: wine, split 0", record)
    table = cost_units.table(kept)
    assert "The rule chooses: several classes: geometric mean." in table
    assert "1 cases" in table and "two classes" not in table


def test_the_units_are_what_the_stored_results_choose() -> None:
    results = Path(__file__).parents[3] / "benchmarks" / "results"
    store = ResultStore(results / "helps_units.json")
    two, several = (cost_units.case_costs(store, group) for group in (False, True))
    assert (len(two), len(several)) == (42, 18)
    matrix = np.array([[0.0, 2.0], [32.0, 0.0]])
    used = costs_of_pair(matrix, 0, 1, 1.0).unit  # over the least cost
    assert_allclose([used, cost_units.unit(matrix, cost_units.chosen(two))], 4.0)
    least = in_units_of_the_least(matrix)[0, 1]
    assert least == cost_units.unit(matrix, cost_units.chosen(several)) == 1.0


def test_the_cheapest_mistake_has_the_weight_that_is_asked_for() -> None:
    matrix = np.array([[0.0, 8.0], [2.0, 0.0]])
    model = cost_units._machine(matrix, 0.5)
    assert (model.C, model.cost_positive, model.pos_label) == (0.5, 4.0, 0)

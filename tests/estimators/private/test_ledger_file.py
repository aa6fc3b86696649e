"""A budget in a file: written before noise is drawn, locked, read as it was."""

from __future__ import annotations

import json

import numpy as np
import pytest

from widemargin import NoiseWarning, PrivacyBudgetError, PrivacyLedger, PrivateSVC
from widemargin.estimators.private.ledger_file import (
    LedgerFileError,
    create_ledger,
    drawing_from,
    read_ledger,
)
from widemargin.estimators.private.mechanisms import Cost


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "budget")
    create_ledger(name, PrivacyLedger(2.0, 1e-6, pure_epsilon=0.25))
    return name


def test_the_file_says_what_the_ledger_does(path):
    with drawing_from(path) as ledger:
        ledger.spend(Cost(mu=0.1, epsilon=0.0), "one")
        assert read_ledger(path).spendings == ledger.spendings  # before it goes on
        ledger.spend(Cost(mu=0.0, epsilon=0.2), "two")
    read = read_ledger(path)
    assert (read.epsilon, read.delta, read.pure_epsilon) == (2.0, 1e-6, 0.25)
    assert read.spendings == ledger.spendings
    assert read.spent_epsilon == ledger.spent_epsilon
    with drawing_from(path) as again, pytest.raises(PrivacyBudgetError):
        again.spend(Cost(mu=0.0, epsilon=5.0), "too much")
    assert read_ledger(path).spendings == ledger.spendings


def test_the_cost_stands_in_the_file_although_the_fit_fails(path, monkeypatch):
    X, y = np.eye(4), [0, 1, 0, 1]
    monkeypatch.setattr(
        "widemargin.estimators.private.mechanisms.GradientMechanism.release",
        lambda *_: 1 / 0,
    )
    with (
        drawing_from(path) as ledger,
        pytest.raises(ZeroDivisionError),
        pytest.warns(NoiseWarning),
    ):
        PrivateSVC(1.0, clip_norm=1.0, classes=(0, 1), ledger=ledger).fit(X, y)
    assert len(read_ledger(path).spendings) == 1


def test_a_line_that_was_being_written_is_dropped(path):
    with drawing_from(path) as ledger:
        ledger.spend(Cost(mu=0.1, epsilon=0.0), "one")
    with open(path, "ab") as file:
        file.write(b'{"what": "tw')
    assert len(read_ledger(path).spendings) == 1
    with drawing_from(path) as ledger:
        ledger.spend(Cost(mu=0.1, epsilon=0.0), "three")
    assert [one.what for one in read_ledger(path).spendings] == ["one", "three"]


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "3",
        "{",
        json.dumps({"what": "x", "mu": -1.0, "pure_epsilon": 0.0}),
        json.dumps({"what": "x", "mu": float("nan"), "pure_epsilon": 0.0}),
        json.dumps({"what": "x", "mu": 1.0}),
    ],
)
def test_a_damaged_file_is_refused(path, line):
    with open(path, "a") as file:
        file.write(line + "\n")
    with pytest.raises(LedgerFileError, match="damaged"), drawing_from(path):
        pass


def test_nobody_else_draws_meanwhile(path):
    """The lock is one of the open file, so that one process shows it, too."""
    with (
        drawing_from(path),
        pytest.raises(LedgerFileError, match="another process draws"),
        drawing_from(path),
    ):
        pass
    with drawing_from(path):  # and it is given back
        pass

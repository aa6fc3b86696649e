"""``train --method private``: public classes, and nothing told of the data."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import widemargin
from widemargin.cli.options import convert

from tests.cli.running import command

TRAIN = ("train", "--method", "private", "--clip-norm", "3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    dump_svmlight_file(X, y, str(tmp_path / "data"), zero_based=False)
    named = np.where(y, "well", "ill")
    lines = [
        ",".join([*map(str, row), name]) for row, name in zip(X, named, strict=True)
    ]
    (tmp_path / "data.csv").write_text("a,b,c,state\n" + "\n".join(lines))
    return tmp_path


def test_classes_are_given_with_commas(folder: Path) -> None:
    done = command(*TRAIN, "--classes", "0,1,2", "data", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Differentially private: epsilon = 1, delta = 1e-05" in done.stderr
    assert "no privacy guarantee" not in done.stderr
    model = widemargin.load(folder / "model")
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.privacy_report().guarantee
    told = command("info", "model", cwd=folder).stdout
    assert "Differentially private: epsilon = 1" in told
    done = command(
        *TRAIN, "--classes", "ill,well", "--label", "state", "data.csv", "model",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert widemargin.load(folder / "model").classes_.tolist() == ["ill", "well"]


def test_train_and_info_state_budget_and_mechanism_and_no_time(folder: Path) -> None:
    done = command(
        *TRAIN, "--classes", "0,1", "--group-size", "2", "data", "model", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    first = "Differentially private: epsilon = 1, delta = 1e-05, for data sets in which"
    assert f"{first} up to 2 records are replaced" in done.stderr
    assert "Mechanism: gradient perturbation, C = 0.1." in done.stderr
    assert re.search(r"[0-9] s\b", done.stderr) is None  # a function of the data
    told = command("info", "model", cwd=folder).stdout
    assert re.search(r"^epsilon +1.0$", told, re.MULTILINE)
    assert re.search(r"^delta +1e-05$", told, re.MULTILINE)
    assert re.search(r"^mechanism +gradient$", told, re.MULTILINE)
    assert f"{first} up to 2 records" in told
    facts = json.loads(command("info", "--json", "model", cwd=folder).stdout)
    assert (facts["epsilon"], facts["mechanism"]) == (1.0, "gradient")


@pytest.mark.filterwarnings("ignore::widemargin.NoiseWarning")
def test_info_shows_the_ledger(folder: Path) -> None:
    ledger = widemargin.PrivacyLedger(2.0)
    X, y = load_svmlight_file(str(folder / "data"))
    public = {"clip_norm": 3.0, "classes": [0, 1], "n_steps": 2}
    model = widemargin.PrivateSVC(0.5, ledger=ledger, **public).fit(X, y)
    widemargin.save(model, folder / "model")
    told = command("info", "model", cwd=folder).stdout
    assert "Ledger: 0.5 of epsilon = 2 spent by 1 fit (delta = 1e-05; a copy" in told


def test_cross_validation_is_refused(folder: Path) -> None:
    done = command(*TRAIN, "--classes", "0,1", "-v", "3", "data", cwd=folder)
    assert done.returncode == 2
    assert "-v with --method private" in done.stderr and "budget" in done.stderr
    assert "Accuracy" not in done.stdout


def test_without_classes_no_guarantee_is_stated(folder: Path) -> None:
    done = command(*TRAIN, "data", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "warning: no privacy guarantee: the class labels were taken" in done.stderr
    assert "PrivateSVC; NO PRIVACY GUARANTEE;" in done.stderr
    assert not widemargin.load(folder / "model").privacy_report().guarantee
    assert "NO PRIVACY GUARANTEE" in command("info", "model", cwd=folder).stdout


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("0,1", [0, 1]),
        ("-1,+1", [-1, 1]),
        ("0.5,1", [0.5, 1]),
        ("ill,well", ["ill", "well"]),
        ("1,well", ["1", "well"]),  # as a column of such labels is read
        ("true,false", ["true", "false"]),
        ('["a,b", "c"]', ["a,b", "c"]),
        ("none", None),
    ],
)
def test_labels_are_read_as_those_of_a_file(text: str, labels: object) -> None:
    assert convert("classes", text) == labels


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("1 1:0.5\n0 2:secret\n", "data:2:5: malformed"),
        ("1 1:0.5\nsecret 2:1\n", "data:2:1: malformed"),
    ],
)
def test_a_malformed_file_is_not_quoted(folder: Path, content: str, place: str) -> None:
    (folder / "data").write_text(content)
    done = command(*TRAIN, "--classes", "0,1", "data", "model", cwd=folder)
    assert done.returncode == 2
    assert place in done.stderr and "secret" not in done.stderr
    assert "secret" in command("train", "data", "model", cwd=folder).stderr


@pytest.mark.parametrize("flags", [[], ["--classes", "0,1"], ["--class-weight", "3=2"]])
@pytest.mark.parametrize("label", ["917352", "917352.5"])
def test_no_label_is_quoted(folder: Path, flags: list[str], label: str) -> None:
    (folder / "data").write_text(f"{label} 1:1\n{label} 1:2\n")
    done = command(*TRAIN, *flags, "data", "model", cwd=folder)
    assert done.returncode == 2
    assert "917352" not in done.stderr


def test_hints_tell_nothing_of_private_data(folder: Path) -> None:
    rows = "".join(f"{int(i == 0)} 1:{i} 2:{i * 1e6:g}\n" for i in range(1, 40))
    (folder / "data").write_text("1 1:1\n" + rows)
    done = command(*TRAIN, "--classes", "0,1", "data", "model", cwd=folder)
    assert done.returncode == 0 and "hint" not in done.stderr
    assert "hint" in command("train", "data", "model", cwd=folder).stderr


def test_a_ledger_in_a_file_is_drawn_from_and_not_overdrawn(folder: Path) -> None:
    made = command("ledger", "budget", "--epsilon", "1.2", cwd=folder)
    assert made.returncode == 0, made.stderr
    assert made.stdout == "0 of epsilon = 1.2 spent by 0 fits (delta = 1e-05)\n"
    fit = (*TRAIN, "--classes", "0,1", "--ledger", "budget", "data")
    done = command(*fit, "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Ledger: 1 of epsilon = 1.2 spent by 1 fit (delta = 1e-05)." in done.stderr
    told = command("info", "model", cwd=folder).stdout
    assert "Ledger: 1 of epsilon = 1.2 spent by 1 fit (delta = 1e-05; a copy" in told
    before = (folder / "budget").read_bytes()
    refused = command(*fit, "second", cwd=folder)
    assert refused.returncode == 2
    assert "budget: the PrivacyLedger has too little left" in refused.stderr
    assert not (folder / "second").exists()
    assert (folder / "budget").read_bytes() == before
    smaller = command(*fit, "second", "--epsilon", "0.3", cwd=folder)
    assert smaller.returncode == 0, smaller.stderr
    shown = command("ledger", "budget", cwd=folder).stdout.splitlines()
    assert "spent by 2 fits" in shown[0]
    assert shown[1].startswith("1. PrivateSVC, gradient: mu = ")
    assert len(shown) == 3


def test_mistakes_with_ledgers(folder: Path) -> None:
    def refusal(*arguments: str) -> str:
        done = command(*arguments, cwd=folder)
        assert done.returncode == 2
        return done.stderr

    fit = (*TRAIN, "--classes", "0,1", "data", "model", "--ledger")
    assert "widemargin ledger gone --epsilon E makes one" in refusal(*fit, "gone")
    assert "data: not a privacy ledger, or damaged" in refusal(*fit, "data")
    told = refusal("train", "data", "model", "--ledger", "x")
    assert "--ledger is for --method private" in told
    command("ledger", "budget", "--epsilon", "1", cwd=folder)
    told = refusal("ledger", "budget", "--epsilon", "9")
    assert "budget exists" in told
    assert "no such file" in refusal("ledger", "gone")
    assert "epsilon must be positive" in refusal("ledger", "new", "--epsilon", "-1")
    assert not (folder / "new").exists()

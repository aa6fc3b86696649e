"""Labels of a file and labels of a model: the same only if they are so as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import widemargin

from tests.cli.running import command

X = np.array([[1.0, 2.0], [-1.0, -1.5], [2.0, 1.0], [-2.0, -1.0]])


def evaluated(folder: Path, trained: list[Any], written: list[str]) -> dict[str, Any]:
    """Scores of a model of the labels ``trained`` on a file with ``written``."""
    widemargin.save(widemargin.SVC().fit(X, np.array(trained)), folder / "model")
    rows = [f"{a},{b},{k}" for (a, b), k in zip(X, written, strict=True)]
    (folder / "new.csv").write_text("\n".join(["a,b,kind", *rows]))
    done = command(
        "evaluate", "new.csv", "model", "--label", "kind", "--json", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    scores: dict[str, Any] = json.loads(done.stdout)
    out = command("predict", "new.csv", "model", "out", "--label", "kind", cwd=folder)
    right = round(4 * scores["accuracy"])
    assert f"({right}/4)" in out.stdout, out.stderr
    return scores


@pytest.mark.parametrize(
    ("trained", "written"),
    [
        ("yes no yes no", "y n y n"),  # in a dtype of one letter "yes" was "y"
        ("y n y n", "yes no yes no"),
        ("yes no yes no", "ye no ye no"),
        ("1.0 no 1.0 no", "1 0 1 0"),
    ],
)
def test_a_part_of_a_label_is_no_label(
    tmp_path: Path, trained: str, written: str
) -> None:
    scores = evaluated(tmp_path, trained.split(), written.split())
    common = len(set(trained.split()) & set(written.split()))
    assert scores["accuracy"] == 0.5 * common
    assert scores["auc"] is None  # not the two classes of the model


@pytest.mark.parametrize(
    ("trained", "written"),
    [
        (["yes", "no"] * 2, ["yes", "no"] * 2),
        ([1, 0] * 2, ["1", "0"] * 2),
        ([1, -1] * 2, ["+1", "-1.0"] * 2),
        ([True, False] * 2, ["1", "0"] * 2),
        ([True, False] * 2, ["True", "False"] * 2),
        (["1.0", "none"] * 2, ["1.0", "none"] * 2),
        (["01", "1"] * 2, ["01", "1"] * 2),  # two labels, and one number
    ],
)
def test_the_same_labels(
    tmp_path: Path, trained: list[Any], written: list[str]
) -> None:
    scores = evaluated(tmp_path, trained, written)
    assert scores["accuracy"] == 1.0
    assert scores["auc"] == 1.0


def test_a_file_that_has_one_class_of_text_that_is_a_number(tmp_path: Path) -> None:
    assert evaluated(tmp_path, ["2.0", "none"] * 2, ["2.0"] * 4)["accuracy"] == 0.5


def test_a_third_label_leaves_no_area(tmp_path: Path) -> None:
    scores = evaluated(tmp_path, ["yes", "no"] * 2, ["yes", "no", "yes", "maybe"])
    assert scores["accuracy"] == 0.75
    assert scores["auc"] is None

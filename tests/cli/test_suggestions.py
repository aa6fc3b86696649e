"""A mistyped name gets the one that was meant; a wide table no page of names."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from widemargin.cli.suggestions import did_you_mean

from tests.cli.running import command
from tests.cli.test_mistakes import refusal

NAMES = [f"gene{i}" for i in range(400)]


def wide(path: Path, names: list[str]) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 400)).round(3).astype(str).tolist()
    lines = [",".join([*row, "pn"[i % 2]]) for i, row in enumerate(rows)]
    path.write_text("\n".join([",".join([*names, "Diagnosis"]), *lines]))


def test_a_command_that_is_nearly_right(tmp_path: Path) -> None:
    assert refusal("trian", "data", cwd=tmp_path).endswith("did you mean 'train'?")
    assert refusal("zzz", cwd=tmp_path) == "Error: No such command 'zzz'"


def test_capitals_are_near() -> None:
    assert did_you_mean("AGE", ["age", "income"]) == "; did you mean 'age'?"


def test_a_flag_that_is_nearly_right(tmp_path: Path) -> None:
    assert "'--gamma'" in refusal("train", "--gama", "1", "data", cwd=tmp_path)


def test_columns_of_a_wide_table(tmp_path: Path) -> None:
    wide(tmp_path / "wide.csv", NAMES)
    line = ["train", "wide.csv", "model", "--label"]
    message = refusal(*line, "diagnosis", cwd=tmp_path)
    assert message.endswith("no column 'diagnosis'; did you mean 'Diagnosis'?")
    message = refusal(*line, "zzz", cwd=tmp_path)
    assert message.endswith("gene10, gene11 and 389 more")
    done = command(*line, "Diagnosis", cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    wide(tmp_path / "other.csv", ["Gene0", *NAMES[1:]])
    line = ["predict", "other.csv", "model", "out", "--label", "Diagnosis"]
    message = refusal(*line, cwd=tmp_path)
    assert message.endswith(
        "no column 'gene0', which the model needs; did you mean 'Gene0'?"
    )
    wide(tmp_path / "other.csv", [f"probe {i}" for i in range(400)])
    message = refusal(*line, cwd=tmp_path)
    assert message.endswith("no column 'gene0' and 399 others, which the model needs")

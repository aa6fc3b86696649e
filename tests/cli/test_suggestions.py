"""A mistyped name gets the one that was meant; a wide table no page of names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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


def test_a_file_that_is_nearly_right(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("a,b\n")
    message = refusal("train", "patient.csv", "model", cwd=tmp_path)
    assert message.endswith("No such file or directory; did you mean 'patients.csv'?")
    whole = tmp_path / "patient.model"
    message = refusal("info", str(whole), cwd=tmp_path)
    assert message.endswith(f"did you mean '{tmp_path / 'patients.csv'}'?")
    message = refusal("train", "z.csv", "model", cwd=tmp_path)
    assert message.endswith("z.csv: No such file or directory")


def test_the_columns_are_named_where_the_label_is_not(tmp_path: Path) -> None:
    wide(tmp_path / "wide.csv", NAMES)
    message = refusal("train", "wide.csv", "model", cwd=tmp_path)
    assert "--label NAME; they are gene0, gene1" in message


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_evaluate_knows_the_label_from_the_features(
    tmp_path: Path, suffix: str
) -> None:
    """It is the only column that the model was not trained on."""
    pandas = pytest.importorskip("pandas")
    data = f"wide.{suffix}"
    wide(tmp_path / "wide.csv", NAMES)
    if suffix == "parquet":
        pandas.read_csv(tmp_path / "wide.csv").to_parquet(tmp_path / data)
    done = command("train", data, "model", "--label", "Diagnosis", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    named = command("evaluate", data, "model", "--label", "Diagnosis", cwd=tmp_path)
    found = command("evaluate", data, "model", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert found.stdout == named.stdout
    lines = (tmp_path / "wide.csv").read_text().splitlines()
    more = [
        f"{line},{end}" for line, end in zip(lines, ["ward", *"123456"], strict=True)
    ]
    (tmp_path / "other.csv").write_text("\n".join(more))
    message = refusal("evaluate", "other.csv", "model", cwd=tmp_path)
    assert "say which column is the label" in message

"""Mistakes of a user at the shell: one clear line, exit code 2, and nothing harmed."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

import widemargin
from widemargin.cli.model_commands import listed

from tests.cli.running import command

ROWS = [(1.0, 1.5, 2.0), (-1.0, -1.5, -1.0), (2.0, 1.0, 1.0), (-2.0, -1.0, -2.0)]


def csv(labels: str, header: str = "") -> str:
    lines = [f"{a},{b},{c},{y}" for (a, b, c), y in zip(ROWS, labels, strict=True)]
    return "\n".join([header, *lines]).strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with four rows in several formats, and a model of them."""
    svm = [f"{k} 1:{a} 2:{b} 3:{c}" for (a, b, c), k in zip(ROWS, "1010", strict=True)]
    (tmp_path / "data").write_text("\n".join(svm))
    done = command("train", "--keep-rows", "data", "model", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def refusal(*arguments: object, cwd: Path) -> str:
    """Return the one line with which a command is refused; no file changes."""
    before = {path: path.read_bytes() for path in cwd.iterdir() if path.is_file()}
    done = command(*arguments, cwd=cwd)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    after = {path: path.read_bytes() for path in cwd.iterdir() if path.is_file()}
    assert after == before
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("header", ["", "a,b,c,kind"])
@pytest.mark.parametrize("quietly", [[], ["-q"]])
def test_a_table_with_its_label_among_the_features(
    folder: Path, header: str, quietly: list[str]
) -> None:
    (folder / "new.csv").write_text(csv("1010", header))
    line = ["predict", "new.csv", "model", "out", *quietly]
    message = refusal(*line, cwd=folder)
    assert "4 columns of features, and the model has 3" in message
    assert message.endswith("--label COLUMN")
    done = command(*line, "--label", "4", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "out").read_text().split() == ["1", "0", "1", "0"]


def test_a_table_that_is_too_narrow(folder: Path) -> None:
    (folder / "new.csv").write_text("1,1\n-1,-1\n")
    message = refusal("predict", "new.csv", "model", "out", cwd=folder)
    assert message.endswith("2 columns of features, and the model has 3")


@pytest.mark.parametrize(("header", "where"), [("", "1:13"), ("a,b,c,kind", "2:13")])
def test_text_in_a_table_may_be_the_label(
    folder: Path, header: str, where: str
) -> None:
    (folder / "new.csv").write_text(csv("pnpn", header))
    message = refusal("predict", "new.csv", "model", "out", cwd=folder)
    assert f"new.csv:{where}: 'p' is not a finite number" in message
    assert message.endswith("--label COLUMN")
    (folder / "new.csv").write_text("a,b,c,kind\n1,2,x,p\n")
    message = refusal(
        "predict", "new.csv", "model", "out", "--label", "kind", cwd=folder
    )
    assert message.endswith("'x' is not a finite number")


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("2-1", "'2-1' is a range that ends before it begins"),
        ("7", "no live row 7; live are 0-3"),
        ("1-2 7,9", "no live row 7 and 1 more; live are 0-3"),
        ("0-4", "'0-4' has more rows than are live: 0-3"),
        ("0-999999999999999", "has more rows than are live: 0-3"),
        ("", "IDS name no row"),
        (",", "IDS name no row"),
        ("@none", "IDS name no row"),
        ("@missing", "missing: No such file"),
        ("x", "'x' is neither a row number nor a range"),
        ("1-2-3", "'1-2-3' is neither a row number nor a range"),
        ("2 2", "more than once"),
        ("0-3", "no row would be left: delete model instead"),
        ("2 --output nowhere/model", "nowhere/model: No such file"),
    ],
)
def test_ids_that_cannot_be_forgotten(folder: Path, ids: str, message: str) -> None:
    (folder / "none").write_text("\n")
    assert message in refusal("forget", "model", *ids.split(" "), cwd=folder)


def test_a_model_without_rows_forgets_none(folder: Path) -> None:
    command("train", "data", "lean", cwd=folder)
    assert "train again with --keep-rows" in refusal("forget", "lean", "1", cwd=folder)
    command("train", "--method", "ramp", "data", "ramp", cwd=folder)
    message = refusal("forget", "ramp", "1", cwd=folder)
    assert message.endswith("--method svc | cost | svr | quantile | oneclass")
    message = refusal("train", "--keep-rows", "--method", "ramp", "data", cwd=folder)
    assert "--keep-rows is not a parameter of --method ramp" in message


def test_info_lists_the_live_rows(folder: Path) -> None:
    assert command("forget", "model", "1", cwd=folder).returncode == 0
    lines = command("info", "model", cwd=folder).stdout.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines if "ids" in line] == ["0, 2-3"]
    assert listed(np.array(["ann", "bob"])) == "ann, bob"
    assert (
        listed(np.arange(0, 30, 2)) == "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, ..."
    )


@pytest.mark.parametrize(
    "line",
    [
        "train data data",
        "train data ./link",
        "train -v 2 data data",
        "predict data model model",
        "predict data model data",
        "predict link model data",
        "forget model @rows --output rows",
    ],
)
def test_what_is_read_is_not_overwritten(folder: Path, line: str) -> None:
    (folder / "link").symlink_to("data")
    (folder / "rows").write_text("1\n")
    assert "would overwrite" in refusal(*line.split(), cwd=folder)


def test_forget_may_name_the_model_as_its_output(folder: Path) -> None:
    done = command("forget", "model", "1", "--output", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert len(widemargin.load(folder / "model").ids_) == 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-t 9 data", "0 linear, 1 poly, 2 rbf, 3 sigmoid, 4 precomputed, laplacian"),
        ("-c x missing", "-c, --C must be above 0, not 'x'"),  # before reading
        ("-t rfb data", "laplacian, not 'rfb'; did you mean 'rbf'?"),
        ("-h 2 data", "-h, --shrinking must be true|false, not '2'"),
        ("--max-iter 1.5 data", "--max-iter must be whole and at least -1, not '1.5'"),
        ("-w1 5 -w7 3 data", "-w7, --class-weight 7=3: the data has no such label"),
        ("fractions", "fractions: the label 1.5 is a fraction"),
        ("one", "one: every label is 1"),
        ("bare", "bare: no sample has a feature"),
        ("missing -", "'-' is not a name for a model"),  # these are said before reading
        ("missing fifo", "'fifo' is not a name for a model"),
        ("missing folder", "folder: Is a directory"),
        ("missing nowhere/model", "nowhere/model: No such file"),
        ("-", "say where to write MODEL"),
    ],
)
def test_training_that_cannot_be(folder: Path, line: str, message: str) -> None:
    (folder / "fractions").write_text("1.5 1:1\n2.5 1:2\n")
    (folder / "one").write_text("1 1:1\n1 1:2\n")
    (folder / "bare").write_text("1\n2\n")
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    assert message in refusal("train", *line.split(), cwd=folder)


@pytest.mark.parametrize("line", ["-w1 5", '--class-weight {"1":5}'])
def test_one_weight_is_enough(folder: Path, line: str) -> None:
    done = command("train", *line.split(), "data", "other", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert widemargin.load(folder / "other").class_weight == {1: 5}


def test_the_report_of_the_demo_needs_a_folder(folder: Path) -> None:
    message = refusal("demo", "costs", "--report", "nowhere/page.html", cwd=folder)
    assert "--report nowhere/page.html: there is no such folder" in message


def test_what_the_system_refuses_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("widemargin.cli.model_commands.model_facts", fail)
    message = refusal("info", "model", cwd=folder)
    assert message == "Error: output: No space left on device"

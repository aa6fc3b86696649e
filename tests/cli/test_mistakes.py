"""Mistakes of a user at the shell: one clear line, exit code 2, and nothing harmed."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    done = command("train", "data", "model", cwd=tmp_path)
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

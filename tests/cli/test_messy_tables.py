"""Tables as people have them: what is wrong is said in one line, with the remedy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import command
from tests.cli.test_mistakes import refusal
from tests.cli.test_mixed_tables import BOTH, customers

LINE = ["train", "table.csv", "model", "--label", "kind"]
ANYHOW = pytest.mark.parametrize("options", [[], ["--categorical", "auto"]])


def write(folder: Path, *fields: str, encoding: str = "utf-8") -> None:
    lines = [f"{i};{field};{'pn'[i % 2]}" for i, field in enumerate(fields)]
    (folder / "table.csv").write_text("\n".join(["a;b;kind", *lines]), encoding)


@ANYHOW
@pytest.mark.parametrize(
    "fields",
    [
        ("1,5", "2", "3,25"), ("1.000,50", "7,5", "12"), ("1,000.50", "2", "3"),
        ("$5", "$7.50", "$12"), ("5 €", "-3 €", "2"), ("12%", "3.5 %", "0%"),
        ("1'000", "25", "3"),
    ],
    ids=["comma", "German", "English", "dollars", "euros", "percent", "Swiss"],
)  # fmt: skip
def test_numbers_written_otherwise_are_no_categories(
    tmp_path: Path, fields: tuple[str, ...], options: list[str]
) -> None:
    """Each would be a category of its own, and the training score perfect."""
    write(tmp_path, *fields)
    message = refusal(*LINE, *options, cwd=tmp_path)
    assert message.startswith("Error: table.csv:2:3: ")
    assert message.endswith("is not a finite number: write numbers as 1234.5")


@pytest.mark.parametrize(
    "fields",
    [("1.2.3", "1.2.4", "2.0.0"), ("1,5", "x", "2"), ("10-20", "20-30", "10-20")],
)
def test_codes_with_figures_are_categories(
    tmp_path: Path, fields: tuple[str, ...]
) -> None:
    write(tmp_path, *fields)
    done = command(*LINE, "--categorical", "auto", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@ANYHOW
def test_the_names_again_amid_the_rows(tmp_path: Path, options: list[str]) -> None:
    """As in files that were put together: all columns would be categories."""
    write(tmp_path, "1", "2", "3", "4")
    text = (tmp_path / "table.csv").read_text()
    (tmp_path / "table.csv").write_text(f"{text}\n{text}\n")
    message = refusal(*LINE, *options, cwd=tmp_path)
    told = "table.csv:6:1: the names of the columns again: take this line out"
    assert message == f"Error: {told}"


def test_letters_beyond_ascii_are_shown(tmp_path: Path) -> None:
    for text, shown in (("Köln", "'Köln'"), ("x" * 23 + "ö" + "y", f"'{'x' * 23}ö'")):
        write(tmp_path, text, "2")
        assert f"table.csv:2:3: {shown} is not" in refusal(*LINE, cwd=tmp_path)
    write(tmp_path, "Köln", "2", encoding="latin-1")
    assert "'K\N{REPLACEMENT CHARACTER}ln' is not" in refusal(*LINE, cwd=tmp_path)
    message = refusal(*LINE, "--categorical", "auto", cwd=tmp_path)
    assert message.endswith("not UTF-8 text; save the table as UTF-8")


def test_names_that_are_given_twice(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,a,b,kind\n1,2,3,p\n2,1,0,n\n")
    done = command(*LINE, cwd=tmp_path)
    assert "hint: several columns are called 'a': the model knows" in done.stderr
    done = command("predict", "table.csv", "model", "out", "--label", "4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_one_column_and_several_that_are_missing(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b,c,kind\n1,2,3,p\n2,1,0,n\n")
    assert command(*LINE, cwd=tmp_path).returncode == 0
    for names, others in (("a,x,y", " and 1 other,"), ("x,y,z", " and 2 others,")):
        (tmp_path / "new.csv").write_text(f"{names}\n1,2,3\n")
        message = refusal("predict", "new.csv", "model", "out", cwd=tmp_path)
        assert f"{others} which the model needs" in message


NOTHING_LEARNT = "hint: always answering the "


def noise(folder: Path) -> None:
    """Rows of which 60 % are n, and whose features say nothing."""
    rows = np.random.default_rng(0).normal(size=(100, 2)).round(3) * 1e-3
    lines = [f"{a},{b},{'n' if i % 5 < 3 else 'p'}" for i, (a, b) in enumerate(rows)]
    (folder / "table.csv").write_text("\n".join(["a,b,kind", *lines]))


def test_a_model_that_has_learnt_nothing_gets_a_hint(tmp_path: Path) -> None:
    noise(tmp_path)
    small = ["-g", "1e-6"]
    said = command(*LINE, *small, cwd=tmp_path).stderr
    assert f"{NOTHING_LEARNT}commonest label is nearly as good: try --scale" in said
    said = command(*LINE, *small, "--scale", "standard", cwd=tmp_path).stderr
    assert "nearly as good: widemargin tune chooses" in said
    said = command(*LINE, "-g", "1e9", cwd=tmp_path).stderr  # learnt by heart
    assert "accuracy 100%" in said and NOTHING_LEARNT not in said
    for options in (["--class-weight", "balanced"], ["--method", "cost"]):
        assert (
            NOTHING_LEARNT not in command(*LINE, *small, *options, cwd=tmp_path).stderr
        )
    assert command(*LINE, *small, "-q", cwd=tmp_path).stderr == ""


def test_so_does_a_regression(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 2)).round(3)
    lines = [f"{a},{b},{i % 7}" for i, (a, b) in enumerate(rows)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,kind", *lines]))
    said = command(*LINE, "--method", "svr", "-g", "1e-6", cwd=tmp_path).stderr
    assert f"{NOTHING_LEARNT}mean of the labels" in said
    said = command(*LINE, "--method", "svr", "-g", "1e3", cwd=tmp_path).stderr
    assert NOTHING_LEARNT not in said


def test_info_says_what_becomes_of_the_columns(tmp_path: Path) -> None:
    customers().to_csv(tmp_path / "table.csv", index=False, na_rep="NA")
    options = [*BOTH, "mean", "--scale", "standard"]
    done = command("train", "table.csv", "model", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = command("info", "model", cwd=tmp_path).stdout
    assert (
        "columns        numbers age, income (SimpleImputer, StandardScaler); "
        "categories city, size\n"
    ) in shown

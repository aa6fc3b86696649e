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
        ("1'000", "25", "3"), ("1_000", "25", "3"), ("\u22121.5", "25", "3"),
        ("1\u00a0000", "25", "3"), ("(1.50)", "25", "3"), ("1.5D+01", "25", "3"),
    ],
    ids=[
        "comma", "German", "English", "dollars", "euros", "percent", "Swiss", "Python",
        "minus", "French", "accounts", "Fortran",
    ],
)  # fmt: skip
def test_numbers_written_otherwise_are_no_categories(
    tmp_path: Path, fields: tuple[str, ...], options: list[str]
) -> None:
    """Each would be a category of its own, and the training score perfect."""
    write(tmp_path, *fields)
    message = refusal(*LINE, *options, cwd=tmp_path)
    assert message.startswith("Error: table.csv:2:3: ")
    assert message.endswith("is not a finite number: write numbers as 1234.5")


@ANYHOW
def test_a_number_that_is_too_large(tmp_path: Path, options: list[str]) -> None:
    write(tmp_path, "1e400", "2", "3")
    assert refusal(*LINE, *options, cwd=tmp_path).endswith("number: it is too large")


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


def test_a_category_may_be_called_as_its_column(tmp_path: Path) -> None:
    write(tmp_path, "a", "b", "c", "b")
    done = command(*LINE, "--categorical", "auto", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a|b|kind\n1|2|p\n", "csv:1:1: the first line, 'a|b|kind', is one column"),
        ("sep=;\na;b;kind\n", "csv:1:1: a line for Excel only: take it out"),
        ("# by me\na,b,kind\n", "with commas, semicolons or tabs between"),
        ("Größe,kind\n1,p\n", "csv:1:1: not UTF-8 text; save the table as UTF-8"),
        ("<!DOCTYPE html><html>", "csv: no table but HTML or XML; save the table as C"),
        ('[{"a": 1, "kind": 2}]', "csv: JSON; save the table as CSV or Parquet"),
        ("PK\3\4\x14\0\6\0", "csv: a zip archive, as Excel's workbooks are; save the"),
        ("PAR1\x15\0", "csv: a Parquet file; let its name end in .parquet"),
        ("a,b,kind\n1,2,3,p\n", "csv:2:6: more than 3 columns: text with separators"),
        ('a,kind\n"x\ny",p\n', "csv:2:1: the quotation mark is not closed on this "),
    ],
)
@ANYHOW
def test_what_is_no_such_table(
    tmp_path: Path, text: str, told: str, options: list[str]
) -> None:
    (tmp_path / "table.csv").write_bytes(text.encode("latin-1"))
    if "quotation" in told:
        options = ["--categorical", "auto"]  # numbers have none
    assert told in refusal(*LINE, *options, cwd=tmp_path)


@pytest.mark.parametrize(
    "day", ["2026-01-31", "31.1.2026", "1/31/26", "2026-01-31T12:30:00Z"]
)
def test_dates_are_named(tmp_path: Path, day: str) -> None:
    write(tmp_path, day, day)
    told = f"csv:2:3: {day!r} is a date: make numbers of it, such as years or days"
    assert refusal(*LINE, cwd=tmp_path).endswith(told)


def test_hints_on_labels_that_are_missing_and_on_numbers_of_rows(
    tmp_path: Path,
) -> None:
    lines = [f"{i},{i % 3},{['p', 'n', 'NA'][i % 3]}" for i in range(30)]
    (tmp_path / "table.csv").write_text("\n".join([",b,kind", *lines]))
    said = command(*LINE, cwd=tmp_path).stderr
    assert "hint: the label 'NA' is a class like any other: leave rows without" in said
    assert "hint: a column has no name: leave it out of the file if it n" in said
    text = (tmp_path / "table.csv").read_text().replace("NA", "x")
    (tmp_path / "table.csv").write_text("a" + text)
    assert "hint: a column" not in (said := command(*LINE, cwd=tmp_path).stderr)
    assert "hint: the label" not in said


def test_a_column_of_numbers_with_a_word_for_no_value(tmp_path: Path) -> None:
    """Each number would be a category; 20 and fewer may well be codes."""
    many = [f"{i}.5" for i in range(30)]
    told = "where '-', 'n.a.' stands for no value, write NA, or leave the field empty"
    write(tmp_path, *many, "-", "n.a.")
    message = refusal(*LINE, "--missing", "mean", cwd=tmp_path)
    assert message.startswith("Error: table.csv:32:4: '-' is not a finite number; ")
    assert message.endswith(f"{told}; for columns of categories: --categorical auto")
    mixed = [*LINE, "--categorical", "auto"]
    said = command(*mixed, cwd=tmp_path).stderr
    assert f"hint: every number of column 'b' is a category: {told}\n" in said
    for fields in ([*many[:20], "-"], [*many, "a", "b", "c", "d"], [*many, "NA"]):
        write(tmp_path, *fields)
        said = command(*mixed, "--missing", "mean", cwd=tmp_path).stderr
        assert "written to model" in said and "every number" not in said


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_labels_of_many_digits_stay_apart(tmp_path: Path, suffix: str) -> None:
    """As numbers in float64 both would be 9007199254740992."""
    for labels in ([2**53, 2**53 + 1], [2**63, 2**63 + 1]):
        lines = [f"{i % 2 * 9},{i % 3},{labels[i % 2]}" for i in range(20)]
        (tmp_path / "table.csv").write_text("\n".join(["a,b,kind", *lines]))
        if suffix == "parquet":
            pandas = pytest.importorskip("pandas")
            frame = pandas.read_csv(tmp_path / "table.csv")
            frame.to_parquet(tmp_path / "table.parquet")
        data = f"table.{suffix}"
        done = command("train", data, *LINE[2:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        done = command("predict", data, "model", "out", "--label", "3", cwd=tmp_path)
        assert "Accuracy = 100%" in done.stdout, done.stderr
        assert (tmp_path / "out").read_text().split() == list(map(str, labels * 10))


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

"""Parquet and Arrow files: the same models as from CSV, and types that do not fit."""

from __future__ import annotations

import datetime
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import widemargin
from widemargin.cli import files

from tests.cli.running import command
from tests.cli.test_mistakes import refusal
from tests.cli.test_mixed_tables import BOTH, customers

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
ipc = pytest.importorskip("pyarrow.ipc")
parquet = pytest.importorskip("pyarrow.parquet")


def stream(table: Any, path: str) -> None:
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


WRITERS = {
    "data.parquet": lambda table, path: parquet.write_table(
        table, path, row_group_size=9
    ),
    "data.PQ": parquet.write_table,
    "data.feather": feather.write_feather,
    "data.arrow": stream,
}


def arrow(rows: int = 80, seed: int = 0) -> Any:
    frame = customers(rows, seed)
    frame["size"] = frame["size"].replace("", None)
    return pa.Table.from_pandas(frame, preserve_index=False)


@pytest.mark.parametrize("name", WRITERS)
def test_the_model_and_its_predictions_are_those_of_csv(
    tmp_path: Path, name: str
) -> None:
    WRITERS[name](arrow(), str(tmp_path / name))
    arrow().to_pandas().to_csv(tmp_path / "data.csv", index=False)
    for source, model in ((name, "a"), ("data.csv", "b")):
        done = command("train", source, model, *BOTH, "indicator", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    new = customers(20, seed=1).drop(columns="buys")
    first, second = (widemargin.load(tmp_path / one) for one in "ab")
    assert_allclose(
        first.decision_function(new), second.decision_function(new), atol=1e-7
    )
    # either format is predicted by either model
    new.to_csv(tmp_path / "new.csv", index=False)
    WRITERS[name](pa.Table.from_pandas(new), str(tmp_path / f"new {name}"))
    written = []
    for source in ("new.csv", f"new {name}"):
        for model in "ab":
            done = command("predict", source, model, "out", cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            written.append((tmp_path / "out").read_text().split())
    assert written == [list(first.predict(new))] * 4


@pytest.mark.parametrize("spelling", [("True", "False"), ("TRUE", "FALSE")])
def test_truth_values_are_those_of_csv(
    tmp_path: Path, spelling: tuple[str, str]
) -> None:
    truth = np.arange(30) % 3 > 0
    table = pa.table({"member": truth, "label": np.where(truth, "a", "b")})
    WRITERS["data.parquet"](table, str(tmp_path / "data.parquet"))
    lines = [f"{spelling[0] if one else spelling[1]},{'ba'[int(one)]}" for one in truth]
    (tmp_path / "data.csv").write_text("\n".join(["member,label", *lines]))
    given = ("--label", "label")
    done = command(
        "train", "data.csv", "model", *given, "--categorical", "auto", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    for source in ("data.csv", "data.parquet"):
        done = command("evaluate", source, "model", *given, cwd=tmp_path)
        assert "accuracy           1.0000" in done.stdout
        assert "categories" not in done.stderr


def test_columns_of_many_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "i": pa.array([1, None, 3], pa.int8()),
            "u": pa.array([1, 2, 2**63], pa.uint64()),
            "f": pa.array([0.5, 1.5, float("nan")], pa.float32()),
            "t": pa.array([True, False, None]),
            "d": pa.array([Decimal("1.25"), Decimal("2.5"), None]),
            "n": pa.nulls(3),
            "s": pa.array(["x", None, "y"], pa.large_string()),
            "c": pa.array(["b", "a", "b"]).dictionary_encode(),
            "k": pa.array([7, 8, 7]).dictionary_encode(),
            "y": pa.array([1, 0, 1], pa.int16()),
        }
    )
    feather.write_feather(table, str(tmp_path / "t.arrow"))
    content = files.read(tmp_path / "t.arrow", label="y", mixed=("i",))
    nan = np.nan
    expected = [
        [0, 1, 0.5, 1, 1.25, nan, 0, 0, 0],
        [nan, 2, 1.5, 0, 2.5, nan, nan, 1, 1],
        [1, 2.0**63, nan, nan, nan, nan, 1, 0, 0],
    ]
    assert_array_equal(content.X, expected)
    assert_array_equal(content.y, [1, 0, 1])
    assert content.mixed is not None
    assert content.mixed.categories == {
        0: ["1", "3"], 6: ["x", "y"], 7: ["b", "a"], 8: ["7", "8"]
    }  # fmt: skip
    content = files.read(tmp_path / "t.arrow", label="-1", mixed=(), text_labels=True)
    assert_array_equal(content.y, ["1", "0", "1"])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([datetime.date(2020, 1, 1)] * 2), "'a' is of type date32[day]"),
        (pa.array([[1], [2]]), "'a' is of type list<"),
        (pa.array([b"x", b"y"]), "'a' is of type binary"),
        (pa.array([1.0, float("inf")]), "column 'a', row 2: not a finite number"),
        (pa.array(["x", "y"]), "'a' holds text; for categories: --categorical auto"),
        (pa.array([1, None]), "column 'a', row 2: no value; for missing values: --mis"),
    ],
)
def test_what_is_refused(tmp_path: Path, column: Any, message: str) -> None:
    parquet.write_table(pa.table({"a": column, "y": [0, 1]}), tmp_path / "t.parquet")
    line = ["train", "t.parquet", "model", "--label"]
    assert message in refusal(*line, "y", cwd=tmp_path)
    assert "no column 'Y'; did you mean 'y'?" in refusal(*line, "Y", cwd=tmp_path)


def test_labels_that_are_missing_and_files_that_are_damaged(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [1, 2], "y": ["p", None]}), tmp_path / "t.pq")
    line = ["train", "t.pq", "model", "--label", "y"]
    assert refusal(*line, cwd=tmp_path).endswith("t.pq: row 2: empty label")
    for name in WRITERS:
        (tmp_path / name).write_bytes(b"nothing of the kind")
        message = refusal("train", name, "model", "--label", "y", cwd=tmp_path)
        assert f"{name}: damaged, or not what its name says" in message
    message = refusal("train", "no.parquet", "model", "--label", "y", cwd=tmp_path)
    assert message.endswith("no.parquet: No such file or directory")


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet.write_table(arrow(), tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = refusal("train", "t.parquet", "model", "--label", "buys", cwd=tmp_path)
    assert message.endswith("need pyarrow: pip install 'widemargin[parquet]'")

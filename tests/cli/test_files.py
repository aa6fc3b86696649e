"""Data files: what is read, and where the first error is said to be."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from widemargin.cli import files, sample_collector
from widemargin.cli.files import read
from widemargin.cli.parsed_data import DataError


def write(tmp_path: Path, text: str | bytes, name: str = "data") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X


def test_libsvm_format(tmp_path: Path) -> None:
    path = write(
        tmp_path, "+1 1:0.5 3:-2e-3 # remark\r\n\n# all of it\n-1\n1\t2:.5 4:1\n"
    )
    data = read(path)
    assert_array_equal(data.y, [1, -1, 1])
    assert data.y.dtype == np.int64
    assert_array_equal(
        dense(data.X), [[0.5, 0, -2e-3, 0], [0, 0, 0, 0], [0, 0.5, 0, 1]]
    )


@pytest.mark.parametrize("piece", [1, 1 << 22])
def test_a_byte_order_mark_is_no_part_of_the_label(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", piece)
    assert_array_equal(read(write(tmp_path, "\ufeff1 1:2\n-1 1:3\n")).y, [1, -1])
    with pytest.raises(DataError, match="no samples"):
        read(write(tmp_path, "\ufeff"))


def test_full_rows_become_dense_and_sparse_ones_stay_sparse(tmp_path: Path) -> None:
    assert isinstance(read(write(tmp_path, "1 1:1 2:2\n2 1:3\n")).X, np.ndarray)
    assert sparse.issparse(read(write(tmp_path, "1 1:1 90:2\n2 1:3\n")).X)


def test_labels_with_fractions_stay_floats(tmp_path: Path) -> None:
    assert_array_equal(read(write(tmp_path, "0.5 1:1\n1.5 1:2\n")).y, [0.5, 1.5])


@pytest.mark.parametrize("piece", [1, 7, 64, 1 << 22])
def test_agrees_with_scikit_learn_whatever_the_pieces(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", piece)
    rng = np.random.default_rng(0)
    values = rng.standard_normal((40, 9)) * 10.0 ** rng.integers(-12, 12, (40, 9))
    X = sparse.csr_matrix(values * (rng.random((40, 9)) < 0.3))
    path = tmp_path / "data"
    dump_svmlight_file(X, rng.integers(0, 5, 40), str(path), zero_based=False)
    expected, labels = load_svmlight_file(str(path))
    found = read(path)
    assert_array_equal(dense(found.X), expected.toarray())
    assert_array_equal(found.y, labels)


def test_numbers_are_exact(tmp_path: Path) -> None:
    texts = ["0.1", "1e-320", "123456789012345678901234567890", "4.9e-324", "1e-999"]
    texts += ["9007199254740993", "1.7976931348623157e308", "+5.", ".5e+3", "000.25"]
    line = " ".join(f"{i + 1}:{text}" for i, text in enumerate(texts))
    X = dense(read(write(tmp_path, f"1 {line}\n")).X)
    assert_array_equal(X[0], [float(text) for text in texts])


@pytest.mark.parametrize("opener", [lzma, bz2, gzip])
def test_compressed(tmp_path: Path, opener: Any) -> None:
    suffix = {lzma: ".xz", bz2: ".bz2", gzip: ".gz"}[opener]
    path = tmp_path / f"data{suffix}"
    path.write_bytes(opener.compress(b"1 1:2\n-1 1:3\n"))
    assert_array_equal(read(path).X, [[2.0], [3.0]])
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(DataError, match="damaged archive"):
        read(path)
    path.write_bytes(b"no archive at all")
    with pytest.raises(DataError, match="damaged archive"):
        read(path)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_how_far_the_reading_is(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", 64)
    text = b"1 1:2\n" * 50
    path = write(tmp_path, gzip.compress(text) if suffix else text, f"data{suffix}")
    seen: list[tuple[int, int]] = []
    read(path, watch=lambda *state: seen.append(state))
    size = path.stat().st_size
    assert seen[-1] == (size, size)
    assert seen == sorted(seen)
    assert len(seen) > 3


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("1 1:1\nx 1:1\n", "2:1", "label 'x'"),
        ("1 1:1 1:2\n", "1:7", "given twice"),
        ("1 3:1 2:2\n", "1:7", "out of order"),
        ("1 0:1\n", "1:3", "indices start at 1"),
        ("1 -1:1\n", "1:3", "negative"),
        ("1 99999999999999999999:1\n", "1:3", "too large"),
        ("1 2147483648:1\n", "1:3", "too large"),
        ("1 1:1e999\n", "1:5", "not a finite number"),
        ("1 1:nan\n", "1:5", "not a finite number"),
        ("1 1:inf\n", "1:5", "not a finite number"),
        ("1 1:--3\n", "1:5", "not a finite number"),
        ("1 1:0x10\n", "1:5", "not a finite number"),
        ("1 1:\n", "1:5", "not a finite number"),
        ("1 1:1,5\n", "1:5", "not a finite number"),
        ("1 qid:3 1:1\n", "1:3", "not index:value"),
        ("1 1\n", "1:3", "not index:value"),
        ("1 1:2\n\n#\n1 1:\x00\n", "4:5", "not a finite number"),
        ("\x00\n", "1:1", "label '?'"),
        ("nan 1:1\n", "1:1", "label 'nan'"),
        ("1 2:3x\n", "1:5", "'3x'"),
    ],
)
def test_errors_have_line_and_column(
    tmp_path: Path, text: str, where: str, what: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{where}: ")
    assert what in str(caught.value)


def test_files_without_samples(tmp_path: Path) -> None:
    for text in ("", "\n\n", "# nothing\n"):
        with pytest.raises(DataError, match="no samples"):
            read(write(tmp_path, text))
    with pytest.raises(DataError, match="No such file"):
        read(tmp_path / "missing")
    with pytest.raises(DataError, match=r"[Dd]irectory"):
        read(tmp_path)


def test_a_feature_number_beyond_reason(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="beyond the 50000000 supported"):
        read(write(tmp_path, "1 2000000000:1\n"))


def test_serial_numbers_of_a_precomputed_kernel(tmp_path: Path) -> None:
    path = write(tmp_path, "1 0:1 1:4 2:1\n-1 0:2 1:1 2:3\n")
    assert_array_equal(dense(read(path, serial_numbers=True).X), [[4, 1], [1, 3]])


def test_csv_with_a_header(tmp_path: Path) -> None:
    text = '\ufeff"a",b,kind\n1,2,x\n3,-4e1,"y ""z"""\n\n'
    data = read(write(tmp_path, text, "data.csv"), label="kind")
    assert data.names == ["a", "b"]
    assert_array_equal(data.X, [[1, 2], [3, -40]])
    assert_array_equal(data.y, ["x", 'y "z"'])


@pytest.mark.parametrize(("label", "expected"), [("1", [5, 8]), ("-1", [7, 10])])
def test_csv_without_a_header(tmp_path: Path, label: str, expected: list[int]) -> None:
    data = read(write(tmp_path, "5;6;7\n8;9;10\n"), label=label)
    assert data.names is None
    assert_array_equal(data.y, expected)
    assert data.X.shape == (2, 2)


@pytest.mark.parametrize("piece", [1, 5, 1 << 22])
def test_csv_labels_agree_across_pieces(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", piece)
    labels = [f"c{i % 3}" for i in range(50)]
    text = "x,label\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels))
    data = read(write(tmp_path, text), label="label")
    assert_array_equal(data.y, labels)
    assert_allclose(data.X.ravel(), np.arange(50))


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("a,b\n1,x\n2,\n", "", "no column is left"),
        ("a,c,b\n1,2,x\n2,q,y\n", "3:3", "'q' is not a finite number"),
        ("a,c,b\n1,,x\n", "2:3", "empty value"),
        ("a,c,b\n1,2\n", "2:4", "only 2 of 3 columns"),
        ("a,c,b\n1,2,x,4\n", "2:6", "more than 3 columns"),
        ("a,c,b\n1,2,\n", "2:5", "empty label"),
        ('a,c,b\n1,2,"x\n', "2:5", "not closed"),
        ("a,c,b\n1,1e999,x\n", "2:3", "not a finite number"),
        ("a,c,b\n1,2,\x00\n", "2:5", "NUL"),
        ("a,c,d\n1,2,3\n", "1:1", "no column 'b'"),
        ("1,2,3\n", "1:1", "names none; give a number from 1 to 3, or -1"),
        ("a,b,b\n1,2,3\n", "1:1", "two columns"),
        ("a;c;b\n1;2,5;x\n", "2:3", "'2,5' is not a finite number: write numbers"),
        ('a,c,b\n1,"2,5",x\n', "2:3", "'2,5' is not a finite number: write numbers"),
        ("a,c,b\n1,2,x\n1,y\n", "3:3", "in this line: 2, in the first line: 3"),
        ("a,b\r1,2\r3,4", "", "end with a carriage return"),
        ("\x01\x02,b\n1,2\n", "1:1", "not CSV text"),
    ],
)
def test_csv_errors(tmp_path: Path, text: str, where: str, what: str) -> None:
    if "no column is left" in what:
        text, label = "b\nx\ny\n", "b"
    else:
        label = "b"
    with pytest.raises(DataError) as caught:
        read(write(tmp_path, text, "data.csv"), label=label)
    assert where in str(caught.value)
    assert what in str(caught.value)


def test_csv_of_other_encodings(tmp_path: Path) -> None:
    """As spreadsheets write them."""
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,x\n", encoding="utf-16")
    with pytest.raises(DataError, match="UTF-16 text; save the table as UTF-8"):
        read(str(path), label="b")


def test_csv_asks_for_the_label(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1,2\n", "data.csv")
    with pytest.raises(DataError, match="--label"):
        read(path)
    assert read(path, label_required=False).y is None


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_memory_stays_below_twice_the_parsed_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(files, "_PIECE", 1 << 16)
    rng = np.random.default_rng(0)
    X = sparse.random(20_000, 40, density=share, format="csr", rng=rng)
    path = tmp_path / "data"
    dump_svmlight_file(X, np.ones(20_000), str(path), zero_based=False)
    tracemalloc.start()
    found = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    X = found.X
    arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    parsed = sum(array.nbytes for array in (*arrays, found.y))
    assert sparse.issparse(X) == (share < 0.2)
    assert peak < 2 * parsed


def test_rows_that_grow_wider_than_the_first_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", 4)
    X = read(write(tmp_path, "1 1:1\n1 1:2 2:3\n1 3:4\n")).X
    assert_array_equal(X, [[1, 0, 0], [2, 3, 0], [0, 0, 4]])


def test_a_width_that_grows_late_falls_back_to_sparse_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", 1 << 12)
    lines = ["1 1:1 2:2\n", "-1 1:0 2:-1\n"] * 5_000  # 100 kB
    path = write(tmp_path, "".join([*lines, "1 2:5 49999999:7\n", "1 1:3\n"]))
    tracemalloc.start()
    X = read(path).X  # dense it would take 4 TB
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sparse.issparse(X)
    assert X.shape == (10_002, 49_999_999)
    assert peak < 2_000_000
    assert_array_equal(X[:10_000, :2].toarray(), [[1, 2], [0, -1]] * 5_000)
    assert_array_equal(X[10_000:, [0, 1, 49_999_998]].toarray(), [[0, 5, 7], [3, 0, 0]])


def test_rows_that_become_emptier_fall_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", 1 << 12)
    full = "1 " + " ".join(f"{i}:{i}" for i in range(1, 301)) + "\n"
    path = write(tmp_path, full * 2 + "1 7:1\n" * 20_000)
    tracemalloc.start()
    X = read(path).X  # dense it would take 48 MB
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sparse.issparse(X)
    assert peak < 3_000_000
    assert_array_equal(X[:2].toarray(), [np.arange(1, 301)] * 2)
    assert_array_equal(X[2:].sum(axis=0)[0, 6], 20_000)
    assert X[2:].nnz == 20_000


def test_dense_rows_that_grow_wider_are_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", 1 << 16)
    monkeypatch.setattr(sample_collector, "_BLOCK", 1 << 12)
    values = np.random.default_rng(0).standard_normal((20_000, 40)).round(3)
    path = tmp_path / "data"
    dump_svmlight_file(values, np.ones(20_000), str(path), zero_based=False)
    with open(path, "a") as file:
        file.write("1 41:1\n")
    tracemalloc.start()
    X = read(path).X
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(X, np.ndarray)
    assert peak < 1.6 * X.nbytes
    assert_array_equal(X[:-1, :40], values)
    assert_array_equal(X[:, 40], np.arange(20_001) == 20_000)


@pytest.mark.parametrize("piece", [1, 1 << 22])
def test_comments_first(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PIECE", piece)
    assert_array_equal(read(write(tmp_path, "# remark\n1 1:2\n")).X, [[2.0]])

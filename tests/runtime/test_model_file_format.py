"""The file format: round trips, crashes half-way, and hostile bytes."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from widemargin.runtime import model_file_format
from widemargin.runtime.model_file_format import StorageError

HEADER = {
    "text": "größer 🌄",
    "list": [1, 2.5, None, True, {"deep": []}],
    "huge": 2**70,
    "nan": float("nan"),
    "minus": float("-inf"),
}
ARRAYS = {
    "floats": np.arange(12.0).reshape(3, 4),
    "small": np.arange(5, dtype=np.float32),
    "empty": np.empty((0, 7), dtype=np.int32),
    "scalar": np.array(3, dtype=np.int64),
    "flags": np.array([True, False]),
    "names": np.array(["a", "längst", "🌄"]),
    "bytes": np.array([b"ab", b"c"]),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.wm"
    model_file_format.write(path, "model", HEADER, ARRAYS)
    return path


def sealed(
    document: object, payload: bytes = b"", version: int = model_file_format.VERSION
) -> bytes:
    """A file with a correct checksum around any document: only bounds protect."""
    text = (
        json.dumps(document).encode() if not isinstance(document, bytes) else document
    )
    start = struct.calcsize("<8sIQ32s") + len(text)
    body = text + bytes(-start % 64 if payload else 0) + payload
    digest = hashlib.sha256(body).digest()
    return (
        struct.pack("<8sIQ32s", model_file_format.MAGIC, version, len(text), digest)
        + body
    )


def document(*arrays: object) -> dict[str, object]:
    return {"kind": "model", "header": {}, "arrays": list(arrays)}


def test_round_trip_keeps_values_dtypes_and_shapes(model: Path) -> None:
    stored = model_file_format.read(model, kind="model")
    assert stored.kind == "model"
    assert {k: v for k, v in stored.header.items() if k != "nan"} == {
        k: v for k, v in HEADER.items() if k != "nan"
    }
    assert np.isnan(stored.header["nan"])
    assert list(stored.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert_array_equal(stored.arrays[name], array, strict=True)
        assert stored.arrays[name].flags.writeable


def test_big_endian_and_fortran_order_are_stored_as_values(tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(6, dtype=">f8").reshape(2, 3))
    model_file_format.write(tmp_path / "a", "model", {}, {"a": array})
    assert_array_equal(model_file_format.read(tmp_path / "a").arrays["a"], array)


def test_numpy_scalars_and_tuples_in_the_header(tmp_path: Path) -> None:
    model_file_format.write(
        tmp_path / "a", "x", {"n": np.int32(3), "t": (np.float64(1), 2)}, {}
    )
    assert model_file_format.read(tmp_path / "a").header == {"n": 3, "t": [1.0, 2]}


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, np.arange(2), {3: 4}, {"$float": 1}]
)
def test_header_refuses_what_is_not_json(tmp_path: Path, value: object) -> None:
    with pytest.raises(ValueError, match="header"):
        model_file_format.write(tmp_path / "a", "x", {"value": value}, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "array", [np.array([object()]), np.array([1j]), np.empty([1] * 9)]
)
def test_arrays_refuse_what_would_need_pickle(tmp_path: Path, array: object) -> None:
    with pytest.raises(ValueError, match="cannot be stored"):
        model_file_format.write(tmp_path / "a", "x", {}, {"a": array})


@pytest.mark.parametrize("more", [0, 1])
def test_a_header_is_deflated_up_to_64_kilobytes(tmp_path: Path, more: int) -> None:
    empty = json.dumps(document() | {"header": {"a": ""}}, separators=(",", ":"))
    header = {"a": "a" * ((1 << 16) - len(empty) + more)}
    model_file_format.write(tmp_path / "a", "model", header, {})
    assert model_file_format.read(tmp_path / "a").header == header
    assert ((tmp_path / "a").stat().st_size < 1000) == (more == 0)


def test_a_file_of_the_format_before_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(sealed(document(), version=2))
    assert model_file_format.read(tmp_path / "a").header == {}


@pytest.mark.parametrize(
    "text",
    [
        zlib.compress(b'{"kind":"m","header":{},"arrays":[]}' + b" " * (1 << 24)),
        zlib.compress(b'{"kind":"m","header":{},"arrays":[]}') + b"more",
        zlib.compress(b'{"kind":"m","header":{},"arrays":[]}')[:-1],
        zlib.compress(b"[" * 60_000),
        b"\x78\xda but no stream",
    ],
    ids=["bomb", "more", "less", "nested", "noise"],
)
def test_hostile_deflated_headers(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a").write_bytes(sealed(text))
    tracemalloc.start()
    try:
        with pytest.raises(StorageError, match="damaged: the header"):
            model_file_format.read(tmp_path / "a")
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_other_kind_is_refused(model: Path) -> None:
    with pytest.raises(StorageError, match="holds a 'model', not a 'checkpoint'"):
        model_file_format.read(model, kind="checkpoint")


@pytest.mark.parametrize(
    ("version", "remedy"),
    [(1, "train the model again"), (model_file_format.VERSION + 1, "upgrade")],
)
def test_other_version_is_refused(tmp_path: Path, version: int, remedy: str) -> None:
    (tmp_path / "a").write_bytes(sealed(document(), version=version))
    with pytest.raises(StorageError, match=f"format {version}.*{remedy}"):
        model_file_format.read(tmp_path / "a")


def test_every_flipped_byte_is_noticed(model: Path) -> None:
    good = model.read_bytes()
    for position in range(0, len(good), 3):
        bad = bytearray(good)
        bad[position] ^= 0x10
        model.write_bytes(bad)
        with pytest.raises(StorageError):
            model_file_format.read(model)


def test_every_truncation_is_noticed(model: Path) -> None:
    good = model.read_bytes()
    for length in range(0, len(good), 7):
        model.write_bytes(good[:length])
        with pytest.raises(StorageError):
            model_file_format.read(model)
    model.write_bytes(good + b"x")
    with pytest.raises(StorageError, match="too many"):
        model_file_format.read(model)


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (["a", "<f8", [1 << 50]], "malformed shape"),
        (["a", "<f8", [1 << 39]], "does not fit"),
        (["a", "<f8", [1 << 30, 1 << 30, 0]], "too large"),
        (["a", "<f8", [-1]], "malformed shape"),
        (["a", "<f8", [True]], "malformed shape"),
        (["a", "<f8", [1.0]], "malformed shape"),
        (["a", "<f8", [1] * 9], "malformed shape"),
        (["a", "<f8", "1"], "malformed shape"),
        (["a", "|O8", [1]], "dtype"),
        (["a", ">f8", [1]], "dtype"),
        (["a", "<U9999999", [1]], "dtype"),
        (["a", "<b8", [1]], "dtype"),
        (["a", ["<f8"], [1]], "dtype"),
        ([1, "<f8", [1]], "name"),
        (["a", "<f8"], "malformed list"),
        (["a", "<f8", [2]], "does not fit"),
        (["a", "<f4", [1]], "too many"),
    ],
)
def test_hostile_array_lists(tmp_path: Path, listed: object, message: str) -> None:
    (tmp_path / "a").write_bytes(sealed(document(listed), bytes(8)))
    with pytest.raises(StorageError, match=message):
        model_file_format.read(tmp_path / "a")


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b"{}",
        b"[]",
        b"null",
        b'{"kind":1,"header":{},"arrays":[]}',
        b'{"kind":"m","kind":"m","header":{},"arrays":[]}',
        b'{"kind":"m","header":{"a":NaN},"arrays":[]}',
        b'{"kind":"m","header":{"a":1e999},"arrays":[]}',
        b'{"kind":"m","header":{"a":{"$float":"1"}},"arrays":[]}',
        b'{"kind":"m","header":{"a":' + b"1" * 5000 + b'},"arrays":[]}',
        b'{"kind":"m","header":{"a":"\\ud800"},"arrays":[]}',
        b'{"kind":"\xff","header":{},"arrays":[]}',
    ],
)
def test_hostile_headers(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a").write_bytes(sealed(text))
    with pytest.raises(StorageError, match="damaged"):
        model_file_format.read(tmp_path / "a")


def test_bytes_that_are_no_value_of_their_dtype(tmp_path: Path) -> None:
    for dtype, payload in [("|b1", b"\x02"), ("<U1", b"\xff\xff\xff\x7f")]:
        listed = ["a", dtype, [1]]
        (tmp_path / "a").write_bytes(sealed(document(listed), payload))
        with pytest.raises(StorageError, match="array 'a'"):
            model_file_format.read(tmp_path / "a")


def test_an_interrupted_write_leaves_the_old_file(model: Path) -> None:
    before = model.read_bytes()
    with pytest.raises(KeyboardInterrupt), model_file_format.replacing(model) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert model.read_bytes() == before
    assert os.listdir(model.parent) == [model.name]


def test_a_link_is_followed_not_replaced(model: Path) -> None:
    link = model.with_name("link")
    link.symlink_to(model)
    model_file_format.write(link, "model", {"new": 1}, {})
    assert link.is_symlink()
    assert model_file_format.read(model).header == {"new": 1}


def test_foreign_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(StorageError, match="not a widemargin file"):
        model_file_format.read(tmp_path / "a")
    (tmp_path / "b").write_text("svm_type c_svc\nkernel_type rbf\ngamma 0.5\n")
    with pytest.raises(StorageError, match=r"read LIBSVM's .* widemargin\.from_libsvm"):
        model_file_format.read(tmp_path / "b")
    with pytest.raises(StorageError, match="not a regular file"):
        model_file_format.read(tmp_path)
    with pytest.raises(FileNotFoundError):
        model_file_format.read(tmp_path / "missing")

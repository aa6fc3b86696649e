r"""A JSON header and named arrays in one file that is safe to open.

The problem: models and checkpoints must survive a crash, a truncated copy and a hostile
sender. Pickle runs whatever the file says; a bare ``.npz`` has neither a checksum
nor a kind. The file here is data only::

    magic      8 bytes   b"\x89WMARG\r\n"
    version    uint32    layout of this file, see ``VERSION``
    length     uint64    bytes of the header
    digest     32 bytes  SHA-256 of everything that follows
    header     JSON      {"kind", "header", "arrays": [[name, dtype, shape], ...]},
                         deflated (zlib) where it has at most 64 kB: of small models it
                         would be half of the file
    arrays               little-endian, C order, each starting at a multiple of 64

Offsets are not stored but follow from the list of arrays, so that they cannot
overlap or point outside; the sizes must add up to the size of the file *before*
anything is allocated. A file is written whole or not at all
(`widemargin.runtime.atomic_file`).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .atomic_file import replacing

MAGIC = b"\x89WMARG\r\n"
#: 2: models that keep their rows name the parts of a task anew; 3: deflated headers
VERSION = 3
_READABLE = (2, VERSION)
_PREFIX = struct.Struct("<8sIQ32s")
_ALIGNMENT = 64
_MAX_HEADER = 1 << 28  # bytes: no model has 256 MB of JSON
_MAX_DEFLATED = 1 << 16  # bytes before: what a hostile file can make of few
_MAX_DIMENSIONS = 8
_DTYPE = re.compile(r"[<|](?:[biuf][1248]|[US][1-9][0-9]{0,5})")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")  # half of a surrogate pair, unprintable
_CHUNK = 1 << 22


class StorageError(ValueError):
    """The file is not what it should be: foreign, damaged, truncated or hostile."""


@dataclass(frozen=True)
class Stored:
    """What a file holds.

    Attributes
    ----------
    kind : str
        What the writer said this is, such as ``"model"`` or ``"checkpoint"``.
    header : dict
        The JSON header: numbers, strings, lists and dictionaries only.
    arrays : dict of str to ndarray
        The named arrays, with the dtype and shape they were written with.
    """

    kind: str
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write a header and arrays to ``path``, atomically.

    Parameters
    ----------
    path : path-like
        The file to make or replace.
    kind : str
        What it is; `read` can insist on it.
    header : mapping
        JSON values. NumPy scalars become Python ones, tuples become lists; NaN and
        the infinities survive.
    arrays : mapping of str to ndarray
        Booleans, integers, floats (2, 4 or 8 bytes) or fixed-width strings.
    """
    stored = {name: _storable(name, np.asarray(a)) for name, a in arrays.items()}
    document = {
        "kind": kind,
        "header": _encode(header),
        "arrays": [[k, a.dtype.str, list(a.shape)] for k, a in stored.items()],
    }
    text = json.dumps(
        document, allow_nan=False, ensure_ascii=False, separators=(",", ":")
    ).encode()
    if len(text) > _MAX_HEADER:
        raise ValueError(
            f"the header of {os.fspath(path)!r} takes {len(text)} bytes of JSON, over "
            f"{_MAX_HEADER}: move large values into arrays"
        )
    if len(text) <= _MAX_DEFLATED:
        text = zlib.compress(text, 9)
    with replacing(path) as file:
        file.write(_PREFIX.pack(MAGIC, VERSION, len(text), bytes(32)))
        digest = hashlib.sha256()
        for part in _parts(text, stored):
            digest.update(part)
            file.write(part)
        file.seek(0)
        file.write(_PREFIX.pack(MAGIC, VERSION, len(text), digest.digest()))


def read(path: str | os.PathLike[str], kind: str | None = None) -> Stored:
    """Read a file made by `write`; every byte is checked before it is used.

    Parameters
    ----------
    path : path-like
        The file.
    kind : str, optional
        Refuse a file of another kind.

    Returns
    -------
    Stored

    Raises
    ------
    StorageError
        If the file is foreign, of another version or kind, truncated, altered, or
        asks for more than it holds.
    OSError
        If it cannot be opened or read.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait forever
        raise StorageError(f"{os.fspath(path)!r} is not a regular file")
    with open(path, "rb") as file:
        try:
            return _read(file, os.fstat(file.fileno()).st_size, kind)
        except StorageError as error:
            raise StorageError(f"{os.fspath(path)!r}: {error}") from error


def _storable(name: str, array: NDArray[Any]) -> NDArray[Any]:
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    if not _allowed_dtype(little.dtype.str) or array.ndim > _MAX_DIMENSIONS:
        raise ValueError(
            f"array {name!r} of dtype {array.dtype} and {array.ndim} dimensions cannot "
            "be stored: use booleans, integers, floats or fixed-width strings"
        )
    return little


def _allowed_dtype(text: str) -> bool:
    return _DTYPE.fullmatch(text) is not None and text[1:] not in {
        "b2",
        "b4",
        "b8",
        "f1",
    }


def _parts(text: bytes, arrays: Mapping[str, NDArray[Any]]) -> Iterator[bytes]:
    """Everything after the prefix, piece by piece."""
    yield text
    position = _PREFIX.size + len(text)
    for array in arrays.values():
        yield bytes(-position % _ALIGNMENT)
        position += -position % _ALIGNMENT + array.nbytes
        if array.size:
            flat = array.reshape(-1).view(np.uint8).data
            for start in range(0, array.nbytes, _CHUNK):
                yield bytes(flat[start : start + _CHUNK])


def _read(file: BinaryIO, size: int, kind: str | None) -> Stored:
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size or prefix[:8] != MAGIC:
        libsvm = prefix.startswith(b"svm_type")
        remedy = "; read LIBSVM's model files by widemargin.from_libsvm, or import them"
        raise StorageError(f"not a widemargin file{remedy if libsvm else ''}")
    _, version, length, expected = _PREFIX.unpack(prefix)
    if version not in _READABLE:
        raise StorageError(
            f"written in format {version}, and this widemargin reads format {VERSION}: "
            + (
                "upgrade widemargin"
                if version > VERSION
                else "train the model again, or use the widemargin that wrote it"
            )
        )
    if length > _MAX_HEADER or _PREFIX.size + length > size:
        raise StorageError("truncated: the header does not fit in the file")
    digest = hashlib.sha256()
    document = _document(_inflated(_exactly(file, length, digest)))
    layout = _layout(document["arrays"], _PREFIX.size + length, size)
    arrays: dict[str, NDArray[Any]] = {}
    for name, dtype, shape, padding in layout:
        if any(_exactly(file, padding, digest)):
            raise StorageError("damaged: padding is not empty")
        arrays[name] = _read_array(file, dtype, shape, digest)
    if digest.digest() != expected:
        raise StorageError("damaged: the checksum does not match the content")
    for name, array in arrays.items():
        _check_content(name, array)
    if kind is not None and document["kind"] != kind:
        raise StorageError(f"holds a {document['kind']!r}, not a {kind!r}")
    return Stored(document["kind"], document["header"], arrays)


def _inflated(text: bytes) -> bytes:
    """Return a header as it was before it was deflated, if it was."""
    if text[:1] == b"{":
        return text
    stream = zlib.decompressobj()
    try:
        whole = stream.decompress(text, _MAX_DEFLATED + 1)
    except zlib.error as error:
        raise StorageError("damaged: the header cannot be inflated") from error
    if not stream.eof or stream.unused_data or len(whole) > _MAX_DEFLATED:
        raise StorageError("damaged: the header does not end where it should")
    return whole


def _exactly(file: BinaryIO, count: int, digest: Any) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise StorageError("truncated")
    digest.update(data)
    return data


def _read_array(
    file: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...], digest: Any
) -> NDArray[Any]:
    array: NDArray[Any] = np.empty(shape, dtype)
    if array.size:
        flat = array.reshape(-1).view(np.uint8).data
        for start in range(0, array.nbytes, _CHUNK):
            piece = flat[start : start + _CHUNK]
            if file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
                raise StorageError("truncated")
            digest.update(piece)
    return array


def _layout(
    listed: list[Any], position: int, size: int
) -> list[tuple[str, np.dtype[Any], tuple[int, ...], int]]:
    """Check the list of arrays against the size of the file; nothing is allocated."""
    layout = []
    names: set[str] = set()
    for entry in listed:
        if not (isinstance(entry, list) and len(entry) == 3):
            raise StorageError("malformed list of arrays")
        name, text, shape = entry
        if not isinstance(name, str) or name in names:
            raise StorageError(f"malformed or repeated array name {name!r:.80}")
        if not isinstance(text, str) or not _allowed_dtype(text):
            raise StorageError(f"array {name!r:.80}: dtype {text!r:.80} is not allowed")
        dtype = np.dtype(text)
        padding = -position % _ALIGNMENT
        position += padding + _checked_bytes(name, shape, dtype.itemsize)
        if position > size:
            raise StorageError(f"truncated: array {name!r:.80} does not fit")
        names.add(name)
        layout.append((name, dtype, tuple(shape), padding))
    if position != size:
        raise StorageError(f"{size - position} bytes too many at the end")
    return layout


def _checked_bytes(name: str, shape: Any, itemsize: int) -> int:
    if not (isinstance(shape, list) and len(shape) <= _MAX_DIMENSIONS):
        raise StorageError(f"array {name!r:.80}: malformed shape")
    total = itemsize
    for extent in shape:
        if type(extent) is not int or extent < 0 or extent > 1 << 40:
            raise StorageError(f"array {name!r:.80}: malformed shape {shape!r:.80}")
        # an empty array may be wide, yet NumPy multiplies its other extents too
        if max(extent, 1) * total >= 1 << 62:
            raise StorageError(f"array {name!r:.80}: shape {shape!r:.80} is too large")
        total *= max(extent, 1)
    return 0 if 0 in shape else total


def _check_content(name: str, array: NDArray[Any]) -> None:
    """Refuse bytes that are no value of their dtype."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise StorageError(f"array {name!r:.80}: a boolean that is neither 0 nor 1")
    if array.dtype.kind == "U" and array.size:
        codes = array.reshape(-1).view(np.uint32)
        if codes.max() > 0x10FFFF or np.any((codes >= 0xD800) & (codes < 0xE000)):
            raise StorageError(f"array {name!r:.80}: not Unicode text")


def _document(text: bytes) -> dict[str, Any]:
    if _SURROGATE.search(text):
        raise StorageError("damaged: the header is not Unicode text")
    try:
        document = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_decode_object,
            parse_float=_finite,
            parse_constant=_finite,
        )
    except StorageError:
        raise
    except (ValueError, RecursionError) as error:
        raise StorageError("damaged: the header is not valid JSON") from error
    if not (
        isinstance(document, dict)
        and set(document) == {"kind", "header", "arrays"}
        and isinstance(document["kind"], str)
        and isinstance(document["header"], dict)
        and isinstance(document["arrays"], list)
    ):
        raise StorageError("damaged: the header lacks kind, header or arrays")
    return document


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise StorageError(f"damaged: {text[:40]!r} is not a JSON number")
    return value


def _decode_object(pairs: list[tuple[str, Any]]) -> Any:
    if len(pairs) == 1 and pairs[0][0] == "$float":
        if pairs[0][1] not in ("nan", "inf", "-inf"):
            raise StorageError("damaged: malformed number in the header")
        return float(pairs[0][1])
    result = dict(pairs)
    if len(result) != len(pairs):
        raise StorageError("damaged: a repeated key in the header")
    return result


def _encode(value: Any) -> Any:
    """Turn a header value into strict JSON, or say what cannot be stored."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        # JSON has no NaN nor infinity
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or key == "$float":
                raise ValueError(f"header key {key!r} must be a string, not '$float'")
        return {key: _encode(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(entry) for entry in value]
    raise ValueError(
        f"a header cannot hold {type(value).__name__}: put arrays into `arrays` and "
        "other objects into numbers, strings, lists and dictionaries"
    )

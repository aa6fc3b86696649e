"""Data files: LIBSVM's format and CSV, compressed or not, within bounded memory.

A file is read in pieces of a few megabytes, each parsed by compiled code into arrays
that grow in place, so that the peak stays well below twice the parsed size. The first
offence is reported with file, line and column.
"""

from __future__ import annotations

import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from widemargin import _core
from widemargin.cli.streams import STANDARD, Counted, inner_suffix, reading

_PIECE = 1 << 22
_MAX_LINE = 1 << 28
_MAX_FEATURES = 50_000_000  # an index beyond is a typing error, not a feature
_LABEL_HINT = "; if this column is the label, say so: --label COLUMN"
_DENSE_SHARE = 0.2  # above this share of non-zeros kernels are faster on dense rows


class DataError(ValueError):
    """A data file cannot be read; the message has its name, line and column."""


@dataclass(frozen=True)
class Data:
    """Samples, their labels if the file has them, and the names of the features.

    ``table`` says that every row has every column (CSV); in LIBSVM's format a feature
    that is not there is zero, and nobody knows how many there are.
    """

    X: Any
    y: NDArray[Any] | None
    names: list[str] | None = None
    table: bool = False


def read(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    label_required: bool = True,
    serial_numbers: bool = False,
    watch: Callable[[int, int], None] | None = None,
) -> Data:
    """Read a data file.

    Parameters
    ----------
    path : path-like
        LIBSVM's format, or CSV if ``label`` is given or the name ends in ``.csv`` or
        ``.tsv``; either may be compressed with xz, bz2 or gzip, and a pipe. ``-`` is
        standard input.
    label : str, optional
        CSV: name or number (counted from 1) of the column that holds the label.
    label_required : bool, default=True
        Whether a CSV file without that column is refused. Otherwise all of its columns
        are features.
    serial_numbers : bool, default=False
        LIBSVM's precomputed kernels: each row starts with ``0:serial``, dropped here.
    watch : callable, optional
        Told, every few megabytes, how many bytes of the file have been read, and its
        size, which is 0 for a pipe.
    """
    given = os.fspath(path)
    shown = "stdin" if given == STANDARD else given
    try:
        with reading(given) as (file, counted):
            pieces = _watched(_unmarked(_pieces(file, shown)), counted, watch)
            if label is not None or inner_suffix(given) in (".csv", ".tsv"):
                return _read_csv(pieces, shown, label, label_required)
            return _read_svmlight(pieces, shown, serial_numbers)
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{shown}: damaged archive: {error}") from error
    except OSError as error:
        if error.errno is None:  # bz2 reports damage as an OSError of its own
            raise DataError(f"{shown}: damaged archive: {error}") from error
        raise DataError(f"{shown}: {error.strerror}") from error


class _Growing:
    """A one-dimensional array that grows in place (the system moves no pages)."""

    def __init__(self, dtype: DTypeLike) -> None:
        self._array: NDArray[Any] = np.empty(1024, dtype)
        self._size = 0

    def extend(self, values: NDArray[Any]) -> None:
        needed = self._size + len(values)
        if needed > len(self._array):
            room = max(needed, len(self._array) + len(self._array) // 4)
            self._array.resize(room, refcheck=False)
        self._array[self._size : needed] = values
        self._size = needed

    def finish(self, columns: int | None = None) -> NDArray[Any]:
        """Return the values, in rows of so many columns; the array owns its memory."""
        rows = self._size // max(columns or 1, 1)
        shape = (rows,) if columns is None else (rows, columns)
        self._array.resize(shape, refcheck=False)
        return self._array


def _pieces(file: IO[bytes], path: str) -> Iterator[bytes]:
    """Whole lines, a few megabytes at a time."""
    rest = b""
    while block := file.read(_PIECE):
        end = block.rfind(b"\n") + 1
        if not end:
            rest += block
            if len(rest) > _MAX_LINE:
                raise DataError(f"{path}: a line longer than {_MAX_LINE} bytes")
            continue
        yield rest + block[:end]
        rest = block[end:]
    if rest:
        yield rest


def _unmarked(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Without the byte-order mark that spreadsheets and editors put at the start."""
    first = next(pieces, b"").removeprefix(b"\xef\xbb\xbf")
    if first:
        yield first
    yield from pieces


def _watched(
    pieces: Iterator[bytes], counted: Counted, watch: Callable[[int, int], None] | None
) -> Iterator[bytes]:
    for piece in pieces:
        if watch is not None:
            watch(counted.taken, counted.size)
        yield piece


def _check(
    path: str, offence: tuple[int, int, str] | None, text_hint: str = ""
) -> None:
    if offence is not None:
        line, column, what = offence
        hint = text_hint if what.endswith("not a finite number") else ""
        raise DataError(f"{path}:{line}:{column}: {what}{hint}")


def _read_svmlight(pieces: Iterator[bytes], path: str, serial_numbers: bool) -> Data:
    labels = _Growing(np.float64)
    rows: _SparseRows | _DenseRows | None = None
    line = 1
    for piece in pieces:
        found, counts, indices, values, lines, offence = _core.parse_svmlight(
            piece, line, serial_numbers
        )
        _check(path, offence)
        if not serial_numbers:
            indices -= 1
        features = int(indices.max(initial=-1)) + 1
        if features > _MAX_FEATURES:
            raise DataError(
                f"{path}: feature number {features} is beyond the {_MAX_FEATURES} "
                "supported"
            )
        if rows is None:  # the first few megabytes speak for the file
            full = len(values) > _DENSE_SHARE * len(counts) * features
            rows = _DenseRows() if full else _SparseRows()
        rows.extend(counts, indices, values, features)
        labels.extend(found)
        line += lines
    y = labels.finish()
    if rows is None or len(y) == 0:
        raise DataError(f"{path}: no samples in the file")
    X = rows.finish()
    return Data(X[:, 1:] if serial_numbers else X, _as_integers(y))


class _SparseRows:
    """Pieces of samples collected as CSR."""

    def __init__(self) -> None:
        self._counts, self._indices = _Growing(np.int64), _Growing(np.int32)
        self._values = _Growing(np.float64)
        self._features = 0

    def extend(
        self,
        counts: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any],
        features: int,
    ) -> None:
        self._counts.extend(counts)
        self._indices.extend(indices)
        self._values.extend(values)
        self._features = max(self._features, features)

    def finish(self) -> Any:
        starts = _starts(self._counts.finish())
        if starts[-1] < 2**31:  # scipy wants both index arrays alike
            starts = starts.astype(np.int32)
        shape = (len(starts) - 1, self._features)
        parts = (self._values.finish(), self._indices.finish(), starts)
        return sparse.csr_matrix(parts, shape=shape)


class _DenseRows:
    """Pieces of samples collected as dense rows, wider ones when they come."""

    def __init__(self) -> None:
        self._values = _Growing(np.float64)
        self._features = 0
        self._rows = 0

    def extend(
        self,
        counts: NDArray[Any],
        indices: NDArray[Any],
        values: NDArray[Any],
        features: int,
    ) -> None:
        if features > self._features:
            self._widen(features)
        shape = (len(counts), self._features)
        piece = sparse.csr_matrix((values, indices, _starts(counts)), shape=shape)
        self._values.extend(piece.toarray().ravel())
        self._rows += len(counts)

    def _widen(self, features: int) -> None:
        narrow = self._values.finish(self._features)
        self._values = _Growing(np.float64)
        if self._rows:
            added = features - self._features
            self._values.extend(np.pad(narrow, ((0, 0), (0, added))).ravel())
        self._features = features

    def finish(self) -> NDArray[Any]:
        return self._values.finish(self._features)


def _starts(counts: NDArray[Any]) -> NDArray[Any]:
    """Where each sample starts among all entries, and where the last one ends."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


def _as_integers(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels such as +1 and -1 are integers to the eye, so they are here."""
    if np.all(labels == np.trunc(labels)) and np.all(np.abs(labels) < 2**53):
        return labels.astype(np.int64)
    return labels


def _read_csv(
    pieces: Iterator[bytes], path: str, label: str | None, label_required: bool
) -> Data:
    first = next(pieces, b"")
    if not first.strip():
        raise DataError(f"{path}: no samples in the file")
    head = first.split(b"\n", 1)[0].rstrip(b"\r")
    separator = max(b",;\t", key=lambda code: head.count(code))
    fields = _fields(head, chr(separator), path)
    if len(fields) > _MAX_FEATURES:
        raise DataError(f"{path}:1:1: {len(fields)} columns are too many")
    named, column = _header(fields, label, path)
    if column is None and label_required:
        raise DataError(_no_label(path, label, fields if named else None))
    line = 1
    if named:
        first, line = first[len(first.split(b"\n", 1)[0]) + 1 :], 2
    X, y = _table(first, pieces, path, line, chr(separator), len(fields), column)
    names = [f for i, f in enumerate(fields) if i != column] if named else None
    return Data(X, y, names, table=True)


def _table(
    first: bytes,
    pieces: Iterator[bytes],
    path: str,
    line: int,
    separator: str,
    columns: int,
    label: int | None,
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    values, codes = _Growing(np.float64), _Growing(np.int32)
    distinct: dict[bytes, int] = {}
    rows = 0
    while first or rows == 0:
        parsed = _core.parse_csv(
            first, line, separator, columns, -1 if label is None else label
        )
        _check(path, parsed[5], "" if label is not None else _LABEL_HINT)
        values.extend(parsed[0])
        known = [distinct.setdefault(text, len(distinct)) for text in parsed[2]]
        codes.extend(np.asarray(known, dtype=np.int32)[parsed[1]])
        rows, line = rows + parsed[3], line + parsed[4]
        first = next(pieces, b"")
        if not first:
            break
    if rows == 0:
        raise DataError(f"{path}: no samples in the file")
    features = columns - (label is not None)
    if features == 0:
        raise DataError(f"{path}: no column is left for a feature")
    X = values.finish(features)
    if label is None:
        return X, None
    return X, _labels(list(distinct), path)[codes.finish()]


def _labels(distinct: list[bytes], path: str) -> NDArray[Any]:
    """Distinct labels as integers or floats if all are numbers, else as text."""
    try:
        texts = [text.decode("utf-8") for text in distinct]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: a label is not UTF-8 text") from error
    if all(_is_number(text) for text in texts):
        return _as_integers(np.array([float(text) for text in texts]))
    return np.array(texts)


def _header(fields: list[str], label: str | None, path: str) -> tuple[bool, int | None]:
    """Whether the first line has names, and which column is the label if one is."""
    if label in fields and not _is_number(label):
        if fields.count(label) > 1:
            raise DataError(f"{path}:1:1: two columns are called {label!r}")
        return True, fields.index(label)
    column = _numbered_column(label, len(fields))
    features = [field for i, field in enumerate(fields) if i != column]
    return not any(_is_number(field) for field in features), column


def _numbered_column(label: str | None, columns: int) -> int | None:
    try:
        number = int(label or "")
    except ValueError:
        return None
    if number < 0:  # -1 is the last, as in Python
        number += columns + 1
    return number - 1 if 1 <= number <= columns else None


def _no_label(path: str, label: str | None, names: list[str] | None) -> str:
    if label is None:
        return f"{path}: say which column is the label: --label NAME or --label NUMBER"
    known = f"; the columns are {', '.join(names[:12])}" if names else ""
    return f"{path}:1:1: no column {label!r}{known}"


def _fields(head: bytes, separator: str, path: str) -> list[str]:
    import csv

    try:
        return [
            f.strip() for f in next(csv.reader([head.decode()], delimiter=separator))
        ]
    except (UnicodeDecodeError, csv.Error, StopIteration) as error:
        raise DataError(f"{path}:1:1: the first line is not CSV text") from error


def _is_number(text: str) -> bool:
    try:
        value = float(text)
    except ValueError:
        return False
    return bool(np.isfinite(value)) and "_" not in text

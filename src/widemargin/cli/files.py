"""Data files: LIBSVM's format and CSV, compressed or not, within bounded memory.

A file is read in pieces of a few megabytes, each parsed by compiled code into arrays
that grow in place, so that the peak stays well below twice the parsed size. The first
offence is reported with file, line and column.
"""

from __future__ import annotations

import gzip
import itertools
import lzma
import os
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.cli.refusals import refusal
from widemargin.cli.streams import STANDARD, Counted, inner_suffix, reading
from widemargin.cli.suggestions import did_you_mean, listed_names

from .arrow_tables import (
    ARROW,
    PARQUET,
    categories,
    features,
    is_text,
    load_table,
    numbers,
)
from .mixed_tables import Mixed, parse_mixed
from .sample_collector import Growing, Samples

_PIECE = 1 << 22
_MAX_LINE = 1 << 28
_MAX_FEATURES = 50_000_000  # an index beyond is a typing error, not a feature
_LABEL_HINT = "; if this column is the label, say so: --label COLUMN"


class DataError(ValueError):
    """A data file cannot be read; the message has its name, line and column."""


@dataclass(frozen=True)
class Data:
    """Samples, their labels if the file has them, and the names of the features.

    ``table`` says that every row has every column (CSV); in LIBSVM's format a feature
    that is not there is zero, and their number is unknown. ``mixed`` tells of columns
    of categories and of missing values, where these were asked for.
    """

    X: Any
    y: NDArray[Any] | None
    names: list[str] | None = None
    table: bool = False
    mixed: Mixed | None = None


def read(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    label_required: bool = True,
    serial_numbers: bool = False,
    text_labels: bool = False,
    mixed: Collection[str | int] | None = None,
    watch: Callable[[int, int], None] | None = None,
) -> Data:
    """Read a data file.

    Parameters
    ----------
    path : path-like
        LIBSVM's format, or CSV if ``label`` is given or the name ends in ``.csv`` or
        ``.tsv``; either may be compressed with xz, bz2 or gzip, and a pipe. ``-`` is
        standard input. Parquet and Arrow files are known by their names.
    label : str, optional
        CSV: name or number (counted from 1) of the column that holds the label.
    label_required : bool, default=True
        Whether a CSV file without that column is refused. Otherwise all of its columns
        are features.
    serial_numbers : bool, default=False
        LIBSVM's precomputed kernels: each row starts with ``0:serial``, dropped here.
    text_labels : bool, default=False
        CSV: leave labels as the text they are, also where all of them are numbers: a
        model whose labels are text tells "1.0" from "1".
    mixed : collection of str or int, optional
        CSV: take columns of categories and missing values as well. These columns hold
        categories whatever they look like: names, or numbers of features from 0 where
        columns have no names.
    watch : callable, optional
        Called, every few megabytes, with the bytes of the file read so far and its
        size, which is 0 for a pipe.
    """
    given = os.fspath(path)
    shown = "stdin" if given == STANDARD else given
    try:
        if given.lower().endswith(PARQUET + ARROW):
            return _read_arrow(given, label, label_required, text_labels, mixed)
        with reading(given) as (file, counted):
            pieces = _watched(_unmarked(_pieces(file, shown)), counted, watch)
            if label is not None or inner_suffix(given) in (".csv", ".tsv"):
                return _read_csv(
                    pieces, shown, label, label_required, text_labels, mixed
                )
            return _read_svmlight(pieces, shown, serial_numbers)
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{shown}: damaged archive: {error}") from error
    except OSError as error:
        if error.errno is None:  # bz2 reports damage as an OSError of its own
            raise DataError(f"{shown}: damaged archive: {error}") from error
        raise DataError(f"{shown}: {refusal(error)}") from error


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
    labels = Growing(np.float64)
    samples = Samples()
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
        samples.extend(counts, indices, values)
        labels.extend(found)
        line += lines
    y = labels.finish()
    if len(y) == 0:
        raise DataError(f"{path}: no samples in the file")
    X = samples.finish()
    return Data(X[:, 1:] if serial_numbers else X, _as_integers(y))


def _as_integers(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels such as +1 and -1 are integers to the eye, so they are here."""
    if np.all(labels == np.trunc(labels)) and np.all(np.abs(labels) < 2**53):
        return labels.astype(np.int64)
    return labels


def _read_csv(
    pieces: Iterator[bytes],
    path: str,
    label: str | None,
    label_required: bool,
    text_labels: bool,
    mixed: Collection[str | int] | None,
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
    kinds = None
    if mixed is not None:
        text = itertools.chain([first], pieces)
        position = -1 if column is None else column
        positions = [i for i in range(len(fields)) if i != column]
        known = {
            i
            for number, i in enumerate(positions)
            if (fields[i] if named else number) in mixed
        }
        try:
            parsed = parse_mixed(
                text, line, chr(separator), len(fields), position, known
            )
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: a category is not UTF-8 text") from error
        _check(path, parsed.offence)
        X, distinct, codes = parsed.values, parsed.distinct, parsed.codes
        kinds = parsed.mixed
        _check_size(path, *X.shape)
    else:
        X, distinct, codes = _table(
            first, pieces, path, line, chr(separator), len(fields), column
        )
    y = None if column is None else _labels(distinct, path, text_labels)[codes]
    names = [f for i, f in enumerate(fields) if i != column] if named else None
    return Data(X, y, names, table=True, mixed=kinds)


def _read_arrow(
    path: str,
    label: str | None,
    label_required: bool,
    text_labels: bool,
    mixed: Collection[str | int] | None,
) -> Data:
    try:
        table = load_table(path)
        names: list[str] = table.column_names
        if len(set(names)) < len(names):
            raise ValueError("two columns have the same name")
        column = _numbered_column(label, len(names))
        column = names.index(label) if label in names else column
        if column is None and label_required:
            raise DataError(_no_label(path, label, names))
        chosen = [i for i in range(len(names)) if i != column]
        _check_size(path, table.num_rows, len(chosen))
        X, kinds = features(table, chosen, mixed or ())
        y = None if column is None else _arrow_labels(path, table, column, text_labels)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{path}: {error}") from error
    columns = [names[i] for i in chosen]
    if mixed is not None:
        return Data(X, y, columns, True, kinds)
    for offence in kinds.text.values():
        raise DataError(f"{path}:{offence}")
    for i, offence in kinds.missing.items():
        raise DataError(f"{path}: column {columns[i]!r},{offence}")
    return Data(X, y, columns, True)


def _arrow_labels(path: str, table: Any, column: int, text: bool) -> NDArray[Any]:
    name, values = table.column_names[column], table.column(column)
    if is_text(values) or text:
        codes, texts = categories(name, values)
    else:
        codes, texts = numbers(name, values), None
    missing = np.flatnonzero(np.isnan(codes))
    if len(missing):
        raise DataError(f"{path}: row {missing[0] + 1}: empty label")
    if texts is None:
        return _as_integers(codes)
    distinct = [one.encode() for one in texts]
    return _labels(distinct, path, text)[codes.astype(np.intp)]


def _table(
    first: bytes,
    pieces: Iterator[bytes],
    path: str,
    line: int,
    separator: str,
    columns: int,
    label: int | None,
) -> tuple[NDArray[Any], list[bytes], NDArray[np.int32]]:
    """Features, the distinct labels as written, and which of them each row has."""
    values, codes = Growing(np.float64), Growing(np.int32)
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
    features = columns - (label is not None)
    _check_size(path, rows, features)
    return values.finish(features), list(distinct), codes.finish()


def _check_size(path: str, rows: int, features: int) -> None:
    if features == 0:
        raise DataError(f"{path}: no column is left for a feature")
    if rows == 0:
        raise DataError(f"{path}: no samples in the file")


def _labels(distinct: list[bytes], path: str, text_labels: bool) -> NDArray[Any]:
    """Distinct labels as integers or floats if all are numbers, else as text."""
    try:
        texts = [text.decode("utf-8") for text in distinct]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: a label is not UTF-8 text") from error
    if not text_labels and all(_is_number(text) for text in texts):
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
    if names is None:
        return f"{path}:1:1: no column {label!r}"
    near = did_you_mean(label, names)
    return (
        f"{path}:1:1: no column {label!r}{near or f'; they are {listed_names(names)}'}"
    )


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

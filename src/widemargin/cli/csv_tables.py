"""CSV: a header or none, a separator that is detected, a label in any column."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core

from .mixed_tables import ParsedTable, parse_mixed
from .parsed_data import (
    Data,
    DataError,
    TableOptions,
    check_parsed,
    check_size,
    is_number,
    label_values,
    no_label,
    numbered_column,
)
from .sample_collector import Growing

_MAX_COLUMNS = 50_000_000
_LABEL_HINT = "; if this column is the label, say so: --label COLUMN"
# 1,5 and 1.000,50 and 1,000.50 and 1'000 and 1_000, with a sign of money or percent,
# in the parentheses of accounts, with a typographer's minus or Fortran's exponent
_OTHER_NUMBER = re.compile(
    r"\s*\(?[$€£]?\s*[+\-\u2212]?(\d+|\d{1,3}([.,'_\u2019\s]\d{3})+)([.,]\d+)?"
    r"([eEdD][+\-\u2212]?\d+)?\s*[$€£%]?\)?\s*"
)
_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d{1,2}:\d{2}\S*)?")
_DATE_HINT = " is a date: make numbers of it, such as years or days"
_OTHER_FORMATS = {  # how a file begins that is none of ours
    b"PK\x03\x04": "a zip archive, as Excel's workbooks are; save the table as CSV",
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"ARROW1": "an Arrow file; let its name end in .arrow",
    b"<": "no table but HTML or XML; save the table as CSV",
    b"{": "JSON; save the table as CSV or Parquet",
    b"[{": "JSON; save the table as CSV or Parquet",
}
_SAME_LINE = "the names of the columns again: take this line out"


@dataclass(frozen=True)
class _Layout:
    """What the first line says of a table.

    Attributes
    ----------
    fields : list of str
        Fields of the first line.
    named : bool
        Whether they are the names of the columns.
    label : int or None
        Column of the labels, if there is one.
    separator : str
        Between two fields.
    """

    fields: list[str]
    named: bool
    label: int | None
    separator: str

    @property
    def features(self) -> list[int]:
        """Columns of the features."""
        return [i for i in range(len(self.fields)) if i != self.label]

    @property
    def names(self) -> list[str] | None:
        """Names of the features, if the table has any."""
        return [self.fields[i] for i in self.features] if self.named else None


def read_csv(pieces: Iterator[bytes], path: str, options: TableOptions) -> Data:
    """Read a table from pieces of whole lines."""
    first = next(pieces, b"")
    if not first.strip():
        raise DataError(f"{path}: no samples in the file")
    layout = _layout(first, path, options)
    line = 1
    if layout.named:
        first, line = first[len(first.split(b"\n", 1)[0]) + 1 :], 2
    kinds = None
    if options.mixed is not None:
        text = itertools.chain([first], pieces)
        parsed = _parsed_mixed(text, path, line, layout, options)
        X, distinct, codes = parsed.values, parsed.distinct, parsed.codes
        kinds = parsed.mixed
    else:
        X, distinct, codes = _parsed_numbers(first, pieces, path, line, layout)
    y = None
    if layout.label is not None:
        y = label_values(distinct, path, options.text_labels)[codes]
    return Data(X, y, layout.names, table=True, mixed=kinds)


def _layout(first: bytes, path: str, options: TableOptions) -> _Layout:
    """Return the layout of a table by its first line."""
    for start, what in _OTHER_FORMATS.items():
        if first.lstrip().startswith(start):
            raise DataError(f"{path}: {what}")
    head = first.split(b"\n", 1)[0].rstrip(b"\r")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}: UTF-16 text; save the table as UTF-8")
    if b"\r" in head:
        raise DataError(f"{path}: lines end with a carriage return; end them with \\n")
    if re.fullmatch(rb"sep=.", head):
        raise DataError(f"{path}:1:1: a line for Excel only: take it out")
    separator = chr(max(b",;\t", key=lambda code: head.count(code)))
    fields = _fields(head, separator, path)
    if len(fields) > _MAX_COLUMNS:
        raise DataError(f"{path}:1:1: {len(fields)} columns are too many")
    named, label = _header(fields, options.label_among(fields), path)
    if label is None and options.label_required:
        raise DataError(no_label(path, options.label, fields, named))
    return _Layout(fields, named, label, separator)


def _parsed_mixed(
    text: Iterator[bytes], path: str, line: int, layout: _Layout, options: TableOptions
) -> ParsedTable:
    """Parse a table with categories and missing values."""
    mixed = options.mixed or ()
    known = {
        i
        for number, i in enumerate(layout.features)
        if (layout.fields[i] if layout.named else number) in mixed
    }
    label = -1 if layout.label is None else layout.label
    try:
        parsed = parse_mixed(
            text, line, layout.separator, len(layout.fields), label, known
        )
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: a category is not UTF-8 text; save the table as UTF-8"
        ) from error
    check_parsed(path, parsed.error)
    check_size(path, *parsed.values.shape)
    seen, names = parsed.mixed.text, layout.names
    found = parsed.mixed.categories
    if seen and names and all(name in found.get(i, ()) for i, name in enumerate(names)):
        number = next(iter(seen.values())).split(":")[0]
        raise DataError(f"{path}:{number}:1: {_SAME_LINE}")
    for column, first_seen in seen.items():
        texts = parsed.mixed.categories[column]
        if all(map(_OTHER_NUMBER.fullmatch, texts)):
            hint = next(filter(None, map(_number_hint, texts)))
            raise DataError(f"{path}:{first_seen}{hint}")
    return parsed


def _parsed_numbers(
    first: bytes, pieces: Iterator[bytes], path: str, line: int, layout: _Layout
) -> tuple[NDArray[Any], list[bytes], NDArray[np.int32]]:
    """Features, the distinct labels as written, and which of them each row has."""
    values, codes = Growing(np.float64), Growing(np.int32)
    distinct: dict[bytes, int] = {}
    columns = len(layout.fields)
    label, hint = (-1, _LABEL_HINT) if layout.label is None else (layout.label, "")
    rows = 0
    while first or rows == 0:
        parsed = _core.parse_csv(first, line, layout.separator, columns, label)
        if parsed[5] is not None:
            _check_line(
                first.split(b"\n")[parsed[5][0] - line], path, parsed[5], layout
            )
        check_parsed(path, parsed[5], hint)
        values.extend(parsed[0])
        known = [distinct.setdefault(text, len(distinct)) for text in parsed[2]]
        codes.extend(np.asarray(known, dtype=np.int32)[parsed[1]])
        rows, line = rows + parsed[3], line + parsed[4]
        first = next(pieces, b"")
        if not first:
            break
    features = len(layout.features)
    check_size(path, rows, features)
    return values.finish(features), list(distinct), codes.finish()


def _check_line(
    text: bytes, path: str, error: tuple[int, int, str], layout: _Layout
) -> None:
    """Raise what the whole line shows to be wrong: its width, names, or numbers."""
    number, column, what = error
    if not what.endswith("not a finite number"):
        return
    line = text.decode(errors="replace")
    try:
        fields = next(csv.reader([line], delimiter=layout.separator))
    except csv.Error:  # a carriage return or a null: no line of fields
        return
    if len(fields) != len(layout.fields):
        raise DataError(
            f"{path}:{number}:{column}: {what}; columns in this line: "
            f"{len(fields)}, in the first line: {len(layout.fields)}"
        )
    if layout.named and fields == layout.fields:
        raise DataError(f"{path}:{number}:1: {_SAME_LINE}")
    features = [field for i, field in enumerate(fields) if i != layout.label]
    for field in features:
        if hint := _number_hint(field):
            found = f"{field!r} is not a finite number{hint}"
            raise DataError(f"{path}:{number}:{column}: {found}")
    bad = next((field for field in features if not is_number(field)), "")
    if _DATE.fullmatch(bad.strip()):
        raise DataError(f"{path}:{number}:{column}: {bad!r}{_DATE_HINT}")


def _number_hint(field: str) -> str:
    """Return how to write a number that is not read; nothing for any other field."""
    if is_number(field) or not _OTHER_NUMBER.fullmatch(field):
        return ""
    try:
        float(field.replace("_", "x"))  # which Python reads, and others do not
    except ValueError:
        return ": write numbers as 1234.5"
    return ": it is too large"


def _header(fields: list[str], label: str | None, path: str) -> tuple[bool, int | None]:
    """Whether the first line has names, and which column is the label if one is."""
    if label in fields and not is_number(label):
        if fields.count(label) > 1:
            raise DataError(f"{path}:1:1: two columns are called {label!r}")
        return True, fields.index(label)
    column = numbered_column(label, len(fields))
    features = [field for i, field in enumerate(fields) if i != column]
    return not any(is_number(field) for field in features), column


def _fields(head: bytes, separator: str, path: str) -> list[str]:
    try:
        text = head.decode()
        if not text.replace("\t", " ").isprintable():
            raise csv.Error("control characters")
        return [f.strip() for f in next(csv.reader([text], delimiter=separator))]
    except UnicodeDecodeError as error:
        if re.search(rb"[\x00-\x08]", head) is None:  # text of an older encoding
            raise DataError(
                f"{path}:1:1: not UTF-8 text; save the table as UTF-8"
            ) from error
        raise DataError(f"{path}:1:1: the first line is not CSV text") from error
    except (csv.Error, StopIteration) as error:
        raise DataError(f"{path}:1:1: the first line is not CSV text") from error

"""What is read from a data file of any format, and the checks they share."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.cli.suggestions import did_you_mean, listed_names

from .mixed_tables import Mixed

#: ways to write that there is no value, beside nothing and "?" (core/text/csv.hpp)
NO_VALUE = ("na", "n/a", "#n/a", "<na>", "nan", "-nan", "none", "null")
_INTEGER = re.compile(r"[+-]?[0-9]+")


class DataError(ValueError):
    """A data file cannot be read; the message has its name, line and column."""


@dataclass(frozen=True)
class Data:
    """Samples, their labels if the file has them, and the names of the features.

    ``table`` says that every row has every column (CSV); in LIBSVM's format a feature
    that is not there is zero, and their number is unknown. ``mixed`` describes columns
    of categories and of missing values, where these were asked for.
    """

    X: Any
    y: NDArray[Any] | None
    names: list[str] | None = None
    table: bool = False
    mixed: Mixed | None = None


@dataclass(frozen=True)
class TableOptions:
    """How the columns of a table are read.

    Attributes
    ----------
    label : str or None
        Name or number (counted from 1) of the column of labels.
    label_required : bool
        Whether a table without that column is refused.
    text_labels : bool
        Whether labels stay text even if all of them are numbers.
    mixed : collection of str or int, or None
        Columns of categories; None refuses categories and missing values.
    features : collection of str, optional
        Columns known to be features. Where no label is named and only one column of a
        table is none of them, it is the label.
    """

    label: str | None
    label_required: bool
    text_labels: bool
    mixed: Collection[str | int] | None
    features: Collection[str] = ()

    def label_among(self, names: list[str]) -> str | None:
        """Return the label that was named, or the only column that is no feature."""
        others = [name for name in names if name not in self.features]
        found = self.label is None and bool(self.features) and len(others) == 1
        return others[0] if found else self.label


def check_parsed(
    path: str, error: tuple[int, int, str] | None, text_hint: str = ""
) -> None:
    """Raise `DataError` for a parse error: line, column, what is wrong."""
    if error is not None:
        line, column, what = error
        hint = text_hint if what.endswith("not a finite number") else ""
        raise DataError(f"{path}:{line}:{column}: {what}{hint}")


def check_size(path: str, rows: int, features: int) -> None:
    """Refuse a table without features or without rows."""
    if features == 0:
        raise DataError(f"{path}: no column is left for a feature")
    if rows == 0:
        raise DataError(f"{path}: no samples in the file")


def as_integers(labels: NDArray[Any]) -> NDArray[Any]:
    """Turn labels such as +1 and -1, which look like integers, into integers."""
    if np.all(labels == np.trunc(labels)) and np.all(np.abs(labels) < 2**53):
        return labels.astype(np.int64)
    return labels


def label_values(distinct: list[bytes], path: str, text_labels: bool) -> NDArray[Any]:
    """Distinct labels as integers or floats if all are numbers, else as text."""
    try:
        texts = [text.decode("utf-8") for text in distinct]
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: a label is not UTF-8 text; save the table as UTF-8"
        ) from error
    if not text_labels and all(is_number(text) for text in texts):
        return _numeric_labels(texts)
    return np.array(texts)


def _numeric_labels(texts: list[str]) -> NDArray[Any]:
    """Return labels as numbers; long integers, as of ids, keep all their digits."""
    labels = as_integers(np.array([float(text) for text in texts]))
    if labels.dtype.kind == "i" or not all(map(_INTEGER.fullmatch, texts)):
        return labels
    whole = np.array([int(text) for text in texts], dtype=object)
    fits = np.all(np.abs(whole) < 2**63)
    return whole.astype(np.int64) if fits else np.array(texts)


def numbered_column(label: str | None, columns: int) -> int | None:
    """Return the column of a number counted from 1, None if it is no such number."""
    try:
        number = int(label or "")
    except ValueError:
        return None
    if number < 0:  # -1 is the last, as in Python
        number += columns + 1
    return number - 1 if 1 <= number <= columns else None


def no_label(path: str, label: str | None, fields: list[str], named: bool) -> str:
    """Return the message for a table without the column of labels."""
    numbers = f"a number from 1 to {len(fields)}, or -1 for the last"
    columns = f"they are {listed_names(fields)}"
    if not named:
        columns = f"the first line names none; give {numbers}"
    if label is None:
        what = "NAME" if named else "NUMBER"
        return f"{path}: say which column is the label: --label {what}; {columns}"
    if len(fields) == 1 and named:
        return (
            f"{path}:1:1: the first line, {_shortened(fields[0])!r}, is one column: it "
            "has to name all of them, with commas, semicolons or tabs between"
        )
    near = did_you_mean(label, fields) if named else ""
    return f"{path}:1:1: no column {label!r}{near or f'; {columns}'}"


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        value = float(text)
    except ValueError:
        return False
    return bool(np.isfinite(value)) and "_" not in text

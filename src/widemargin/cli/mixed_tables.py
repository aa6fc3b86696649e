"""Tables with columns of categories and with values that are missing.

A column holds categories as soon as one of its fields is not a number. That may show in
the last line, so the text is kept while it is parsed, and parsed again from the start
with that column as categories: once for each of them, and mostly in line 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core

from .sample_collector import Growing

ParseError = tuple[int, int, str]


@dataclass(frozen=True)
class Mixed:
    """What the columns of a table hold beside numbers, by number of the feature.

    The samples have the position of a category in ``categories``, and NaN where a value
    is missing; ``text`` says where a category was first seen, ``missing`` where a value
    was first found to be missing.
    """

    categories: dict[int, list[str]] = field(default_factory=dict)
    text: dict[int, str] = field(default_factory=dict)
    missing: dict[int, str] = field(default_factory=dict)

    def selected(self, columns: Sequence[int]) -> Mixed:
        """Return the same of some of the columns, in their order."""
        return Mixed(
            _renamed(self.categories, columns),
            _renamed(self.text, columns),
            _renamed(self.missing, columns),
        )


def _renamed(part: dict[int, Any], columns: Sequence[int]) -> dict[int, Any]:
    return {new: part[old] for new, old in enumerate(columns) if old in part}


@dataclass(frozen=True)
class ParsedTable:
    """Features and labels as they were parsed, or the first error."""

    values: NDArray[np.float64]
    distinct: list[bytes]
    codes: NDArray[np.int32]
    mixed: Mixed
    error: ParseError | None


def parse_mixed(
    pieces: Iterator[bytes],
    line: int,
    separator: str,
    columns: int,
    label: int,
    categorical: set[int],
) -> ParsedTable:
    """Parse the lines of a table; `label` is the label's column, -1 if it has none.

    The columns ``categorical`` hold categories even if all their fields are numbers.
    """
    kept = list(pieces)
    text: dict[int, str] = {}
    while True:
        attempt = _Attempt(columns, label)
        error, column = attempt.parse(kept, line, separator, categorical | set(text))
        if column < 0:
            return attempt.finish(text, error)
        assert error is not None
        text[column] = f"{error[0]}:{error[1]}: {error[2]}"


class _Attempt:
    """One pass over the text, given the columns known to hold categories."""

    def __init__(self, columns: int, label: int) -> None:
        self._columns, self._label = columns, label
        self._values, self._codes = Growing(np.float64), Growing(np.int32)
        self._distinct: dict[bytes, int] = {}
        self._categories: dict[int, dict[bytes, int]] = {}
        self._missing: dict[int, int] = {}

    def parse(
        self, pieces: list[bytes], line: int, separator: str, text: set[int]
    ) -> tuple[ParseError | None, int]:
        """Return the first error, and the column of numbers where it is text."""
        kinds = "".join("t" if i in text else "n" for i in range(self._columns))
        for piece in pieces:
            (
                values,
                codes,
                labels,
                rows,
                lines,
                error,
                column,
                categories,
                missing,
            ) = _core.parse_csv(
                piece, line, separator, self._columns, self._label, kinds
            )
            if error is not None:
                at_text = error[2].endswith("not a finite number")
                return error, column if at_text else -1
            known = _numbers(self._distinct, labels)
            self._codes.extend(known[codes])
            features = self._features()
            table = values.reshape(rows, len(features))
            for i, feature in enumerate(features):
                if feature in text:
                    _renumber(
                        table[:, i],
                        _numbers(
                            self._categories.setdefault(feature, {}),
                            [_spelled(one) for one in categories[feature]],
                        ),
                    )
                if missing[feature]:
                    self._missing.setdefault(feature, missing[feature])
            self._values.extend(table.ravel())
            line += lines
        return None, -1

    def _features(self) -> list[int]:
        return [i for i in range(self._columns) if i != self._label]

    def finish(self, text: dict[int, str], error: ParseError | None) -> ParsedTable:
        """Return what was parsed, the columns counted without the label."""
        features = self._features()
        mixed = Mixed(
            {
                column: [one.decode("utf-8") for one in known]
                for column, known in self._categories.items()
            },
            text,
            {column: f"{line}: no value" for column, line in self._missing.items()},
        )
        return ParsedTable(
            self._values.finish(len(features)),
            list(self._distinct),
            self._codes.finish(),
            mixed.selected(features),
            error,
        )


def _spelled(category: bytes) -> bytes:
    """Return a truth value as Arrow spells it, in any case; others unchanged."""
    lower = category.lower()
    return lower if lower in (b"true", b"false") else category


def _numbers(known: dict[bytes, int], texts: list[bytes]) -> NDArray[np.int32]:
    """Number of each text, new ones appended."""
    return np.array([known.setdefault(one, len(known)) for one in texts], np.int32)


def _renumber(column: NDArray[np.float64], numbers: NDArray[np.int32]) -> None:
    """Turn positions within a piece into those within the whole file."""
    present = ~np.isnan(column)
    column[present] = numbers[column[present].astype(np.intp)]

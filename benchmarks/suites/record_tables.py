"""Tables of stored records, a column a format, and the growth of a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from widemargin_papers.harness.results import Record
from widemargin_papers.harness.text_tables import rst_table

Column = str | Callable[[Record], str]  # a format of the record's entries, or its text


def record_rows(
    records: Iterable[Record], columns: Mapping[str, Column]
) -> list[list[str]]:
    """Return one row per record: its text in each column."""
    return [
        [
            column.format_map(record) if isinstance(column, str) else column(record)
            for column in columns.values()
        ]
        for record in records
    ]


def records_table(records: Iterable[Record], columns: Mapping[str, Column]) -> str:
    """Return stored records as a simple table in reStructuredText."""
    return rst_table(list(columns), record_rows(records, columns))


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return the slope of log(time) against log(n) by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])

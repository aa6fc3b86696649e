"""Data frames with columns that are not numbers, and what to do about them."""

from __future__ import annotations

from typing import Any

import numpy as np

_SHOWN = 20


def text_columns(X: Any) -> list[str]:
    """Return the names of a data frame's columns that hold no numbers.

    Frames of pandas and polars and tables of Arrow, by what they have in common: names,
    and columns that NumPy makes an array of.
    """
    names = getattr(X, "column_names", getattr(X, "columns", None))
    if names is None or not hasattr(X, "shape") or len(X.shape) != 2:
        return []
    return [name for name in names if not _holds_numbers(np.asarray(X[name]))]


def _holds_numbers(column: Any) -> bool:
    if column.dtype.kind in "biuf":
        return True
    try:
        column.astype(np.float64)
    except (ValueError, TypeError):
        return False
    return column.dtype.kind not in "mM"  # dates are numbers to NumPy only


def encoding_advice(estimator: str, columns: list[str]) -> str:
    """Return the message for such columns: two lines that make a model which can."""
    more = len(columns) - _SHOWN
    shown = ", ".join(map(repr, columns[:_SHOWN]))
    return (
        f"X has columns that are not numbers: {shown}"
        f"{f' and {more} more' if more > 0 else ''}. {estimator} needs numbers; these "
        "two lines make a model that encodes the columns of categories itself:\n\n"
        "from sklearn import compose, pipeline, preprocessing\n"
        "model = pipeline.make_pipeline(compose.make_column_transformer("
        f"(preprocessing.OneHotEncoder(handle_unknown='ignore'), {columns}), "
        f"remainder=preprocessing.StandardScaler()), {estimator}())\n"
    )

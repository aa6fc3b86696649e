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
    return [name for name in _names(X) if not _holds_numbers(np.asarray(X[name]))]


def _names(X: Any) -> list[str]:
    """Return the names of a frame's columns, none of anything else."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    if names is None or not hasattr(X, "shape") or len(X.shape) != 2:
        return []
    return list(names)


def _holds_numbers(column: Any) -> bool:
    if column.dtype.kind in "biuf":
        return True
    try:
        column.astype(np.float64)
    except (ValueError, TypeError):
        return False
    return column.dtype.kind not in "mM"  # dates are numbers to NumPy only


def filling_advice(estimator: str, X: Any, error: str) -> str:
    """Return a message on missing values with two lines that fill them; or as it is.

    It is left where ``X`` is no frame, or none of its columns of numbers has a gap.
    """
    gaps = [
        name
        for name in _names(X)
        if np.isnan(np.asarray(X[name]).astype(np.float64)).any()
    ]
    if not gaps:
        return error
    return (
        f"{error.splitlines()[0]} Columns with missing values: {_listed(gaps)}. These "
        "two lines make a model that fills them by the mean and marks where:\n\n"
        "from sklearn import impute, pipeline\n"
        "model = pipeline.make_pipeline("
        f"impute.SimpleImputer(add_indicator=True), {estimator}())\n"
    )


def _listed(columns: list[str]) -> str:
    more = len(columns) - _SHOWN
    shown = ", ".join(map(repr, columns[:_SHOWN]))
    return f"{shown} and {more} more" if more > 0 else shown


def encoding_advice(estimator: str, X: Any, columns: list[str]) -> str:
    """Return the message for such columns: two lines that make a model which can."""
    dates = [name for name in columns if np.asarray(X[name]).dtype.kind in "mM"]
    found = f"X has columns that are not numbers: {_listed(columns)}."
    if dates:
        return (
            f"{found} Of these, {_listed(dates)} hold dates or times: make numbers of "
            "them first, such as years or days, or leave them out."
        )
    return (
        f"{found} {estimator} needs numbers; these "
        "two lines make a model that encodes the columns of categories itself:\n\n"
        "from sklearn import compose, pipeline, preprocessing\n"
        "model = pipeline.make_pipeline(compose.make_column_transformer("
        f"(preprocessing.OneHotEncoder(handle_unknown='ignore'), {columns}), "
        f"remainder=preprocessing.StandardScaler()), {estimator}())\n"
    )

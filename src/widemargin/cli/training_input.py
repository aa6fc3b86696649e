"""What ``train`` and ``tune`` do before the first fit: read, check, encode, scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from .column_encoding import (
    as_table,
    check_mixed,
    column_encoder,
    encode,
    encoded_pipeline,
    mixed_options,
)
from .estimator_names import METHODS
from .output import InputError, catching_warnings, read_data
from .parsed_data import Data
from .scores import numbers

Command = Callable[..., Any]


def input_options(method: str, scale: str) -> Callable[[Command], Command]:
    """Return what adds the options of rows and method, with these words of help."""
    options = (
        click.option(
            "--method",
            type=click.Choice(list(METHODS)),
            default="svc",
            show_default=True,
            help=method,
        ),
        click.option(
            "--label", metavar="COLUMN", help="CSV: name or number of the label."
        ),
        click.option("--scale", type=click.Choice(["minmax", "standard"]), help=scale),
        mixed_options,
    )

    def add(command: Command) -> Command:
        for option in reversed(options):  # as decorators, the first one last
            command = option(command)
        return command

    return add


@dataclass(frozen=True)
class ColumnOptions:
    """``--categorical`` and ``--missing``: what a table may hold beside numbers."""

    categorical: str | None
    missing: str | None

    @property
    def given(self) -> bool:
        """Whether one of them was asked for."""
        return self.categorical is not None or self.missing is not None

    @property
    def gaps(self) -> str:
        """What becomes of missing values."""
        return self.missing or "error"


@dataclass(frozen=True)
class Prepared:
    """What is trained, on which rows.

    Attributes
    ----------
    table, seen : Data
        The rows as they were read, and as the estimator sees them: encoded.
    estimator : estimator
        With the encoding, or the scaling, in front.
    encoded : bool
        Whether there is an encoding.
    """

    table: Data
    seen: Data
    estimator: Any
    encoded: bool

    @property
    def final(self) -> Any:
        """The estimator alone."""
        last = self.estimator
        return last[-1] if isinstance(last, Pipeline) else last

    @property
    def by_folds(self) -> Data:
        """What is cross-validated: an encoding is learnt anew in every fold."""
        return (
            replace(self.table, X=as_table(self.table)) if self.encoded else self.seen
        )


def prepared(
    estimator: BaseEstimator,
    method: str,
    scale: str | None,
    content: Data,
    columns: ColumnOptions,
    quiet: bool,
) -> Prepared:
    """Put encoding or scaling in front of the estimator, and encode the rows."""
    if not columns.given:
        whole = _assembled(estimator, method, scale, content)
        return Prepared(content, content, whole, encoded=False)
    encoder = column_encoder(content, columns.gaps, _scaler_of(scale, content.X))
    with catching_warnings(quiet):
        seen = encode(encoder, content)
    return Prepared(content, seen, encoded_pipeline(encoder, estimator), encoded=True)


def read_rows(
    data: str, estimator: BaseEstimator, columns: ColumnOptions, **reading: Any
) -> Data:
    """Read the rows to train an estimator on; a regressor's labels are numbers."""
    content = _read_advised(data, columns.given, **reading)
    if columns.given:
        given = columns.categorical is not None
        check_mixed(data, content, given, columns.gaps)
    if content.X.shape[1] == 0:
        raise InputError(f"{data}: no sample has a feature")
    if is_regressor(estimator) and content.y is not None:
        content = replace(content, y=numbers(np.asarray(content.y)))
    return content


def _read_advised(data: str, mixed: bool, **reading: Any) -> Data:
    """Read data; where it is refused for its text or its gaps, name the option."""
    try:
        return read_data(data, mixed=() if mixed else None, **reading)
    except InputError as error:
        message = error.message
        if message.endswith("is not a finite number") and reading["label"]:
            message += "; for categories: --categorical auto; for gaps: --missing mean"
        elif message.endswith("holds text"):
            message += "; for categories: --categorical auto"
        elif message.endswith(("empty value", "no value")):
            message += "; for missing values: --missing mean or --missing indicator"
        raise InputError(message) from error


def classes_of(content: Data, data: str) -> list[Any]:
    """Return the labels there are, if a classifier can be trained on them."""
    labels: NDArray[Any] = np.unique(np.asarray(content.y))
    if labels.dtype.kind == "f" and np.any(labels != np.trunc(labels)):
        fraction = labels[labels != np.trunc(labels)][0]
        raise InputError(
            f"{data}: the label {fraction:g} is a fraction, and classes are whole "
            "numbers or, in CSV, text; for numbers there is --method svr"
        )
    if len(labels) == 1:
        raise InputError(f"{data}: every label is {labels[0]}: no two classes")
    found: list[Any] = labels.tolist()
    return found


def _assembled(
    estimator: BaseEstimator, method: str, scale: str | None, content: Data
) -> BaseEstimator:
    """Put the scaling in front of the estimator, where it is wanted and allowed."""
    if scale is None:
        return estimator
    if method == "private":
        raise InputError(
            "--scale with --method private: scaling learnt from the data voids the "
            "guarantee; scale by bounds known beforehand"
        )
    return Pipeline([("scale", _scaler_of(scale, content.X)), ("model", estimator)])


def _scaler_of(scale: str | None, X: Any) -> Any:
    """Return the scaling that is asked for, not fitted yet; None without."""
    if scale == "standard":
        return StandardScaler(with_mean=not sparse.issparse(X))
    if scale == "minmax" and sparse.issparse(X):
        raise InputError(
            "--scale minmax would fill the zeros of sparse data: use --scale standard"
        )
    return MinMaxScaler() if scale == "minmax" else None

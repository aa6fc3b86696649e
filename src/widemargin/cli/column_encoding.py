"""Categories and missing values as part of a model: what ``train`` learns of a table.

The step in front of the estimator is scikit-learn's ColumnTransformer. It knows columns
by number, so that a model works on arrays without pandas, and on frames as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from widemargin.cli.parsed_data import Data, is_number
from widemargin.cli.suggestions import listed_names

from .output import InputError, remark

_STEP, _NUMBERS, _CATEGORIES = "table", "numbers", "categories"
_MISSING = ""  # the category of missing values
_MANY = 20  # categories from which a column may hold names of rows, or numbers
_FEW = 3  # texts amid more numbers than that may stand for missing values


def mixed_options(function: Any) -> Any:
    """Give a command the options for categories and missing values."""
    categorical = click.option(
        "--categorical",
        type=click.Choice(["auto"]),
        help="CSV: columns with text are categories, one-hot encoded; stored in the "
        "model.",
    )
    missing = click.option(
        "--missing",
        type=click.Choice(["mean", "indicator", "error"]),
        help="CSV: fill missing values by the mean, or with a column that says so; "
        "stored in the model.  [default: error]",
    )
    return categorical(missing(function))


def check_mixed_options(method: str, error_columns: str | None) -> None:
    """Raise, before any work, if a table's columns must be numbers as they are."""
    if method == "private":
        raise InputError(
            "--categorical and --missing with --method private: what they learn from "
            "the data voids the guarantee; encode by lists known beforehand"
        )
    if error_columns is not None:
        raise InputError(
            "--categorical and --missing with --error-columns: categories and filled "
            "gaps have no error bars"
        )


def check_mixed(path: str, content: Data, categorical: bool, missing: str) -> None:
    """Raise if a table has categories or gaps that the options do not allow."""
    if content.mixed is None:
        raise InputError(f"{path}: --categorical and --missing are for tables, as CSV")
    text, gaps = content.mixed.text, content.mixed.missing
    if text and not categorical:
        column, where = next(iter(text.items()))
        gap = _gap_words(content.mixed.categories[column])
        raise InputError(
            f"{path}:{where}{gap and f'; {gap}'}; for columns of categories: "
            "--categorical auto"
        )
    if gaps and missing == "error":
        raise InputError(
            f"{path}:{_gaps(content, list(gaps))}; for missing values: --missing mean "
            "or --missing indicator"
        )


def _gaps(content: Data, columns: Sequence[int]) -> str:
    assert content.mixed is not None
    names = [_name(content, column) for column in columns]
    return f"{content.mixed.missing[columns[0]]} in column {listed_names(names)}"


def _name(content: Data, column: int) -> str:
    return repr(content.names[column]) if content.names else str(column + 1)


def column_encoder(content: Data, missing: str, scaler: Any) -> ColumnTransformer:
    """Return the step that makes numbers of a table: not fitted yet.

    Scaling is for the columns of numbers; those of categories are 0 or 1 anyway.
    """
    assert content.mixed is not None
    categories = sorted(content.mixed.categories)
    others = [i for i in range(content.X.shape[1]) if i not in content.mixed.categories]
    steps: list[Any] = []
    if missing != "error":
        from sklearn.impute import SimpleImputer  # brings much along

        indicator = missing == "indicator"
        steps.append(SimpleImputer(add_indicator=indicator, keep_empty_features=True))
    steps += [] if scaler is None else [scaler]
    parts: list[Any] = []
    if others:
        parts.append(
            (_NUMBERS, make_pipeline(*steps) if steps else "passthrough", others)
        )
    if categories:
        parts.append((_CATEGORIES, OneHotEncoder(handle_unknown="ignore"), categories))
    return ColumnTransformer(parts)


def encoded_pipeline(encoder: ColumnTransformer, estimator: Any) -> Pipeline:
    """Return the model of a mixed table."""
    return Pipeline([(_STEP, encoder), ("model", estimator)])


def as_table(content: Data) -> NDArray[Any]:
    """Return the samples with their categories as text; without any, as numbers."""
    if content.mixed is None or not content.mixed.categories:
        return np.asarray(content.X)
    table = content.X.astype(object)
    for column, texts in content.mixed.categories.items():
        codes = content.X[:, column]
        known = np.array([*texts, _MISSING], dtype=object)
        table[:, column] = known[np.where(np.isnan(codes), -1, codes).astype(np.intp)]
    return np.asarray(table)


def encode(encoder: ColumnTransformer, content: Data) -> Data:
    """Fit the step and return what the estimator is to see."""
    X = encoder.fit_transform(as_table(content))
    X = np.ascontiguousarray(X, np.float64) if isinstance(X, np.ndarray) else X.tocsr()
    return replace(content, X=X)


def name_columns(step: ColumnTransformer, names: NDArray[Any]) -> None:
    """Give a fitted step the names of its columns, as if a frame had brought them."""
    step.feature_names_in_ = names
    for _, part, columns in step.transformers_:
        first = part[0] if isinstance(part, Pipeline) else part
        if hasattr(first, "n_features_in_"):
            first.feature_names_in_ = names[columns]


def category_hints(content: Data) -> list[str]:
    """Return hints for columns that are no categories, as it seems.

    They tell rows apart rather than describe them, or hold numbers with gaps.
    """
    assert content.mixed is not None
    rows, names, found = content.X.shape[0], [], []
    for column, texts in sorted(content.mixed.categories.items()):
        name = _name(content, column)
        if gap := _gap_words(texts):
            found.append(f"every number of column {name} is a category: {gap}")
        elif len(texts) > max(_MANY, rows / 2):
            names.append(name)
    if not names:
        return found
    return [
        *found,
        f"over half of the rows have a category of their own in column "
        f"{listed_names(names)}: leave it out of the file if it names the rows",
    ]


def _gap_words(texts: Sequence[str]) -> str:
    """Return what to do about a few texts in a column of numbers, if it is one."""
    others = [text for text in texts if not is_number(text)]
    if len(others) > _FEW or len(texts) - len(others) <= _MANY:
        return ""
    shown = ", ".join(map(repr, others))
    return f"where {shown} stands for no value, write NA, or leave the field empty"


def encoding_step(model: Any) -> ColumnTransformer | None:
    """Return the step for mixed tables of a model that ``train`` has made."""
    step = model.named_steps.get(_STEP) if isinstance(model, Pipeline) else None
    return step if isinstance(step, ColumnTransformer) else None


def encoding_words(step: ColumnTransformer) -> str:
    """Return what becomes of the columns of a mixed table, in a few words."""
    names = getattr(step, "feature_names_in_", range(1, step.n_features_in_ + 1))
    words = []
    for kind, part, columns in step.transformers_:
        if kind not in (_NUMBERS, _CATEGORIES):
            continue  # no other columns are left
        steps = [one for _, one in part.steps] if isinstance(part, Pipeline) else []
        by = f" ({', '.join(type(one).__name__ for one in steps)})" if steps else ""
        words.append(f"{kind} {listed_names([str(names[i]) for i in columns])}{by}")
    return "; ".join(words)


def categorical_columns(step: ColumnTransformer) -> list[int]:
    """Return the columns in which a model has categories."""
    found = [columns for name, _, columns in step.transformers_ if name == _CATEGORIES]
    return list(found[0]) if found else []


def _fills_gaps(numbers: Any) -> bool:
    from sklearn.impute import SimpleImputer

    return isinstance(numbers, Pipeline) and isinstance(numbers[0], SimpleImputer)


def matching_table(
    path: str, step: ColumnTransformer, content: Data, quiet: bool
) -> NDArray[Any]:
    """Return a table, its columns those of the model, as the model's step takes it."""
    assert content.mixed is not None
    parts = {name: part for name, part, _ in step.transformers_}
    expected, numbers = categorical_columns(step), parts.get(_NUMBERS)
    for column, where in content.mixed.text.items():
        if column not in expected:
            raise InputError(
                f"{path}:{where}, and the model has numbers in column "
                f"{_name(content, column)}"
            )
    if content.mixed.missing and not _fills_gaps(numbers):
        raise InputError(
            f"{path}:{_gaps(content, list(content.mixed.missing))}; train with "
            "--missing mean or --missing indicator"
        )
    table = as_table(content)
    if expected:
        _remark_unseen(path, parts[_CATEGORIES], content, table, expected, quiet)
    return table


def _remark_unseen(
    path: str,
    encoder: OneHotEncoder,
    content: Data,
    table: NDArray[Any],
    columns: Sequence[int],
    quiet: bool,
) -> None:
    """Print, once, how many values are of categories never seen in training."""
    count, names = 0, []
    for known, column in zip(encoder.categories_, columns, strict=True):
        unseen = ~np.isin(table[:, column].astype(str), known.astype(str))
        if unseen.any():
            count += int(unseen.sum())
            names.append(_name(content, column))
    if count:
        remark(
            f"warning: {path}: values of categories that the training data does not "
            f"have count as none: {count} in column {listed_names(names)}; correct "
            "them, or train again on rows that have them",
            quiet,
        )

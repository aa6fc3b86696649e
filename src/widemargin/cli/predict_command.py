"""``widemargin predict`` and ``widemargin evaluate``: a model on other data."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from widemargin.cli.column_encoding import (
    categorical_columns,
    encoding_step,
    matching_table,
)
from widemargin.cli.parsed_data import Data
from widemargin.cli.streams import is_standard_output, writing
from widemargin.cli.suggestions import did_you_mean
from widemargin.cli.system_errors import refusal

from .output import (
    InputError,
    catching_warnings,
    load_model,
    read_data,
    refuse_overwriting,
    remark,
)
from .scores import are_numbers, evaluation, show, summary_lines


@click.command()
@click.argument("data", metavar="DATA", type=click.Path())
@click.argument("model", metavar="MODEL", type=click.Path())
@click.argument("out", metavar="OUT", type=click.Path())
@click.option("--label", metavar="COLUMN", help="CSV: the label, if the file has it.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def predict(data: str, model: str, out: str, label: str | None, quiet: bool) -> None:
    """Predict DATA by MODEL and write one label or number per line to OUT.

    Several quantiles are written on one line; outliers are -1, all others 1.

    DATA or OUT may be a pipe, or - for standard input or output. CSV is known by its
    name (.csv or .tsv) or by --label.
    """
    refuse_overwriting(out, data, model)
    estimator = load_model(model)
    content = _matching(data, estimator, label, quiet, label_required=False)
    with catching_warnings(quiet):
        predicted = estimator.predict(content.X)
    try:
        with writing(out) as file:
            file.write("".join(f"{_line(row)}\n" for row in predicted).encode())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"{out}: {refusal(error)}") from error
    if content.y is not None and not quiet:
        for line in summary_lines(estimator, content.y, predicted):
            click.echo(line, err=is_standard_output(out))


def _line(prediction: Any) -> str:
    """One prediction as text: a label, a number, or several quantiles."""
    several = np.ndim(prediction) > 0
    return " ".join(map(str, prediction)) if several else str(prediction)


@click.command()
@click.argument("data", metavar="DATA", type=click.Path())
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option(
    "--label",
    metavar="COLUMN",
    help="CSV: name or number of the label.  [default: the only column that is no "
    "feature of MODEL]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def evaluate(data: str, model: str, label: str | None, as_json: bool) -> None:
    """Score MODEL on labelled DATA, a file or - for stdin."""
    estimator = load_model(model)
    content = _matching(data, estimator, label, as_json, label_required=True)
    with catching_warnings(as_json):
        scores = evaluation(estimator, content)
    if as_json:
        click.echo(json.dumps(scores))
        return
    show(scores)


def _matching(
    path: str, estimator: Any, label: str | None, quiet: bool, label_required: bool
) -> Data:
    """Read a file and give it the columns that the model expects."""
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    precomputed = getattr(final, "kernel", None) == "precomputed"
    step = encoding_step(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    content = read_data(
        path,
        quiet=quiet,
        label=label,
        label_required=label_required,
        serial_numbers=precomputed,
        text_labels=is_classifier(estimator)
        and not are_numbers(np.asarray(estimator.classes_)),
        mixed=None if step is None else _categorical(step, names),
        features=() if names is None or not label_required else list(names),
    )
    if step is not None and content.table:
        if content.names is not None and names is not None:
            columns = _positions(path, content.names, list(names))
            mixed = None if content.mixed is None else content.mixed.selected(columns)
            content = Data(content.X[:, columns], content.y, list(names), True, mixed)
        else:
            _check_width(path, content.X.shape[1], estimator.n_features_in_)
        return Data(matching_table(path, step, content, quiet), content.y)
    if content.names is not None and names is not None:
        X = content.X[:, _positions(path, content.names, list(names))]
        if isinstance(estimator, Pipeline):
            X = _as_frame(X, list(names), estimator)
        return Data(X, content.y)
    expected = estimator.n_features_in_
    found = content.X.shape[1]
    if content.table:  # a table lacks no zeros: some column is not what it seems
        _check_width(path, found, expected)
    if found == expected:
        return content
    if found > expected:
        remark(
            f"warning: {path}: features above {expected} are unknown to the model and "
            "ignored; train again if they matter",
            quiet,
        )
    return Data(_resized(content.X, expected), content.y)


def _categorical(step: ColumnTransformer, names: Any) -> list[str | int]:
    """The columns in which the model has categories: by name and by number."""
    columns = categorical_columns(step)
    return columns + ([] if names is None else [names[column] for column in columns])


def _check_width(path: str, found: int, expected: int) -> None:
    if found != expected:
        hint = "; if one is the label, say so: --label COLUMN"
        raise InputError(
            f"{path}: {found} columns of features, and the model has {expected}"
            + (hint if found == expected + 1 else "")
        )


def _positions(path: str, known: list[str], names: list[str]) -> list[int]:
    """Where the columns of these names are."""
    absent = [name for name in names if name not in known]
    if absent:
        more = len(absent) - 1
        others = f" and {more} other{'s' if more > 1 else ''}" if more else ""
        near = did_you_mean(absent[0], set(known) - set(names))
        raise InputError(
            f"{path}:1:1: no column {absent[0]!r}{others}, which the model needs{near}"
        )
    return [known.index(name) for name in names]


def _as_frame(X: NDArray[Any], names: list[str], model: Pipeline) -> Any:
    """Names for a ColumnTransformer, which may know columns by nothing else."""
    if not any(isinstance(step, ColumnTransformer) for _, step in model.steps):
        return X
    import pandas  # such a model was made from a data frame

    return pandas.DataFrame(X, columns=names)


def _resized(X: Any, features: int) -> Any:
    """As LIBSVM reads it: absent features are zero; those never seen are left out."""
    kept = min(X.shape[1], features)
    if sparse.issparse(X):
        trimmed = sparse.csr_matrix(X[:, :kept])
        trimmed.resize((X.shape[0], features))
        return trimmed
    padded = np.zeros((X.shape[0], features))
    padded[:, :kept] = X[:, :kept]
    return padded

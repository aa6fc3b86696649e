"""``widemargin predict`` and ``widemargin evaluate``: a model meets other data."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.metrics import (
    confusion_matrix,
    precision_recall_fscore_support,
    roc_auc_score,
)
from sklearn.pipeline import Pipeline

from widemargin.cli.demo.stage import plain_table
from widemargin.cli.files import Data
from widemargin.cli.refusals import refusal
from widemargin.cli.streams import is_standard_output, writing

from .output import (
    InputError,
    catching_warnings,
    load_model,
    read_data,
    refuse_overwriting,
    remark,
)


@click.command()
@click.argument("data", metavar="DATA", type=click.Path())
@click.argument("model", metavar="MODEL", type=click.Path())
@click.argument("out", metavar="OUT", type=click.Path())
@click.option("--label", metavar="COLUMN", help="CSV: the label, if the file has it.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def predict(data: str, model: str, out: str, label: str | None, quiet: bool) -> None:
    """Predict DATA by MODEL and write one label a line to OUT.

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
            file.write("".join(f"{value}\n" for value in predicted).encode())
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"{out}: {refusal(error)}") from error
    if content.y is not None and not quiet:
        given, found = comparable(content.y, predicted)
        right = int(np.sum(given == found))
        share = 100 * right / len(predicted)
        click.echo(
            f"Accuracy = {share:.6g}% ({right}/{len(predicted)}) (classification)",
            err=is_standard_output(out),
        )


@click.command()
@click.argument("data", metavar="DATA", type=click.Path())
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option("--label", metavar="COLUMN", help="CSV: name or number of the label.")
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
    click.echo(f"rows               {scores['rows']}")
    click.echo(f"accuracy           {scores['accuracy']:.4f}")
    click.echo(f"balanced accuracy  {scores['balanced_accuracy']:.4f}")
    if scores["auc"] is not None:
        click.echo(f"area under ROC     {scores['auc']:.4f}")
    header = ["class", "precision", "recall", "F1", "rows"]
    rows = [
        [
            str(one["label"]),
            *(f"{one[key]:.4f}" for key in ("precision", "recall", "f1")),
            str(one["rows"]),
        ]
        for one in scores["classes"]
    ]
    click.echo(plain_table(header, rows), nl=False)


def evaluation(estimator: Any, content: Data) -> dict[str, Any]:
    """Return the scores of a model on labelled data as plain values."""
    predicted = estimator.predict(content.X)
    truth = content.y
    if truth is None:
        raise InputError("the labels are missing")
    truth, predicted = comparable(truth, predicted)
    labels = np.unique(np.concatenate([np.unique(truth), np.unique(predicted)]))
    precision, recall, f1, count = precision_recall_fscore_support(
        truth, predicted, labels=labels, zero_division=0
    )
    classes = [
        {
            "label": labels[i].item(),
            "precision": float(precision[i]),
            "recall": float(recall[i]),
            "f1": float(f1[i]),
            "rows": int(count[i]),
        }
        for i in range(len(labels))
    ]
    return {
        "rows": len(predicted),
        "accuracy": float(np.mean(predicted == truth)),
        "balanced_accuracy": float(np.mean(recall[count > 0])),
        "auc": _area(estimator, content, truth),
        "classes": classes,
        "confusion": confusion_matrix(truth, predicted, labels=labels).tolist(),
    }


def _area(estimator: Any, content: Data, truth: NDArray[Any]) -> float | None:
    truth, classes = comparable(truth, np.asarray(estimator.classes_))
    if len(classes) != 2 or not hasattr(estimator, "decision_function"):
        return None
    if set(truth.tolist()) != set(classes.tolist()):
        return None  # both classes, and nothing else: what the values tell apart
    scores = estimator.decision_function(content.X)
    return float(roc_auc_score(truth == classes[1], scores))


def _matching(
    path: str, estimator: Any, label: str | None, quiet: bool, label_required: bool
) -> Data:
    """Read a file and give it the columns that the model expects."""
    final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    precomputed = getattr(final, "kernel", None) == "precomputed"
    content = read_data(
        path,
        quiet=quiet,
        label=label,
        label_required=label_required,
        serial_numbers=precomputed,
        text_labels=not _are_numbers(np.asarray(estimator.classes_)),
    )
    names = getattr(estimator, "feature_names_in_", None)
    if content.names is not None and names is not None:
        X = _named_columns(path, content, list(names))
        if isinstance(estimator, Pipeline):
            X = _as_frame(X, list(names), estimator)
        return Data(X, content.y)
    expected = estimator.n_features_in_
    found = content.X.shape[1]
    if found == expected:
        return content
    if content.table:  # a table lacks no zeros: some column is not what it seems
        hint = "; if one is the label, say so: --label COLUMN"
        raise InputError(
            f"{path}: {found} columns of features, and the model has {expected}"
            + (hint if found == expected + 1 else "")
        )
    if found > expected:
        remark(
            f"warning: {path}: features above {expected} are unknown to the model and "
            "ignored",
            quiet,
        )
    return Data(_resized(content.X, expected), content.y)


def _named_columns(path: str, content: Data, names: list[str]) -> NDArray[Any]:
    known = content.names or []
    for name in names:
        if name not in known:
            raise InputError(f"{path}:1:1: no column {name!r}, which the model needs")
    selected: NDArray[Any] = content.X[:, [known.index(name) for name in names]]
    return selected


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


def comparable(
    truth: NDArray[Any], other: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return labels of a file and of a model as numbers, or all as whole texts.

    Never in the dtype of one of them: in one of single letters "yes" is "y".
    """
    if _are_numbers(truth) and _are_numbers(other):
        return truth, other
    return truth.astype(str), other.astype(str)


def _are_numbers(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind in "biuf"

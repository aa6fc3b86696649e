"""What ``widemargin evaluate`` measures: classes, numbers, quantiles or outliers."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.metrics import (
    confusion_matrix,
    mean_absolute_error,
    mean_pinball_loss,
    mean_squared_error,
    precision_recall_fscore_support,
    r2_score,
    roc_auc_score,
)
from sklearn.pipeline import Pipeline

from widemargin.cli.parsed_data import Data
from widemargin.cli.terminal_report import plain_table

from .output import InputError

_MOST_ROWS = 10_000  # training rows on which a model is scored, at most
#: figures with a line of their own, where a model has them
_LINES = {
    "rows": "rows               {}",
    "accuracy": "accuracy           {:.4f}",
    "balanced_accuracy": "balanced accuracy  {:.4f}",
    "auc": "area under ROC     {:.4f}",
    "precision_at_top": "precision at top   {:.4f}",
    "outliers_found": "called outliers    {:.4f}",
    "r2": "R2                 {:.4f}",
    "mean_absolute_error": "mean abs. error    {:.6g}",
    "mean_squared_error": "mean squared error {:.6g}",
    "coverage": "coverage           {:.4f}",
}
#: records with a line each: title of a column and its figure
_TABLES = {
    "classes": {
        "class": "label",
        "precision": "precision",
        "recall": "recall",
        "F1": "f1",
        "rows": "rows",
    },
    "quantiles": {
        "quantile": "quantile",
        "share below": "share_below",
        "pinball loss": "pinball_loss",
    },
}


def evaluation(estimator: Any, content: Data) -> dict[str, Any]:
    """Return the scores of a model on labelled data as plain values."""
    if content.y is None:
        raise InputError("the labels are missing")
    if is_regressor(estimator):
        final = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        targets, predicted = numbers(content.y), estimator.predict(content.X)
        if hasattr(final, "quantiles_"):
            return quantile_scores(targets, predicted, final.quantiles_)
        return regression_scores(targets, predicted)
    if is_outlier_detector(estimator):
        return outlier_scores(estimator, content.X, content.y)
    return class_scores(estimator, content.X, content.y)


def show(scores: dict[str, Any]) -> None:
    """Print scores, one per line, and those of classes or quantiles as a table."""
    for name, line in _LINES.items():
        if scores.get(name) is not None:
            click.echo(line.format(scores[name]))
    for name, columns in _TABLES.items():
        if name in scores:
            rows = [
                [_cell(one[key], number) for number, key in enumerate(columns.values())]
                for one in scores[name]
            ]
            click.echo(plain_table(list(columns), rows), nl=False)


def _cell(value: Any, number: int) -> str:
    """A name as it is, in the first column; measured shares with four digits."""
    measured = isinstance(value, float) and number > 0
    return f"{value:.4f}" if measured else str(value)


def numbers(labels: NDArray[Any]) -> NDArray[np.float64]:
    """Return the labels of a file as the targets of a regression."""
    if labels.dtype.kind not in "biuf":
        raise InputError("the label column holds text, and a regression needs numbers")
    return labels.astype(np.float64)


def regression_scores(targets: NDArray[Any], predicted: Any) -> dict[str, Any]:
    """Return how near predicted numbers are to the true ones."""
    return {
        "rows": len(targets),
        "r2": float(r2_score(targets, predicted)) if len(targets) > 1 else None,
        "mean_absolute_error": float(mean_absolute_error(targets, predicted)),
        "mean_squared_error": float(mean_squared_error(targets, predicted)),
    }


def quantile_scores(
    targets: NDArray[Any], predicted: Any, quantiles: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the share of targets below each predicted quantile, and its loss.

    The coverage is the share of targets between the lowest and the highest quantile.
    """
    table = np.asarray(predicted).reshape(len(targets), -1)
    records = [
        {
            "quantile": float(q),
            "share_below": float(np.mean(targets <= column)),
            "pinball_loss": float(mean_pinball_loss(targets, column, alpha=float(q))),
        }
        for q, column in zip(quantiles, table.T, strict=True)
    ]
    lowest, highest = table[:, quantiles.argmin()], table[:, quantiles.argmax()]
    within = np.mean((lowest <= targets) & (targets <= highest))
    several = len(records) > 1
    return {
        "rows": len(targets),
        "coverage": float(within) if several else None,
        "quantiles": records,
    }


def outlier_scores(estimator: Any, X: Any, labels: NDArray[Any]) -> dict[str, Any]:
    """Return how well the scores of a model find the rarer of two labels.

    The precision at the top is the share of true outliers among as many rows, those
    with the lowest scores, as there are outliers.
    """
    decisions = np.asarray(estimator.decision_function(X))
    scores: dict[str, Any] = {
        "rows": len(decisions),
        "outliers_found": float(np.mean(decisions < 0)),
    }
    names, counts = np.unique(labels, return_counts=True)
    if len(names) == 2:
        outliers = labels == names[counts.argmin()]
        top = np.argsort(decisions, kind="stable")[: int(outliers.sum())]
        scores["auc"] = float(roc_auc_score(outliers, -decisions))
        scores["precision_at_top"] = float(np.mean(outliers[top]))
        scores["outlier_label"] = names[counts.argmin()].item()
    return scores


def class_scores(estimator: Any, X: Any, truth: NDArray[Any]) -> dict[str, Any]:
    """Return accuracy and the figures of each class."""
    truth, predicted = comparable(truth, estimator.predict(X))
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
        "auc": _area(estimator, X, truth),
        "classes": classes,
        "confusion": confusion_matrix(truth, predicted, labels=labels).tolist(),
    }


def _area(estimator: Any, X: Any, truth: NDArray[Any]) -> float | None:
    truth, classes = comparable(truth, np.asarray(estimator.classes_))
    if len(classes) != 2 or not hasattr(estimator, "decision_function"):
        return None
    if set(truth.tolist()) != set(classes.tolist()):
        return None  # both classes, and nothing else: what the values tell apart
    return float(roc_auc_score(truth == classes[1], estimator.decision_function(X)))


def comparable(
    truth: NDArray[Any], other: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return labels of a file and of a model as numbers, or all as whole texts.

    Never in the dtype of one of them: in one of single letters "yes" is "y".
    """
    if are_numbers(truth) and are_numbers(other):
        return truth, other
    return truth.astype(str), other.astype(str)


def are_numbers(labels: NDArray[Any]) -> bool:
    """Whether labels are numbers, not text."""
    return labels.dtype.kind in "biuf"


def summary_lines(estimator: Any, truth: NDArray[Any], predicted: Any) -> list[str]:
    """Return how good predictions are, in the words of LIBSVM's svm-predict."""
    if is_regressor(estimator):
        return regression_lines(numbers(truth), predicted, "{} = {} (regression)")
    given, found = comparable(truth, predicted)
    right = int(np.sum(given == found))
    share = 100 * right / len(predicted)
    return [f"Accuracy = {share:.6g}% ({right}/{len(predicted)}) (classification)"]


def training_fit(
    estimator: Any, X: Any, y: NDArray[Any] | None
) -> tuple[str | None, float]:
    """Return how well a model fits the rows it was trained on, as a line of text.

    The number is the share of what is wrong with a constant answer, the commonest label
    or the mean, that the model gets right: 0 for one that has learnt nothing, 1 where
    that is not said. A large set is sampled: scoring all rows would take as long as the
    training.
    """
    if y is None or is_outlier_detector(estimator):
        return None, 1.0
    gained = 1.0
    drawn = np.sort(np.random.default_rng(0).permutation(len(y))[:_MOST_ROWS])
    truth, predicted = y[drawn], np.asarray(estimator.predict(X[drawn]))
    rows = f"all {len(y)}" if len(y) == len(drawn) else f"{len(drawn)} of the {len(y)}"
    if hasattr(estimator, "quantiles_"):
        table = predicted.reshape(len(truth), -1)
        shares = ", ".join(f"{np.mean(truth <= column):.4g}" for column in table.T)
        measured = f"share below each quantile {shares}"
    elif is_regressor(estimator):
        if np.ptp(truth) == 0:
            return None, 1.0  # R2 compares with a spread, and there is none
        gained = float(r2_score(truth, predicted))
        measured = f"R2 {gained:.4f}"
    else:
        wrong = float(np.mean(truth != predicted))
        by_constant = 1.0 - np.unique(truth, return_counts=True)[1].max() / len(truth)
        gained = 1.0 - wrong / by_constant if by_constant > 0 else 1.0
        measured = f"accuracy {100 * np.mean(truth == predicted):.6g}%"
    return f"training {measured} (on {rows} rows it was trained on)", gained


def regression_lines(targets: NDArray[Any], predicted: Any, form: str) -> list[str]:
    """Return error and correlation as LIBSVM does; nothing for several quantiles."""
    predicted = np.asarray(predicted)
    if predicted.ndim > 1:
        return []
    error = float(mean_squared_error(targets, predicted))
    lines = [form.format("Mean squared error", f"{error:.6g}")]
    if np.ptp(targets) > 0 and np.ptp(predicted) > 0:
        square = float(np.corrcoef(targets, predicted)[0, 1]) ** 2
        lines.append(form.format("Squared correlation coefficient", f"{square:.6g}"))
    return lines

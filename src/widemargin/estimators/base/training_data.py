"""Training data as scikit-learn would check it, reduced to the rows that count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from .probabilities import CALIBRATE
from .validation import (
    check_weights,
    checked_samples,
    plain_labels,
    plain_samples,
    refuse_asymmetric,
)


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """Validated training data: the rows with positive weight.

    Attributes
    ----------
    X : array or CSR
        These rows (and, with a precomputed kernel, these columns).
    rows : ndarray
        Which rows of the given X they are.
    n_given, n_features : int
        Numbers of rows and of columns that were given.
    weights : ndarray or None
        Positive sample weights of these rows.
    ids : ndarray or None
        Names of these rows, where rows were given names.
    """

    X: Any
    rows: NDArray[np.intp]
    n_given: int
    n_features: int
    weights: NDArray[np.float64] | None = None
    ids: NDArray[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class LabelledData(TrainingData):
    """Training data of a classifier.

    Attributes
    ----------
    labels : ndarray
        Class numbers of these rows.
    classes : ndarray
        Sorted labels.
    answer_costs : ndarray of shape (n_rows, n_classes) or None
        What it costs to answer each class, where rows come with costs of their own.
    """

    labels: NDArray[np.intp]
    classes: NDArray[Any]
    answer_costs: NDArray[np.float64] | None = None


def validate_labelled(
    estimator: Any, X: Any, y: Any, sample_weight: Any, ids: Any = None
) -> LabelledData:
    """Check samples, labels and weights; drop the rows without weight.

    Error messages are scikit-learn's own where it has one.
    """
    refuse_probability(estimator)
    named = hasattr(estimator, "feature_names_in_")  # of a former fit
    plain = plain_samples(X) and plain_labels(y) and X.shape[0] == y.size
    if named or not plain:
        X, y = checked_samples(estimator, X, y)
        if not plain_labels(y):
            check_classification_targets(y)
    if estimator.kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            "Precomputed matrix must be a square matrix. Input is a "
            f"{X.shape[0]}x{X.shape[1]} matrix."
        )
    n, n_features = X.shape
    weights = check_weights(sample_weight, n)
    classes, labels = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            "The number of classes has to be greater than one; "
            f"got {classes.size} class"
        )
    rows = np.arange(n)
    if weights is not None:
        rows = np.flatnonzero(weights > 0)
        if rows.size == 0:
            raise ValueError(
                "Invalid input - all samples have zero or negative weights."
            )
        classes, labels = np.unique(y[rows], return_inverse=True)
        if classes.size == 1:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same "
                "class."
            )
        weights = weights[rows]
    if rows.size < n:
        X = X[rows] if estimator.kernel != "precomputed" else X[np.ix_(rows, rows)]
    if estimator.kernel == "precomputed":
        refuse_asymmetric(X)
    return LabelledData(
        X=X,
        rows=rows,
        n_given=n,
        n_features=n_features,
        weights=weights,
        ids=None if ids is None else ids[rows],
        labels=labels,
        classes=classes,
    )


def refuse_probability(estimator: Any) -> None:
    """Refuse probability=True; the error names what to use instead."""
    if estimator.probability is True:
        remedy = CALIBRATE.format(name=type(estimator).__name__)
        raise ValueError(f"probability=True is not offered. {remedy}")

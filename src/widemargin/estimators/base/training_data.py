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


@dataclass(frozen=True)
class Training:
    """Validated training data: the rows with positive weight.

    Attributes
    ----------
    X : array or CSR
        These rows (and, with a precomputed kernel, these columns).
    rows : ndarray
        Which rows of the given X they are.
    labels : ndarray
        Class numbers of these rows.
    classes : ndarray
        Sorted labels.
    weights : ndarray or None
        Positive sample weights of these rows.
    n_given : int
        Number of rows that were given.
    ids : ndarray or None
        Names of these rows, where rows were given names.
    """

    X: Any
    rows: NDArray[np.intp]
    labels: NDArray[np.intp]
    classes: NDArray[Any]
    weights: NDArray[np.float64] | None
    n_given: int
    ids: NDArray[Any] | None = None


def validate_training(
    estimator: Any, X: Any, y: Any, sample_weight: Any, ids: Any = None
) -> Training:
    """Check samples, labels and weights; drop the rows without weight.

    Error messages are scikit-learn's own where it has one.
    """
    refuse_probability(estimator)
    if plain_samples(X) and plain_labels(y) and X.shape[0] == y.size:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
    else:
        X, y = checked_samples(estimator, X, y)
        if not plain_labels(y):
            check_classification_targets(y)
    if estimator.kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            "Precomputed matrix must be a square matrix. Input is a "
            f"{X.shape[0]}x{X.shape[1]} matrix."
        )
    n = X.shape[0]
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
    named = None if ids is None else ids[rows]
    return Training(X, rows, labels, classes, weights, n, named)


def refuse_probability(estimator: Any) -> None:
    """Say what to use instead of probability=True."""
    if estimator.probability is True:
        remedy = CALIBRATE.format(name=type(estimator).__name__)
        raise ValueError(f"probability=True is not offered. {remedy}")

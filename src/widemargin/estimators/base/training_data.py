"""Training data as scikit-learn would check it, reduced to the rows that count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets

from widemargin.runtime.lazy import lazy_property

from .multiclass import PairSamples, class_pairs, samples_of_classes
from .object_samples import checked_for_kernel, sizes
from .probabilities import CALIBRATE
from .validation import (
    check_weights,
    class_numbers,
    demanded,
    plain_labels,
    plain_samples,
    plain_targets,
    refuse_asymmetric,
)


class OneClassLeft(ValueError):
    """Without the rows of no weight only one class is left."""


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

    @classmethod
    def counting(
        cls,
        estimator: Any,
        X: Any,
        rows: NDArray[np.intp],
        weights: NDArray[np.float64] | None,
        ids: Any,
        **targets: Any,
    ) -> Self:
        """Return the rows of checked samples that count, with what belongs to them."""
        n, n_features = sizes(X)
        return cls(
            X=restricted(estimator, X, rows),
            rows=rows,
            n_given=n,
            n_features=n_features,
            weights=weights,
            ids=None if ids is None else ids[rows],
            **targets,
        )


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

    @lazy_property
    def pair_samples(self) -> list[PairSamples]:
        """The rows of each pair of classes: the same for all fits to these rows."""
        return samples_of_classes(self.labels, class_pairs(self.classes.size))


@dataclass(frozen=True, kw_only=True)
class TargetData(TrainingData):
    """Training data of a regressor.

    Attributes
    ----------
    targets : ndarray
        Numbers to be predicted, of these rows.
    """

    targets: NDArray[np.float64]


def validate_unlabelled(
    estimator: Any, X: Any, sample_weight: Any, ids: Any = None
) -> TrainingData:
    """Check samples and weights; drop the rows without weight."""
    if hasattr(estimator, "feature_names_in_") or not plain_samples(X):
        X = checked_for_kernel(estimator, X)
    refuse_oblong(estimator, X)
    rows, weights = weighted_rows(sample_weight, sizes(X)[0])
    return TrainingData.counting(estimator, X, rows, weights, ids)


def validate_targets(
    estimator: Any, X: Any, y: Any, sample_weight: Any, ids: Any = None
) -> TargetData:
    """Check samples, targets and weights; drop the rows without weight.

    Error messages are scikit-learn's own where it has one.
    """
    named = hasattr(estimator, "feature_names_in_")  # of a former fit
    plain = plain_samples(X) and plain_targets(y) and X.shape[0] == y.size
    if named or not plain:
        X, y = checked_for_kernel(estimator, X, y, labels=False)
    refuse_oblong(estimator, X)
    rows, weights = weighted_rows(sample_weight, sizes(X)[0])
    targets = np.asarray(y, dtype=np.float64)[rows]
    missing = np.flatnonzero(~np.isfinite(targets))  # None among objects
    if missing.size:
        raise ValueError(
            f"y has {missing.size} missing targets (None or NaN), the first in row "
            f"{rows[missing[0]]}. Leave those rows out of X and y."
        )
    return TargetData.counting(estimator, X, rows, weights, ids, targets=targets)


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
        X, y = checked_for_kernel(estimator, X, y)
        if not plain_labels(y):
            check_classification_targets(y)
    refuse_oblong(estimator, X)
    classes, labels = class_numbers(y)
    if classes.size < 2:
        raise ValueError(
            "The number of classes has to be greater than one; "
            f"got {classes.size} class"
        )
    rows, weights = weighted_rows(sample_weight, sizes(X)[0])
    if weights is not None:
        classes, labels = class_numbers(y[rows])
        if classes.size == 1:
            raise OneClassLeft(
                "Invalid input - all samples with positive weights belong to the same "
                "class."
            )
    return LabelledData.counting(
        estimator, X, rows, weights, ids, labels=labels, classes=classes
    )


def refuse_oblong(estimator: Any, X: Any) -> None:
    """Refuse a kernel matrix that is not square."""
    if estimator.kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            "Precomputed matrix must be a square matrix. Input is a "
            f"{X.shape[0]}x{X.shape[1]} matrix."
        )


def weighted_rows(
    sample_weight: Any, n: int
) -> tuple[NDArray[np.intp], NDArray[np.float64] | None]:
    """Return the rows with positive weight, and their weights if there are any."""
    weights = check_weights(sample_weight, n)
    if weights is None:
        return np.arange(n), None
    rows = np.flatnonzero(weights > 0)
    if rows.size == 0:
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return rows, weights[rows]


def restricted(estimator: Any, X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows (and, with a precomputed kernel, these columns)."""
    precomputed = estimator.kernel == "precomputed"
    if rows.size < X.shape[0]:
        X = X[np.ix_(rows, rows)] if precomputed else X[rows]
    if precomputed:
        refuse_asymmetric(X)
    return X


def refuse_probability(estimator: Any) -> None:
    """Refuse probability=True; the error names what to use instead."""
    if demanded(estimator.probability):
        plain = clone(estimator).set_params(probability=False)
        remedy = CALIBRATE.format(model=plain)
        raise ValueError(f"probability=True is not offered. {remedy}")

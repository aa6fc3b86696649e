"""Answers about uncertainty: how likely a sample is on the wrong side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.chance_constrained.data.covariance_tables import (
    GAUSSIAN,
    MOMENTS,
    FullTable,
    Uncertainty,
    violation_probability,
)
from widemargin.estimators.chance_constrained.data.covariances import sample_covariances
from widemargin.numerics.row_blocks import times

Floats = NDArray[np.float64]


def error_bound(estimator: Any, X: Any, covariance: Any, y: Any, bound: Any) -> Floats:
    """Return the bound on the probability of misclassification for every row of X."""
    bound = estimator.bound if bound is None else bound
    if bound not in (MOMENTS, GAUSSIAN):
        raise ValueError(f"bound must be 'moments' or 'gaussian', got {bound!r}.")
    classes = estimator.classes_
    believed = estimator.predict(X) if y is None else np.asarray(y)
    if believed.shape != (X.shape[0],) or not np.isin(believed, classes).all():
        raise ValueError(
            f"y must hold one of the labels {classes.tolist()} for each of the "
            f"{X.shape[0]} rows of X."
        )
    labels = np.searchsorted(classes, believed)
    uncertainty = _uncertainty(estimator, X, covariance, labels)
    total = np.zeros(X.shape[0])
    for k in range(len(classes)):
        for other in range(len(classes)):
            rows = np.flatnonzero(labels == k)
            if other != k and len(rows):
                w, b = _boundary(estimator, k, other)
                margin = times(X[rows], w) + b
                spread = uncertainty.take(rows).spread(w)
                total[rows] += violation_probability(margin, spread, bound)
    return np.minimum(total, 1.0)


def _boundary(estimator: Any, label: int, other: int) -> tuple[Floats, float]:
    """Return the half-space in which ``label`` wins against ``other``."""
    if len(estimator.classes_) == 2:
        sign = 1.0 if label == 1 else -1.0
        return sign * estimator.coef_[0], sign * float(estimator.intercept_[0])
    difference = estimator.coef_[label] - estimator.coef_[other]
    return difference, float(estimator.intercept_[label] - estimator.intercept_[other])


def _uncertainty(
    estimator: Any, X: Any, covariance: Any, labels: NDArray[np.intp]
) -> Uncertainty:
    if covariance is not None:
        return sample_covariances(covariance, None, X.shape[0], X.shape[1])
    if estimator.covariances_ is None:
        raise ValueError(
            "covariance is needed: the model was fitted with one covariance for each "
            "training sample, so new samples must bring theirs."
        )
    return Uncertainty(FullTable(estimator.covariances_), labels.astype(np.intp))

"""Samples other than numbers: strings, graphs, anything a callable kernel takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_array, column_or_1d

from .validation import checked_samples


def checked_for_kernel(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    reset: bool = True,
    labels: bool = True,
) -> Any:
    """Return samples (and labels) checked as the kernel of an estimator needs them.

    Numbers as scikit-learn checks them; objects for a callable kernel as an array of
    objects, one per row, which the kernel gets unchanged.
    """
    if not (callable(estimator.kernel) and holds_objects(X)):
        return checked_samples(estimator, X, y, reset=reset, labels=labels)
    samples = np.empty(len(X), dtype=object)
    for row, sample in enumerate(X):
        samples[row] = sample
    if samples.size == 0:
        raise ValueError(
            "Found array with 0 sample(s) while a minimum of 1 is required."
        )
    if isinstance(y, str) and y == "no_validation":
        return samples
    y = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=None)
    check_consistent_length(samples, y)
    return samples, y


def holds_objects(X: Any) -> bool:
    """Whether samples are objects for a kernel function, not rows of numbers."""
    if sparse.issparse(X) or hasattr(X, "columns") or not hasattr(X, "__len__"):
        return False
    try:
        array: NDArray[Any] = np.asarray(X)
    except ValueError:  # rows of different lengths
        return True
    return array.dtype.kind in "US" or (array.dtype == object and array.ndim == 1)


def sizes(X: Any) -> tuple[int, int]:
    """Return the numbers of samples and of features; an object is one feature."""
    return (X.shape[0], X.shape[1]) if X.ndim == 2 else (X.shape[0], 1)

"""New rows, checked before anything moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.base.validation import (
    check_weights,
    checked_samples,
    plain_labels,
    plain_samples,
)

from .live_rows import LiveRows, check_ids, refuse_known


def validate_chunk(
    estimator: Any,
    X: Any,
    y: Any,
    classes: Any,
    sample_weight: Any,
    ids: Any,
    first: bool,
) -> tuple[LiveRows, int]:
    """Return new rows, checked as ``fit`` would, and how many were given.

    Rows without weight are not kept.
    """
    if first or not _plain_and_alike(estimator, X, y):
        X, y = checked_samples(estimator, X, y, reset=first)
        check_classification_targets(y)
    _check_classes(estimator, classes, first)
    unknown = np.setdiff1d(y, estimator.classes_)
    if unknown.size:
        raise ValueError(
            f"y contains {unknown[:5].tolist()}, not among the classes "
            f"{estimator.classes_.tolist()} given at the first fit; call fit to start "
            "again with more classes."
        )
    n = X.shape[0]
    if not first and (ids is not None) != estimator._named_ids:
        raise ValueError(
            "ids must be given in every call or in none; the first call "
            f"{'gave' if estimator._named_ids else 'did not give'} them."
        )
    start = getattr(estimator, "_next_id", 0)
    named = np.arange(start, start + n) if ids is None else check_ids(ids, n)
    if ids is not None and "ids_" in vars(estimator):  # running ids are always new
        refuse_known(named, estimator.ids_)
    weights = check_weights(sample_weight, n)
    rows = np.arange(n) if weights is None else np.flatnonzero(weights > 0)
    if first and rows.size == 0:
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    labels = np.searchsorted(estimator.classes_, y)
    return LiveRows(X, labels, weights, named).kept(rows), n


def _plain_and_alike(estimator: Any, X: Any, y: Any) -> bool:
    """Whether there is nothing to find: plain arrays of as many features as before.

    The long look at them takes as long as a short path.
    """
    return bool(
        plain_samples(X)
        and plain_labels(y)
        and X.shape == (y.size, estimator.n_features_in_)
        and not hasattr(estimator, "feature_names_in_")
    )


def _check_classes(estimator: Any, classes: Any, first: bool) -> None:
    if first and classes is None:
        raise ValueError(
            "classes must be passed on the first call to partial_fit: later chunks "
            "may hold labels this one does not."
        )
    if classes is None:
        return
    listed = np.unique(np.asarray(classes))
    if not first and not np.array_equal(listed, estimator.classes_):
        raise ValueError(
            f"classes={listed.tolist()} is not the same as on the first call, "
            f"{estimator.classes_.tolist()}; leave it out or call fit."
        )
    if listed.size < 2:
        raise ValueError(
            f"The number of classes has to be greater than one; got {listed.size} class"
        )
    estimator.classes_ = listed

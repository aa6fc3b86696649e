"""New rows, checked before anything moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.base.validation import (
    check_weights,
    checked_samples,
    plain_labels,
    plain_samples,
    weighted_rows,
)

from .live_rows import LiveRows, check_ids, refuse_known
from .update_state import UpdateState


def validate_chunk(
    estimator: Any,
    X: Any,
    y: Any,
    classes: Any,
    sample_weight: Any,
    ids: Any,
    former: UpdateState | None,
) -> tuple[LiveRows, int, NDArray[Any]]:
    """Return new rows, checked as ``fit`` would, how many were given, and the classes.

    Rows without weight are not kept. `former` is what the model keeps; None before its
    first chunk.
    """
    first = former is None
    if first or not _plain_and_alike(estimator, X, y):
        X, y = checked_samples(estimator, X, y, reset=first)
        check_classification_targets(y)
    known = _listed_classes(classes, None if first else estimator.classes_)
    unknown = np.setdiff1d(y, known)
    if unknown.size:
        raise ValueError(
            f"y contains {unknown[:5].tolist()}, not among the classes "
            f"{known.tolist()} given at the first fit; call fit to start "
            "again with more classes."
        )
    n = X.shape[0]
    if former is not None and (ids is not None) != former.named_ids:
        raise ValueError(
            "ids must be given in every call or in none; the first call "
            f"{'gave' if former.named_ids else 'did not give'} them."
        )
    start = 0 if former is None else former.next_id
    named = np.arange(start, start + n) if ids is None else check_ids(ids, n)
    if ids is not None and former is not None:  # running ids are always new
        refuse_known(named, former.live.ids)
    weights = check_weights(sample_weight, n)
    rows = weighted_rows(weights, n)
    if first and rows.size == 0:
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    labels = np.searchsorted(known, y)
    return LiveRows(X, labels, weights, named).kept(rows), n, known


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


def _listed_classes(classes: Any, known: NDArray[Any] | None) -> NDArray[Any]:
    """Return the classes: as they are `known`, or as they are given first."""
    if classes is None:
        if known is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: later chunks "
                "may hold labels this one does not."
            )
        return known
    listed = np.unique(np.asarray(classes))
    if known is not None and not np.array_equal(listed, known):
        raise ValueError(
            f"classes={listed.tolist()} is not the same as on the first call, "
            f"{known.tolist()}; leave it out or call fit."
        )
    if listed.size < 2:
        raise ValueError(
            f"The number of classes has to be greater than one; got {listed.size} class"
        )
    return listed

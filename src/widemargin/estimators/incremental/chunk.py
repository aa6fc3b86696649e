"""New rows, checked before anything moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from widemargin.estimators.base.validation import (
    check_weights,
    checked_samples,
    plain_labels,
    plain_samples,
    plain_targets,
    weighted_rows,
)

from .live_rows import LiveRows, check_ids
from .update_state import UpdateState


@dataclass(frozen=True)
class Given:
    """What ``partial_fit`` was called with: rows that enter, and which leave."""

    X: Any
    y: Any
    sample_weight: Any = None
    ids: Any = None
    classes: Any = None
    forget_ids: Any = None
    window: Any = None


@dataclass(frozen=True)
class Chunk:
    """New rows that have a weight, and how many were given."""

    rows: LiveRows
    n_given: int


def labelled_chunk(
    estimator: Any, given: Given, former: UpdateState | None
) -> tuple[Chunk, NDArray[Any]]:
    """Return new rows of a classifier, checked as ``fit`` would, and the classes.

    Rows without weight are not kept. `former` is what the model keeps; None before its
    first chunk.
    """
    X, y, first = given.X, given.y, former is None
    if first or not _plain_and_alike(estimator, X, y, plain_labels(y)):
        X, y = checked_samples(estimator, X, y, reset=first)
        check_classification_targets(y)
    known = _listed_classes(given.classes, None if first else estimator.classes_)
    unknown = np.setdiff1d(y, known)
    if unknown.size:
        raise ValueError(
            f"y contains {unknown[:5].tolist()}, not among the classes "
            f"{known.tolist()} given at the first fit; call fit to start "
            "again with more classes."
        )
    return _weighted(X, np.searchsorted(known, y), given, former), known


def target_chunk(estimator: Any, given: Given, former: UpdateState | None) -> Chunk:
    """Return new rows of a regressor, checked as ``fit`` would."""
    X, y, first = given.X, given.y, former is None
    if first or not _plain_and_alike(estimator, X, y, plain_targets(y)):
        X, y = checked_samples(estimator, X, y, reset=first, labels=False)
    return _weighted(X, np.asarray(y, dtype=np.float64), given, former)


def unlabelled_chunk(estimator: Any, given: Given, former: UpdateState | None) -> Chunk:
    """Return new rows without targets, checked as ``fit`` would."""
    X, first = given.X, former is None
    if first or not _plain_and_alike(estimator, X):
        X = checked_samples(estimator, X, reset=first)
    return _weighted(X, None, given, former)


def _weighted(
    X: Any, targets: NDArray[Any] | None, given: Given, former: UpdateState | None
) -> Chunk:
    """Return the rows that have a weight, under their ids."""
    n, ids = X.shape[0], given.ids
    if former is not None and (ids is not None) != former.named_ids:
        raise ValueError(
            "ids must be given in every call or in none; the first call "
            f"{'gave' if former.named_ids else 'did not give'} them."
        )
    start = 0 if former is None else former.next_id
    named = np.arange(start, start + n) if ids is None else check_ids(ids, n)
    if ids is not None and former is not None:  # running ids are always new
        former.refuse_known(named)
    weights = check_weights(given.sample_weight, n)
    rows = weighted_rows(weights, n)
    if former is None and rows.size == 0:
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return Chunk(LiveRows(X, targets, weights, named).kept(rows), n)


def _plain_and_alike(estimator: Any, X: Any, y: Any = None, plain: bool = True) -> bool:
    """Whether there is nothing to find: plain arrays of as many features as before.

    The long look at them takes as long as a short path.
    """
    return bool(
        plain_samples(X)
        and plain
        and X.shape[1] == estimator.n_features_in_
        and (y is None or X.shape[0] == y.size)
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

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
    class_numbers,
    plain_samples,
    plain_targets,
    weighted_rows,
)

from .live_rows import LiveRows, check_ids
from .new_classes import Classes, first_classes, later_classes, missing
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
    """New rows that have a weight, how many were given, and the classes they bring."""

    rows: LiveRows
    n_given: int
    classes: Classes | None = None


def labelled_chunk(estimator: Any, given: Given, former: UpdateState | None) -> Chunk:
    """Return new rows of a classifier, checked as ``fit`` would, with the classes.

    Rows without weight are not kept, nor is a class that only they have. `former` is
    what the model keeps; None before its first chunk.
    """
    X, y = given.X, given.y
    numbers = None if former is None else _known_numbers(estimator.classes_, y)
    if numbers is None or not _plain_and_alike(estimator, X, y):
        X, y = checked_samples(estimator, X, y, reset=former is None)
        check_classification_targets(y)
        numbers = None if former is None else _known_numbers(estimator.classes_, y)
    if former is not None and numbers is not None and given.classes is None:
        classes = Classes(estimator.classes_, former.closed_classes)
        return _weighted(X, numbers, given, former, classes)  # as most chunks are
    n = X.shape[0]
    weights = check_weights(given.sample_weight, n)
    found, _ = class_numbers(y if weights is None else y[weighted_rows(weights, n)])
    if former is None:
        classes = first_classes(given.classes, found)
    else:
        known, closed = estimator.classes_, former.closed_classes
        classes = later_classes(given.classes, found, known, closed=closed)
    unknown = missing(np.unique(y) if classes.closed else found, classes.labels)
    if unknown:
        raise ValueError(
            f"y contains {unknown[:5]}, not among the classes "
            f"{classes.labels.tolist()} given before; call fit to start "
            "again with more classes."
        )
    numbers = np.searchsorted(classes.labels, y)
    return _weighted(X, numbers, given, former, classes)


def _known_numbers(classes: NDArray[Any], y: Any) -> NDArray[np.intp] | None:
    """Return the class numbers of labels; None where one of them may be new."""
    if type(y) is not np.ndarray or y.ndim != 1:
        return None
    if classes.dtype.kind != y.dtype.kind or y.dtype.kind == "O":
        return None
    numbers = np.minimum(classes.searchsorted(y), classes.size - 1)
    return numbers if (classes[numbers] == y).all() else None


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
    X: Any,
    targets: NDArray[Any] | None,
    given: Given,
    former: UpdateState | None,
    classes: Classes | None = None,
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
    rows = LiveRows(X, targets, weights, named)
    if weights is not None:
        rows = rows.kept(weighted_rows(weights, n))
    if former is None and rows.n == 0:
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return Chunk(rows, n, classes)


def _plain_and_alike(estimator: Any, X: Any, y: Any = None, plain: bool = True) -> bool:
    """Whether the full checks would find nothing: plain arrays with the same features.

    The full checks take as long as a short path.
    """
    return bool(
        plain_samples(X)
        and plain
        and X.shape[1] == estimator.n_features_in_
        and (y is None or X.shape[0] == y.size)
        and not hasattr(estimator, "feature_names_in_")
    )

"""Statistics of dense samples and of labels that a fit needs, each in one pass.

Some ten calls of numpy take longer than to fit a hundred rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core

from .products import readable_rows

Vector = NDArray[np.float64]


def all_finite(X: NDArray[Any]) -> bool:
    """Whether no entry is infinite or NaN."""
    return _core.all_finite(readable_rows(X))


def entry_moments(
    X: NDArray[Any], weights: Vector, mass: float
) -> tuple[float, float, float]:
    """Return mean, mean deviation and summed squared deviations of all entries.

    Each counts with the weight of its row; `mass` is the weight of all. The mean
    deviation is what rounding left in the mean.
    """
    given = np.ascontiguousarray(weights, dtype=np.float64)
    return _core.entry_moments(readable_rows(X), given, mass)


def feature_ranges(X: NDArray[Any]) -> tuple[float, float]:
    """Return the largest range of a feature and the smallest above 0, else infinity."""
    return _core.feature_ranges(readable_rows(X))


def label_range(labels: NDArray[np.integer]) -> tuple[int, int]:
    """Return the smallest and the largest of whole numbers, of which there are some."""
    return _core.label_range(np.ascontiguousarray(labels, dtype=np.int64))


def numbered_classes(
    labels: NDArray[np.integer],
) -> tuple[list[int], NDArray[np.intp]] | None:
    """Return the whole numbers that occur, rising, and each row's place among them.

    None where they range so far that sorting is faster than counting.
    """
    numbers = np.empty(labels.size, dtype=np.int64)
    given = np.ascontiguousarray(labels, dtype=np.int64)
    classes = _core.number_classes(given, numbers)
    return None if classes is None else (classes, numbers)

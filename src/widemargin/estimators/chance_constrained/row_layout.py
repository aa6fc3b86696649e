"""Where dense, single precision and sparse samples meet.

Solvers see three products; float32 samples are widened block by block, so the data is
never copied whole and sums are accumulated in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.estimators.base.validation import check_weights
from widemargin.numerics import products

Floats = NDArray[np.float64]

BLOCK = 8192
LARGEST = 1e130  # its square leaves room for numbers of rows, costs and kappa^2


def blocks(n_samples: int, size: int = BLOCK) -> Iterator[slice]:
    """Cut ``range(n_samples)`` into slices of at most ``size``."""
    for start in range(0, n_samples, size):
        yield slice(start, min(start + size, n_samples))


def row_weights(sample_weight: Any, n_samples: int) -> Floats:
    """Return how often each row counts: once where nothing is said, never negative."""
    weights = check_weights(sample_weight, n_samples)
    if weights is None:
        return np.ones(n_samples)
    if np.any(weights < 0.0):
        raise ValueError(
            "sample_weight has negative entries: weights count repetitions, so they "
            "must be zero or more."
        )
    return weights


def refuse_large(X: Any) -> None:
    """Refuse samples whose squares would leave floating point: no solver would end."""
    values = X.data if sparse.issparse(X) else X
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if largest > LARGEST:
        raise ValueError(
            f"The input data may contain large values and need to be preprocessed: X "
            f"reaches {largest:.3g}, and at most {LARGEST:g} can be squared and summed."
        )


def dense_rows(X: Any, rows: Any) -> Floats:
    """Return the chosen rows as a dense double precision matrix."""
    chosen = X[rows]
    if sparse.issparse(chosen):
        chosen = chosen.toarray()
    return np.asarray(chosen, dtype=np.float64)


def times(X: Any, direction: Floats) -> Floats:
    """Return ``X direction`` in double precision."""
    out = np.empty(X.shape[0])
    for rows in blocks(X.shape[0]):
        out[rows] = products.times(X[rows], direction)
    return out


def transpose_times(X: Any, values: Floats) -> Floats:
    """Return ``X' values`` in double precision."""
    out = np.zeros(X.shape[1])
    for rows in blocks(X.shape[0]):
        out += products.transposed_times(X[rows], values[rows])
    return out

"""Products with samples: dense, single precision or sparse.

Solvers see three products; float32 samples are widened block by block, so the data is
never copied whole and sums are accumulated in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import products

Floats = NDArray[np.float64]

BLOCK = 8192


def blocks(n_samples: int, size: int = BLOCK) -> Iterator[slice]:
    """Cut ``range(n_samples)`` into slices of at most ``size``."""
    for start in range(0, n_samples, size):
        yield slice(start, min(start + size, n_samples))


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

"""Sums of products that round once, for what plain floating point cannot decide.

The privacy proof holds for a training point that is near enough to the minimiser, and
"near enough" must be known, not hoped. Where cancellation eats the digits of a plain
product (a sample on the margin), these functions have them all: a product of two floats
is exactly a float plus a float (Dekker, 1971), and `math.fsum` adds floats exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Vector = NDArray[np.float64]

UNIT = 2.0**-53  # a rounded operation is off by at most this, relatively
_SPLIT = 2.0**27 + 1.0  # Veltkamp: cuts 53 bits into two halves that multiply exactly


def two_sum(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """Return the rounded sum and its error: a + b exactly (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _halves(a: Vector) -> tuple[Vector, Vector]:
    stretched = _SPLIT * a
    high = stretched - (stretched - a)
    return high, a - high


def two_product(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """Return the rounded product and its error: a b exactly, short of underflow."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    left = product - a_high * b_high - a_low * b_high - a_high * b_low
    return product, a_low * b_low - left


def sums_of_products(
    matrix: Any, vectors: Sequence[Vector], terms: Sequence[Vector]
) -> Vector:
    """Return sum(terms) + sum_k matrix @ vectors[k], every entry rounded once.

    Parameters
    ----------
    matrix : array or sparse matrix of shape (m, d)
    vectors : arrays of shape (d,)
    terms : arrays of shape (m,)
    """
    rows = sparse.csr_array(matrix)
    pieces = [
        piece.tolist()
        for vector in vectors
        for piece in two_product(rows.data, vector[rows.indices])
    ]
    added = zip(*(term.tolist() for term in terms), strict=True)
    return np.array(
        [
            math.fsum(chain(own, *(piece[start:stop] for piece in pieces)))
            for own, (start, stop) in zip(added, pairwise(rows.indptr), strict=True)
        ]
    )


def row_lengths(X: Any) -> Vector:
    """Return the Euclidean length of every row."""
    squares = X.multiply(X) if sparse.issparse(X) else X * X
    return np.asarray(np.sqrt(np.asarray(squares.sum(axis=1)).ravel()))


def room_rounding(X: Any, w: Vector, lengths: Vector) -> Vector:
    """Bound how far 1 - y (X @ w) is off in floating point (y is -1 or +1)."""
    size = 1.0 + lengths * float(np.linalg.norm(w))
    return np.asarray(2.0 * UNIT * (X.shape[1] + 4) * size)

"""Sums of products with proven error bounds (mathematics 2.5).

Products and sums are split into their rounded value and their rounding error, which is
a floating-point number too (Dekker 1971; Knuth). Adding up the errors beside the values
gives a dot product as if it were computed in twice the precision and rounded once
(Ogita, Rump and Oishi 2005), with a bound on what is still wrong. Where nothing may be
wrong but one rounding, `math.fsum` adds values and errors exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import ceil, fsum, inf, log2, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .row_blocks import blocks, dense_rows

Floats = NDArray[np.float64]

UNIT = 2.0**-53  # u: largest relative error of one operation
TINY = float(np.finfo(np.float64).tiny)  # above the absolute error of any underflow
NEARLY_ALL = (
    1.0 - 1e-9
)  # a share of weights from which on the rounding of their sum matters
_SPLIT = 2.0**27 + 1.0  # Veltkamp: cuts 53 bits into halves that multiply exactly
_AT_ONCE = 1 << 13  # products split at a time: they and their errors stay in cache


@dataclass(frozen=True)
class Enclosed:
    """Numbers that are known up to an error: the exact ones are ``value +- error``."""

    value: Floats
    error: Floats

    @property
    def largest(self) -> Floats:
        """Upper bounds of the absolute values, but for one rounding."""
        return np.abs(self.value) + self.error


def raised(value: float, operations: int = 8) -> float:
    """Return an upper bound of a non-negative number computed by few operations."""
    return nextafter(value * (1.0 + operations * UNIT) + TINY, inf)


def lowered(value: float, operations: int = 8) -> float:
    """Return a lower bound of a non-negative number computed by few operations."""
    return max(0.0, nextafter(value * (1.0 - operations * UNIT) - TINY, -inf))


def sum_above(terms: Floats, operations: int = 8) -> float:
    """Return an upper bound of the sum of non-negative terms of few operations each."""
    try:
        total = fsum(terms.tolist())
    except OverflowError:  # the sum itself overflows
        return inf
    return raised(total, operations + 1)


def sum_within(terms: Floats) -> float:
    """Return the largest float64 that is not above the exact sum.

    A total that is rounded above the sum of its upper bounds has no feasible point.
    """
    total = fsum(terms.tolist())
    above = fsum([*terms.tolist(), -total]) < 0.0
    return nextafter(total, -inf) if above else total


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return ``a + b`` and its rounding error, exactly."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _halves(a: Floats) -> tuple[Floats, Floats]:
    shifted = _SPLIT * a
    high = shifted - (shifted - a)
    return high, a - high


def two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return ``a * b`` and its rounding error, exactly but for underflow."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    error = a_high * b_high - product + a_high * b_low + a_low * b_high + a_low * b_low
    return product, error


@dataclass
class _Sum:
    """A sum under way: ``value + error``, the size of its terms, its depth."""

    value: Floats
    error: Floats
    size: Floats
    depth: int

    def add(self, other: _Sum) -> None:
        self.value, error = two_sum(self.value, other.value)
        self.error = self.error + (other.error + error)
        self.size = self.size + other.size
        self.depth = max(self.depth, other.depth) + 1

    def enclosed(self, terms: int) -> Enclosed:
        total = self.value + self.error
        left = 8.0 * (self.depth + 2.0) ** 2 * UNIT * UNIT * self.size
        return Enclosed(total, UNIT * np.abs(total) + left + terms * TINY)


def _summed(a: Floats, b: Floats) -> _Sum:
    """Add up the products along the last axis, in pairs, pairs of pairs and so on."""
    value, error = two_product(a, b)
    size = np.abs(value).sum(axis=-1)
    length = value.shape[-1]
    depth = ceil(log2(max(length, 2)))
    if length == 0:
        return _Sum(size, np.zeros_like(size), size, depth)
    while length > 1:
        kept = (length + 1) // 2
        paired, second = slice(0, length - kept), slice(kept, length)
        total, lost = two_sum(value[..., paired], value[..., second])
        value[..., paired] = total
        error[..., paired] += error[..., second] + lost
        length = kept
    return _Sum(value[..., 0], error[..., 0], size, depth)


def inner(a: Floats, b: Floats) -> Enclosed:
    """Return ``sum_j a_j b_j`` along the last axis; they are broadcast."""
    return _summed(a, b).enclosed(max(a.shape[-1], b.shape[-1]))


def plain_inner(a: Floats, b: Floats) -> Enclosed:
    """Return the same with the error of an ordinary sum, at a fraction of the work."""
    value = np.einsum("...j,...j->...", a, b)
    size = np.einsum("...j,...j->...", np.abs(a), np.abs(b))
    terms = max(a.shape[-1], b.shape[-1]) + 4.0
    return Enclosed(value, terms * UNIT * size + terms * TINY)


def row_products(X: Any, w: Floats, b: float) -> Enclosed:
    """Return ``X w + b`` for dense or sparse samples."""
    if sparse.issparse(X):
        value, size = X @ w, abs(X) @ np.abs(w)
        terms = int(np.diff(X.indptr).max(initial=0)) + 6
        total = value + b
        error = terms * UNIT * (size + np.abs(total) + abs(b)) + terms * TINY
        return Enclosed(np.asarray(total), np.asarray(error))
    value, error = np.empty((2, X.shape[0]))
    extended = np.append(w, b)
    for rows in _few_rows(X.shape[0], X.shape[1]):
        block = np.ones((rows.stop - rows.start, len(w) + 1))
        block[:, :-1] = dense_rows(X, rows)
        part = inner(block, extended)
        value[rows], error[rows] = part.value, part.error
    return Enclosed(value, error)


def column_sums(X: Any, values: Floats) -> Enclosed:
    """Return ``X' values`` for dense or sparse samples."""
    if sparse.issparse(X):
        terms = np.bincount(X.indices, minlength=X.shape[1]) + 4.0
        size = abs(X).T @ np.abs(values)
        error = terms * UNIT * size + terms * TINY
        return Enclosed(np.asarray(X.T @ values), np.asarray(error))
    used = np.flatnonzero(values)
    zero = np.zeros(X.shape[1])
    total = _Sum(zero, zero, zero, 0)
    for part in _few_rows(len(used), X.shape[1]):
        rows = dense_rows(X, used[part])
        total.add(_summed(np.ascontiguousarray(rows.T), values[used[part]]))
    return total.enclosed(len(used))


def sums_of_products(
    matrix: Any, vectors: Sequence[Floats], terms: Sequence[Floats]
) -> Floats:
    """Return sum(terms) + sum_k matrix @ vectors[k], every entry rounded once.

    Parameters
    ----------
    matrix : array or sparse matrix of shape (m, d)
        Rows to multiply.
    vectors : arrays of shape (d,)
        What each row is multiplied with.
    terms : arrays of shape (m,)
        What is added besides.
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
            fsum(chain(own, *(piece[start:stop] for piece in pieces)))
            for own, (start, stop) in zip(added, pairwise(rows.indptr), strict=True)
        ]
    )


def _few_rows(count: int, n_features: int) -> Iterator[slice]:
    return blocks(count, max(1, _AT_ONCE // max(1, n_features)))

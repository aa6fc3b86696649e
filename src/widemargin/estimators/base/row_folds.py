"""Folds that depend on the rows alone: not on their order, number or form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.numerics.row_blocks import blocks

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
Words = NDArray[np.uint64]

FOLDS = 5
ENOUGH = 1000  # held-out rows: enough to know a share to about one per cent

_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd: 2^64 over the golden ratio
_HALF = np.uint64(32)


def held_out(
    X: Any, targets: Vector, enough: float = ENOUGH
) -> Iterator[tuple[Indices, Indices]]:
    """Yield rows to fit and rows to hold out, until there are enough of the latter.

    Parameters
    ----------
    X : array or CSR of shape (n, d), or None
        Samples; None where they are not numbers: folds then go by the rows' places.
    targets : ndarray
        Their targets.
    enough : float
        Held-out rows after which no more are needed; infinity for all rows.

    Notes
    -----
    A row's fold is a hash of its features, so a row given twice counts as one of weight
    two, and rows in another order, or as CSR, have the same folds. Rows of the same
    features go to different folds where their targets differ: by rank, which neither
    unit nor origin of the targets changes.
    """
    n = targets.size
    hashed = _mixed(np.arange(1, n + 1)) if X is None else row_hashes(X)
    folds = (hashed + _ranks(hashed, targets)) % np.uint64(FOLDS)
    seen = 0
    for number in range(FOLDS):
        inside = folds == number
        if seen < enough and inside.any() and not inside.all():
            yield np.flatnonzero(~inside), np.flatnonzero(inside)
            seen += int(inside.sum())


def row_hashes(X: Any) -> Words:
    """Return one 64-bit word per row: equal for equal rows, dense or sparse."""
    n, d = X.shape
    multipliers = _mixed(np.arange(1, d + 1)) | np.uint64(1)
    out = np.empty(n, dtype=np.uint64)
    for rows in blocks(n):
        block = X[rows]
        if sparse.issparse(block):
            words = _words(block.data) * multipliers[block.indices]
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mixed(words))])
            out[rows] = sums[block.indptr[1:]] - sums[block.indptr[:-1]]
        else:
            out[rows] = _mixed(_words(block) * multipliers).sum(axis=1, dtype=np.uint64)
    return _mixed(out)


def _words(values: Any) -> Words:
    """Return the bits of numbers in single precision; -0.0 has those of 0.

    So a file with 15 digits, or features standardised in another order, change nothing.
    """
    with np.errstate(over="ignore"):
        single = np.asarray(values).astype(np.float32) + np.float32(0.0)
    return np.ascontiguousarray(single).view(np.uint32).astype(np.uint64)


def _mixed(words: Any) -> Words:
    """Return words whose every bit depends on all bits; 0 stays 0."""
    mixed = np.asarray(words).astype(np.uint64) * _MIX
    mixed = (mixed ^ (mixed >> _HALF)) * _MIX
    return np.asarray(mixed ^ (mixed >> _HALF))


def _ranks(groups: Words, targets: Vector) -> Words:
    """Return the rank of each target among the different ones of its group."""
    order = np.lexsort((targets, groups))
    same = np.diff(groups[order]) == 0
    steps = same & (np.diff(targets[order]) > 0.0)
    count = np.concatenate([[0], np.cumsum(steps)])
    first = np.concatenate([[0], np.where(same, 0, count[1:])])
    ranks = np.empty(targets.size, dtype=np.uint64)
    ranks[order] = count - np.maximum.accumulate(first)
    return ranks

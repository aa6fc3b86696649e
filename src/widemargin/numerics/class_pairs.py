"""One-vs-one: the rows of pairs of classes, and one table of all their coefficients.

Compiled: dozens of calls of numpy take longer than to fit a hundred rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
Numbers = NDArray[np.int64]


def rows_of_pairs(
    labels: NDArray[Any], pairs: Numbers, n_classes: int
) -> tuple[list[int], Indices, Vector]:
    """Return the rows of pairs of classes, one pair behind the other, each rising.

    Parameters
    ----------
    labels : ndarray of int
        Class number of each row.
    pairs : ndarray of int64, shape (n_pairs, 2)
        Class numbers, all pairs of them.
    n_classes : int
        How many class numbers there are.

    Returns
    -------
    offsets : list of int
        Where each pair begins, and the end of the last.
    rows : ndarray
        The rows.
    signs : ndarray
        +1 where a row is of the first class of its pair, -1 of the second.
    """
    given = np.ascontiguousarray(labels, dtype=np.int64)
    count = given.size * (n_classes - 1)
    rows, signs = np.empty(count, dtype=np.int64), np.empty(count)
    offsets = _core.pair_rows(given, pairs, n_classes, rows, signs)
    return offsets, rows, signs


def stacked_pairs(
    labels: NDArray[Any],
    offsets: Numbers,
    rows: Indices,
    coefficients: Vector,
    places: Numbers,
    table_rows: int,
) -> tuple[Indices, NDArray[np.int32], Vector]:
    """Return the support vectors, how many each class has, and their coefficients.

    Parameters
    ----------
    labels : ndarray of int
        Class number of each row.
    offsets, rows : ndarray
        The rows of each pair, as :func:`rows_of_pairs` has them.
    coefficients : ndarray
        Theirs.
    places : ndarray of int64, shape (n_pairs, n_classes)
        The row of the table that the coefficients of a class in a pair go to; negative
        where it has none, which is refused.
    table_rows : int
        Rows of the table.

    Returns
    -------
    support : ndarray
        The rows with a coefficient other than 0, class by class, each class rising.
    n_support : ndarray of int32
        How many each class has.
    table : ndarray of shape (table_rows, n_support)
        Their coefficients.
    """
    given = np.ascontiguousarray(labels, dtype=np.int64), rows, coefficients
    support = np.empty(labels.size, dtype=np.int64)
    n_support = np.empty(places.shape[1], dtype=np.int32)
    count = _core.pair_support(*given, support, n_support)
    support = support[:count].copy()
    table = np.zeros((table_rows, count))
    _core.pair_table(*given, offsets, places, support, table)
    return support, n_support, table

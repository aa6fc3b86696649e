"""The live rows of a model that learns and forgets: samples, targets, weights, ids.

Pure values: adding and removing rows makes new arrays of exactly the new length, so
that nothing of a removed row stays behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LiveRows:
    """Rows a model stands on.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, d)
        Samples.
    targets : ndarray of shape (n,) or None
        Class numbers, or numbers to be predicted; None where rows have neither.
    weights : ndarray of shape (n,) or None
        Sample weights, all > 0; None for all 1.
    ids : ndarray of shape (n,)
        Integers or strings, each once.
    answer_costs : ndarray of shape (n, n_classes) or None
        What it costs to answer each class, where rows come with costs of their own.
    """

    X: Any
    targets: Any
    weights: Vector | None
    ids: NDArray[Any]
    answer_costs: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.ids.size)

    def joined(self, other: LiveRows) -> LiveRows:
        """Return these rows followed by the others."""
        weights = None
        if self.weights is not None or other.weights is not None:
            weights = np.concatenate([_weights(self), _weights(other)])
        return LiveRows(
            _stacked(self.X, other.X),
            _both(self.targets, other.targets),
            weights,
            np.concatenate([self.ids, other.ids]) if self.n else other.ids,
            _both(self.answer_costs, other.answer_costs),
        )

    def kept(self, rows: Indices) -> LiveRows:
        """Return copies of some rows, and of nothing else."""
        return LiveRows(
            self.X[rows],
            _some(self.targets, rows),
            _some(self.weights, rows),
            trimmed(self.ids[rows]),
            _some(self.answer_costs, rows),
        )


def _both(first: Any, second: Any) -> Any:
    """Return one column of all rows, which all of them have or none."""
    if first is None or second is None:
        return second  # the first rows, or none has any
    return np.concatenate([first, second])


def _some(column: Any, rows: Indices) -> Any:
    return None if column is None else column[rows]


def _weights(rows: LiveRows) -> Vector:
    return np.ones(rows.n) if rows.weights is None else rows.weights


def _stacked(first: Any, second: Any) -> Any:
    """Stack samples in the format of the first; the wider precision wins."""
    if first.shape[0] == 0:
        return second.copy()
    if sparse.issparse(first):
        return sparse.vstack([first, sparse.csr_array(second)], format="csr")
    below = second.toarray() if sparse.issparse(second) else second
    return np.ascontiguousarray(np.concatenate([first, below]))


def lasting(X: Any) -> Any:
    """Return samples that stay as they are: a copy, unless these are immutable.

    The caller's array may change after a fit, the live rows must not. An array that
    is read-only down to its memory is kept without a copy, which counts on big data.
    """
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return X if all(_unchangeable(part) for part in parts) else X.copy()


def _unchangeable(array: Any) -> bool:
    """Whether neither the array nor one it is a view of can be written to."""
    while isinstance(array, np.ndarray) and not array.flags.writeable:
        if array.flags.owndata:
            return True
        array = array.base
    return False


def trimmed(ids: NDArray[Any]) -> NDArray[Any]:
    """Return string ids no wider than their longest: a width may tell of a lost one."""
    if ids.dtype.kind == "U" and ids.size:
        return np.array(ids.tolist())
    return ids.copy()


def check_row_ids(ids: Any, X: Any) -> NDArray[Any] | None:
    """Return the ids given for the rows of some samples, if there are any."""
    if ids is None:
        return None
    return check_ids(ids, X.shape[0] if hasattr(X, "shape") else len(X))


def check_ids(ids: Any, n: int) -> NDArray[Any]:
    """Return given ids as an array, or say what is wrong with them."""
    listed = _listed(ids)
    if len(listed) != n:
        raise ValueError(f"ids has {len(listed)} entries for {n} rows; give one each.")
    checked = _typed(listed)
    _refuse_repeats(checked)
    return checked


def find_rows(ids: Any, live: NDArray[Any]) -> Indices:
    """Return the rows of the wanted ids; unknown or repeated ones are errors."""
    listed = [ids] if isinstance(ids, str | int | np.integer) else _listed(ids)
    if not listed:
        return np.empty(0, dtype=np.intp)
    wanted = _typed(listed)
    _refuse_repeats(wanted)
    row_of = {label: row for row, label in enumerate(live.tolist())}
    unknown = [label for label in wanted.tolist() if label not in row_of]
    if unknown:
        raise ValueError(
            f"ids contains {unknown[:5]}, which {'is' if len(unknown) == 1 else 'are'} "
            "not live; ids_ lists the ids of the rows this model stands on."
        )
    return np.sort(np.array([row_of[label] for label in wanted.tolist()], np.intp))


def refuse_known(ids: NDArray[Any], live: NDArray[Any]) -> None:
    """Raise if a new id belongs to a live row already."""
    both = set(ids.tolist()) & set(live.tolist())
    if both:
        raise ValueError(
            f"ids contains {sorted(both)[:5]}, already in use by live rows; forget "
            "them first or choose other ids."
        )
    if live.size and (ids.dtype.kind == "U") != (live.dtype.kind == "U"):
        raise ValueError("ids must be all integers or all strings over all calls.")


def _listed(ids: Any) -> list[Any]:
    listed = ids.tolist() if hasattr(ids, "tolist") else ids
    if isinstance(listed, str | bytes) or not isinstance(listed, Iterable):
        raise ValueError(f"ids={ids!r} is not a list of integers or strings.")
    return list(listed)


def _typed(listed: list[Any]) -> NDArray[Any]:
    if all(isinstance(label, str) for label in listed):
        if any(label.endswith("\0") for label in listed):
            raise ValueError(
                "ids must not end in NUL characters, which NumPy takes away: 'q' and "
                "'q\\0' would be one id. Strip them."
            )
        return np.array(listed)
    # a list of ids_ entries holds NumPy integers; True is not a name for row 1
    whole = (int, np.integer)
    if not all(isinstance(i, whole) and not isinstance(i, bool) for i in listed):
        raise ValueError("ids must be all integers or all strings.")
    limits = np.iinfo(np.int64)
    if not all(limits.min <= int(label) <= limits.max for label in listed):
        raise ValueError("ids must fit into 64 bits; use strings for longer ones.")
    return np.array([int(label) for label in listed], dtype=np.int64)


def _refuse_repeats(ids: NDArray[Any]) -> None:
    values, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"ids contains {values[counts > 1][:5].tolist()} more than once; an id "
            "names one row."
        )

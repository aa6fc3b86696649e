"""The live rows of a model that learns and forgets: samples, targets, weights, ids.

Removing rows makes new arrays of exactly the new length, so that nothing of a removed
row stays behind; adding some writes behind those that are there
(:mod:`widemargin.estimators.incremental.growing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .growing import appended

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]
Behind = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]  # how columns grow


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
        return self.ids.size

    def joined(self, other: LiveRows) -> LiveRows:
        """Return these rows followed by the others, in room that grows."""
        return self._followed_by(other, appended) if other.n else self

    def exchanged(self, rows: Indices, other: LiveRows) -> LiveRows:
        """Return copies of some rows, followed by the others, and of nothing else."""
        if not other.n:
            return self.kept(rows)
        chosen: Indices | slice = rows
        if rows.size and int(rows[0]) + rows.size == self.n:  # as a window slides
            chosen = slice(int(rows[0]), None)  # one copy is enough
        return self.kept(chosen)._followed_by(other, _both_copied)

    def _followed_by(self, other: LiveRows, behind: Behind) -> LiveRows:
        weights = None
        if self.weights is not None or other.weights is not None:
            weights = behind(_weights(self), _weights(other))
        return LiveRows(
            _stacked(self.X, other.X, behind),
            _both(self.targets, other.targets, behind),
            weights,
            behind(self.ids, other.ids) if self.n else other.ids,
            _both(self.answer_costs, other.answer_costs, behind),
        )

    @property
    def writeable(self) -> bool:
        """Whether the samples are a copy of ours, which may be erased in place."""
        stored = self.X.data if sparse.issparse(self.X) else self.X
        return bool(stored.flags.writeable)

    def erase(self, rows: Indices) -> None:
        """Overwrite rows that have left, in place; their places stay."""
        if sparse.issparse(self.X):
            for row in rows.tolist():
                first, last = self.X.indptr[row : row + 2]
                self.X.data[first:last] = 0.0
                self.X.indices[first:last] = np.arange(last - first)
        else:
            self.X[rows] = 0.0
        for column in (self.targets, self.weights, self.answer_costs):
            if column is not None:
                column[rows] = 0
        for row in rows.tolist():  # running ids stay in order
            self.ids[row] = self.ids[row - 1] if row else self.ids.dtype.type()

    def kept(self, rows: Indices | slice) -> LiveRows:
        """Return copies of some rows, and of nothing else; of a slice, views."""
        return LiveRows(
            self.X[rows],
            _some(self.targets, rows),
            _some(self.weights, rows),
            trimmed(self.ids[rows]),
            _some(self.answer_costs, rows),
        )


def _both_copied(column: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Return a column followed by more, in an array of exactly that length."""
    return np.concatenate([column, more])


def _both(first: Any, second: Any, behind: Behind) -> Any:
    """Return one column of all rows, which all of them have or none."""
    if first is None or second is None:
        return second  # the first rows, or none has any
    return behind(first, second)


def _some(column: Any, rows: Indices | slice) -> Any:
    return None if column is None else column[rows]


def _weights(rows: LiveRows) -> Vector:
    return np.ones(rows.n) if rows.weights is None else rows.weights


def _stacked(first: Any, second: Any, behind: Behind) -> Any:
    """Stack samples in the format of the first; the wider precision wins."""
    if first.shape[0] == 0:
        return second.copy()
    if sparse.issparse(first):
        return _stacked_sparse(first, sparse.csr_array(second), behind)
    below = second.toarray() if sparse.issparse(second) else second
    return behind(np.ascontiguousarray(first), below)


def _stacked_sparse(first: Any, second: Any, behind: Behind) -> Any:
    """Append rows to each of the three arrays of a CSR matrix."""
    offsets = second.indptr[1:] + first.indptr[-1]
    parts = (
        behind(first.data, second.data),
        behind(first.indices, second.indices.astype(first.indices.dtype)),
        behind(first.indptr, offsets.astype(first.indptr.dtype)),
    )
    shape = (first.shape[0] + second.shape[0], first.shape[1])
    return type(first)(parts, shape=shape, copy=False)


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
    """Return string ids no wider than the longest: a width may reveal a removed one."""
    if ids.dtype.kind == "U" and ids.size:
        return np.array(ids.tolist())
    return ids.copy()


def check_row_ids(ids: Any, X: Any) -> NDArray[Any] | None:
    """Return the ids given for the rows of some samples, if there are any."""
    if ids is None:
        return None
    return check_ids(ids, X.shape[0] if hasattr(X, "shape") else len(X))


def check_ids(ids: Any, n: int) -> NDArray[Any]:
    """Return given ids as an array; a ValueError names what is wrong."""
    listed = _listed(ids, "ids")
    if len(listed) != n:
        raise ValueError(f"ids has {len(listed)} entries for {n} rows; give one each.")
    checked = _typed(listed, "ids")
    _refuse_repeats(checked, "ids")
    return checked


def wanted_ids(ids: Any, name: str = "ids") -> NDArray[Any]:
    """Return the ids that are asked for, each once; `name` is the parameter's."""
    if isinstance(ids, np.ndarray) and ids.dtype == np.int64 and ids.ndim == 1:
        _refuse_repeats(ids, name)
        return ids
    listed = [ids] if isinstance(ids, str | int | np.integer) else _listed(ids, name)
    if not listed:
        return np.empty(0, dtype=np.int64)
    wanted = _typed(listed, name)
    _refuse_repeats(wanted, name)
    return wanted


def _listed(ids: Any, name: str) -> list[Any]:
    listed = ids.tolist() if hasattr(ids, "tolist") else ids
    if isinstance(listed, str | bytes) or not isinstance(listed, Iterable):
        raise ValueError(f"{name}={ids!r} is not a list of integers or strings.")
    return list(listed)


def _typed(listed: list[Any], name: str) -> NDArray[Any]:
    if all(isinstance(label, str) for label in listed):
        if any(label.endswith("\0") for label in listed):
            raise ValueError(
                f"{name} must not end in NUL characters, which NumPy takes away: 'q' "
                "and 'q\\0' would be one id. Strip them."
            )
        return np.array(listed)
    # a list of ids_ entries holds NumPy integers; True is not a name for row 1
    whole = (int, np.integer)
    if not all(isinstance(i, whole) and not isinstance(i, bool) for i in listed):
        raise ValueError(f"{name} must be all integers or all strings.")
    if listed and not (-(2**63) <= int(min(listed)) and int(max(listed)) < 2**63):
        raise ValueError(f"{name} must fit into 64 bits; use strings for longer.")
    return np.array([int(label) for label in listed], dtype=np.int64)


def _refuse_repeats(ids: NDArray[Any], name: str) -> None:
    if len(set(ids.tolist())) < ids.size:
        values, counts = np.unique(ids, return_counts=True)
        raise ValueError(
            f"{name} contains {values[counts > 1][:5].tolist()} more than once; an id "
            "names one row."
        )

"""Records that an audit plants: D and D' differ in one of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Planted(NamedTuple):
    """A canary: at `place` D has the record `plain` and D' has `other`."""

    place: int
    plain: tuple[Any, Any]
    other: tuple[Any, Any]


def canaries(X: Vector, y: Any, length: float | None = None) -> list[Planted]:
    """Compose records whose change should move the model far.

    First: the corner of the data's range that points to the last class, labelled as
    the first, in place of record 0. Second: the record most nearly at right angles to
    the difference of the classes, once with either label: undecided by all the others,
    it pulls with full weight both ways. Third: in the direction in which the data vary
    least and as long as allowed (`length`; None: as the longest record), once with
    either label: the others hardly answer its pull, which is what the bound of a proof
    supposes. Fourth: the same record and its opposite under one label, so that the
    intercept, which the others do answer, is pulled alike.
    """
    first, last = np.unique(y)[[0, -1]]
    lean = X[y == last].mean(axis=0) - X[y == first].mean(axis=0)
    corner = np.where(lean >= 0, X.max(axis=0), X.min(axis=0))
    unit = lean / max(float(np.linalg.norm(lean)), 1e-300)
    squares = (X * X).sum(axis=1)
    aside = int(np.argmax(squares - (X @ unit) ** 2))
    least = np.linalg.eigh(X.T @ X)[1][:, 0]
    longest = math.sqrt(float(squares.max())) if length is None else length
    across = longest * least
    return [
        Planted(0, (X[0], y[0]), (corner, first)),
        Planted(aside, (X[aside], last), (X[aside], first)),
        Planted(0, (across, last), (across, first)),
        Planted(0, (across, last), (-across, last)),
    ]


def neighbours(
    X: Vector, y: Any, planted: Planted, adjacency: str
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return D and D': they differ in one record."""
    if adjacency == "add-remove":
        record, label = planted.other
        return (X, y), (np.vstack([X, record]), np.append(y, [label]).astype(y.dtype))
    both = []
    for record, label in (planted.plain, planted.other):
        rows, labels = X.copy(), y.copy()
        rows[planted.place], labels[planted.place] = record, label
        both.append((rows, labels))
    return both[0], both[1]

"""Index from ids to rows, without scanning all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]


class RowIndex:
    """Places of ids in a column that grows.

    Running ids are in order and found by bisection, names in a dictionary that grows
    with the column. An entry counts only where the column has that id: what an update
    that failed has left behind is ignored.
    """

    def __init__(self, named: bool) -> None:
        self.named = named
        self._places: dict[Any, int] = {}
        self._known = 0  # rows whose names have been entered

    def places(self, wanted: NDArray[Any], ids: NDArray[Any], gone: Indices) -> Indices:
        """Return the place of each id in a column; -1 where it is not there.

        `gone` are places whose rows have left: what is written there names no row.
        """
        if wanted.size == 0:
            return np.empty(0, dtype=np.intp)
        if not ids.size or (wanted.dtype.kind == "U") != (ids.dtype.kind == "U"):
            return np.full(wanted.size, -1)
        if not self.named:
            found = np.searchsorted(ids, wanted)
        else:
            self._enter(ids, gone)
            nowhere = ids.size
            found = np.array(
                [self._places.get(name, nowhere) for name in wanted.tolist()]
            )
        found = np.where(found < ids.size, found, -1)
        found[ids[found] != wanted] = -1
        if gone.size:
            found[np.isin(found, gone)] = -1
        return found

    def _enter(self, ids: NDArray[Any], gone: Indices) -> None:
        first = min(self._known, ids.size)
        if first == ids.size:
            return
        left = set(gone.tolist())  # each of these has the id of the row before it
        for place, name in enumerate(ids[first:].tolist(), start=first):
            if place not in left:
                self._places[name] = place
        self._known = ids.size

    def remove(self, names: NDArray[Any], gone: Indices) -> None:
        """Remove ids whose rows have left the places `gone`; idempotent."""
        for name, place in zip(names.tolist(), gone.tolist(), strict=True):
            if self._places.get(name) == place:
                del self._places[name]

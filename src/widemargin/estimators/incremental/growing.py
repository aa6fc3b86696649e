"""Growing columns: appending costs the size of what is appended (amortised).

A column is a plain array that may be the beginning of a longer buffer. Appending writes
behind it and returns a longer view; the shorter one stays what it was, so that a model
whose update fails still has its rows. Buffers double when they are full.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class _Buffer(np.ndarray):
    """Memory of a column, and how much of it is taken."""

    filled: int = 0


def appended(column: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Return a column followed by more, in the room behind it where that is free."""
    n, size = len(column), len(column) + len(more)
    dtype = np.promote_types(column.dtype, more.dtype)
    buffer = _buffer_behind(column, dtype)
    if buffer is None or buffer.filled != n or len(buffer) < size:
        buffer = _Buffer((2 * size, *column.shape[1:]), dtype)
        plain = buffer.view(np.ndarray)
        plain[:n] = column
        # zeroed memory: it may have held forgotten rows
        plain[size:] = np.zeros((), dtype)
    else:
        plain = buffer.view(np.ndarray)
    plain[n:size] = more
    buffer.filled = size
    return plain[:size]


def _buffer_behind(column: NDArray[Any], dtype: np.dtype[Any]) -> _Buffer | None:
    """Return the buffer whose beginning a column is, if it can hold such entries."""
    base: Any = column.base
    while base is not None and not isinstance(base, _Buffer):
        base = base.base if isinstance(base, np.ndarray) else None
    if base is None or base.dtype != dtype:
        return None
    first = base.__array_interface__["data"][0]
    return base if column.__array_interface__["data"][0] == first else None

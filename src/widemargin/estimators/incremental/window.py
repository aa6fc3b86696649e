"""Which rows leave as others enter: those named, and the oldest beyond a window."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .chunk import Given
from .update_state import UpdateState

Indices = NDArray[np.intp]


def check_window(window: Any, entering: int) -> int | None:
    """Return how many rows may stay; a ValueError names what is wrong."""
    if window is None:
        return None
    if isinstance(window, bool | np.bool_) or not isinstance(window, Integral):
        raise ValueError(f"window={window!r} is not a number of rows; give an integer.")
    if window < 1:
        raise ValueError(
            f"window={window} keeps no row; give an integer >= 1, or None."
        )
    if entering > window:
        raise ValueError(
            f"window={window} is smaller than the chunk, which has {entering} rows: "
            "some would leave as they enter. Give a larger window or fewer rows."
        )
    return int(window)


def leaving(state: UpdateState, given: Given, entering: int) -> Indices:
    """Return the places of the rows that leave, in ascending order.

    First those of ``forget_ids``; then, in the order in which rows came, as many as are
    more than ``window`` with those that enter.
    """
    window = check_window(given.window, entering)
    gone: Indices = np.empty(0, dtype=np.intp)
    if given.forget_ids is not None:
        gone = state.find(given.forget_ids, "forget_ids")
    if window is None:
        return gone
    excess = max(0, state.n - gone.size + entering - window)
    if not (gone.size or state.gone.size):
        return np.arange(excess)
    absent = np.union1d(state.gone, gone)
    oldest = np.setdiff1d(np.arange(excess + absent.size), absent)[:excess]
    return np.union1d(gone, oldest)

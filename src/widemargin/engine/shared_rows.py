"""Which rows of a kernel matrix problems share, and what memory that takes.

Rows of the same problems stand together in segments: the classes, of pairs of classes.
A piece is the row of a sample over the columns of a segment; the core evaluates it when
the first problem needs it, and frees it after the last problem that may need it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

WIDEST = 1024  # columns of a segment: each piece takes the memory of the longest
PANEL = 16  # entries that the core pads a piece to
WIDE = 8  # times the members: counts of a larger table take longer than to sort them


@dataclass(frozen=True, eq=False)
class RowSegments:
    """Segments of the rows of a kernel matrix.

    Parameters
    ----------
    order : ndarray of intp
        The rows, segment by segment.
    starts : ndarray of int64
        Where each segment begins, the first at 0.
    capacity : int
        Most pieces that are in memory at a time.
    threads : int
        Problems solved at a time.
    """

    order: NDArray[np.intp]
    starts: NDArray[np.int64]
    capacity: int
    threads: int

    @property
    def megabytes(self) -> float:
        """Memory of all pieces, at most, and of the list of them."""
        longest = int(np.diff(self.starts, append=self.order.size).max())
        listed = 8e-6 * self.order.size * self.starts.size
        return listed + 4e-6 * self.capacity * -(-longest // PANEL) * PANEL


def grouped_rows(
    n: int, offsets: NDArray[np.int64], members: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return an order with rows of the same problems together, and their keys.

    The key of a row is the sum of a number per problem over its problems.
    """
    numbers = np.sqrt(np.arange(2.0, offsets.size + 1.0))
    weights = np.repeat(numbers, np.diff(offsets))
    keys: NDArray[Any] = np.bincount(members, weights=weights, minlength=n)
    order = np.argsort(keys, kind="stable")
    return order, keys[order]


def row_segments(
    n: int,
    offsets: NDArray[np.int64],
    members: NDArray[np.int32],
    threads: int,
    megabytes: float = np.inf,
) -> RowSegments:
    """Return the segments of problems that are solved side by side by `threads`.

    A piece that only one problem needs exists while that problem is solved; those that
    several need may all exist at the same time. Fewer problems are solved at a time
    where that takes more memory than is allowed.

    Parameters
    ----------
    n : int
        Rows of the matrix.
    offsets, members : ndarray
        The problems: see :class:`widemargin.engine.kernel_table.ProblemBatch`.
    threads : int
        Problems solved at a time, at most.
    megabytes : float
        Memory that is allowed; one problem at a time may take more.
    """
    order, keys = grouped_rows(n, offsets, members)
    changes = np.flatnonzero(np.diff(keys, prepend=-1.0))
    starts = _split(changes, n)
    lengths = np.diff(starts, append=n)
    segment_of = np.empty(n, dtype=np.intp)
    segment_of[order] = np.repeat(np.arange(starts.size), lengths)
    users, owners = _users(segment_of, offsets, members)
    rows = np.broadcast_to(lengths[:, None], users.shape)
    alone = users == 1
    count = offsets.size - 1
    most = np.sort(np.bincount(owners[alone], weights=rows[alone], minlength=count))
    shared = int(rows[users > 1].sum())

    def at_a_time(count: int) -> RowSegments:
        return RowSegments(order, starts, shared + int(most[-count:].sum()), count)

    found = at_a_time(threads)
    while found.megabytes > megabytes and found.threads > 1:
        found = at_a_time(found.threads - 1)
    return found


def _users(
    segment_of: NDArray[np.intp],
    offsets: NDArray[np.int64],
    members: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many problems need rows of one segment over another, and which one.

    Which one is the number of the problem where only one does. Counted for all at once:
    a loop over hundreds of pairs of classes takes as long as a tenth of their solves.
    """
    shape = count, width = offsets.size - 1, int(segment_of.max()) + 1
    cells = segment_of[members]
    cells += np.repeat(np.arange(0, count * width, width), np.diff(offsets))
    few = count * width <= WIDE * cells.size
    needed = np.flatnonzero(np.bincount(cells)) if few else np.unique(cells)
    place = numbers, _ = np.divmod(needed, width)
    each, numbered = (
        sparse.csr_array((values, place), shape=shape)
        for values in (np.ones_like(numbers), numbers)
    )
    users, owners = each.T @ each, each.T @ numbered
    return users.toarray(), owners.toarray()


def _split(starts: NDArray[np.intp], n: int) -> NDArray[np.int64]:
    """Return the starts of parts of at most WIDEST columns and about one length."""
    parts = []
    for begin, length in zip(starts, np.diff(starts, append=n), strict=True):
        count = -(-int(length) // WIDEST)
        parts.append(begin + length * np.arange(count) // count)
    return np.concatenate(parts).astype(np.int64)

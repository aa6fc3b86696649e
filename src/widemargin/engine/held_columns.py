"""Kernel columns of the margin set, kept from one path to the next.

A path needs K[:, M] over the rows it watches, and its certificate K times the change of
beta over all rows. Both are mostly entries that the path before has evaluated: between
two chunks of a stream few rows come and go, and few cross the margin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.numerics.products import transposed_times
from widemargin.runtime.fork_lock import ForkLock

from .gram import Gram
from .kernels import Gaussian

Vector = NDArray[np.float64]
Indices = NDArray[np.intp]

HELD = 64_000_000  # bytes of all columns together
ROOM = 8  # rows per spare slot: new rows come before others leave
UNIT = 2.0**-53
EXP2 = 4e-16  # of the power of an entry, relative
SPARE = 1.01  # factor that covers the rounding of norms and sums
_CLAIMS = ForkLock()


class HeldColumns:
    """Entries by column and slot; a row keeps its slot while others come and go.

    Parameters
    ----------
    limit : int
        Bytes.

    Attributes
    ----------
    version : int
        Version of the solution that may use it: an update that fails, or a second one
        of the same model, leaves the former model without columns.
    slots : ndarray
        Slots of the variables of the current problem; -1 for one without.
    evaluated : int
        Kernel entries so far: what tests count.
    """

    def __init__(self, limit: int = HELD) -> None:
        self.limit = limit
        self.version = 0
        self.slots: Indices = np.empty(0, dtype=np.intp)
        self.evaluated = 0
        self._former = self.slots
        self._norms = np.zeros(0)  # by slot: the largest so far
        self._entries = np.zeros((0, 0))  # [place of a column, slot of a row]
        self._owners: Indices = np.empty(0, dtype=np.intp)  # slot of a column's own row
        self._places: Indices = np.empty(
            0, dtype=np.intp
        )  # of the columns of variables

    def claim(self, version: int, slots: Indices) -> bool:
        """Take the columns over for a problem with rows in `slots`, unless taken."""
        with _CLAIMS:
            if version != self.version:
                return False
            self.version += 1
        self.slots = slots
        return True

    @property
    def empty(self) -> bool:
        """Whether no column is held."""
        return not (self._owners >= 0).any()

    def begin(self, origin: Indices) -> None:
        """Switch to the variables of another problem; `origin` < 0 marks new ones."""
        self._former = self.slots
        self.slots = np.where(origin < 0, -1, self._former[np.maximum(origin, 0)])
        self._find()

    def join(self, leavers: Indices) -> None:
        """Append former variables, which are leaving, to those of the problem."""
        self.slots = np.concatenate([self.slots, self._former[leavers]])
        self._find()

    def held(self, variables: Indices) -> NDArray[np.bool_]:
        """Which variables have columns."""
        found: NDArray[np.bool_] = self._places[variables] >= 0
        return found

    def admit(self, gram: Gram) -> None:
        """Give new variables slots, and every column their entries."""
        fresh = np.flatnonzero(self.slots < 0)
        if self._entries.shape[1] < self.slots.size:
            self._widen(_width(self.slots.size))
        free = np.ones(self._entries.shape[1], dtype=np.bool_)
        free[self.slots[self.slots >= 0]] = False
        self.slots[fresh] = np.flatnonzero(free)[: fresh.size]
        self._measure(gram)
        owners = np.flatnonzero(self._places >= 0)
        if fresh.size and owners.size:
            block = gram.rows(owners, columns=fresh)
            self._entries[np.ix_(self._places[owners], self.slots[fresh])] = block
            self.evaluated += block.size

    def hold(self, gram: Gram, variables: Indices) -> None:
        """Evaluate the columns of some variables, as many as there is room for."""
        wanted = variables[self._places[variables] < 0]
        places = np.flatnonzero(self._owners < 0)
        if places.size < wanted.size:
            self._drop_others(variables)
            self._lengthen(variables.size + 32)
            places = np.flatnonzero(self._owners < 0)
        wanted = wanted[: places.size]
        if not wanted.size:
            return
        places = places[: wanted.size]
        block = gram.rows(wanted)
        self._entries[np.ix_(places, self.slots)] = block
        self.evaluated += block.size
        self._owners[places] = self.slots[wanted]
        self._places[wanted] = places

    def block(self, variables: Indices, rows: Indices) -> Vector:
        """Return K[variables, rows] of variables whose columns are held."""
        out = np.empty((variables.size, rows.size))
        slots = self.slots[rows]
        for place, column in zip(self._places[variables].tolist(), out, strict=True):
            self._entries[place].take(slots, out=column, mode="clip")
        return out

    def bounded_times(self, gram: Gram, change: Vector) -> tuple[Vector, Vector]:
        """Return K @ change with bounds on its rounding, as the gram does.

        Columns that are not held are evaluated.
        """
        all_rows = np.arange(change.size)
        stored = (self._places >= 0) & (change != 0.0)
        rest = np.where(stored, 0.0, change)
        sums, errors = gram.bounded_times(rest, all_rows)
        self.evaluated += int(np.count_nonzero(rest)) * change.size
        rows = np.flatnonzero(stored)
        if not rows.size:
            return sums, errors
        weights = np.zeros(len(self._entries))
        weights[self._places[rows]] = change[rows]
        more = transposed_times(self._entries, weights, gram.threads)
        sizes = transposed_times(self._entries, np.abs(weights), gram.threads)
        sums += more[self.slots]
        errors += self._rounding(rows, sizes[self.slots], gram.samples.shape[1])
        return sums, errors + UNIT * np.abs(sums)

    def _rounding(self, rows: Indices, sizes: Vector, features: int) -> Vector:
        """Return bounds on what rounding has left in sums over some columns.

        By the norm expansion (mathematics 8.2), at the largest squared norms that the
        samples have had: the centre they are measured from moves with the rows.
        """
        own = self._norms[self.slots]
        units = (features + 16) * UNIT * SPARE
        entries = np.expm1(units * (own + float(own[rows].max())))
        roundings = EXP2 + (rows.size + 32) * UNIT
        bounds: Vector = SPARE * (entries + roundings) * sizes
        return bounds + 1e-200  # entries that are cut off

    def finish(self, n: int, margin: Indices) -> Indices:
        """Keep the first variables and return their slots; the others are dropped."""
        self.slots = self.slots[:n]
        self._find()
        left = np.zeros(self._entries.shape[1] + 1, dtype=np.bool_)
        left[self._former] = True
        left[self.slots] = False
        self.erase(np.flatnonzero(left[:-1]))  # the last is that of no slot
        if np.count_nonzero(self._owners >= 0) > 2 * margin.size + 32:
            self._drop_others(margin)
        return self.slots

    def erase(self, slots: Indices) -> None:
        """Overwrite the entries of rows that have left."""
        self._entries[:, slots] = 0.0
        self._norms[slots] = 0.0
        own = np.isin(self._owners, slots)
        self._entries[own] = 0.0
        self._owners[own] = -1

    def _measure(self, gram: Gram) -> None:
        """Record the squared norms of the samples: entries are differences of them."""
        known = self._norms[self.slots]
        self._norms[self.slots] = np.maximum(known, squared_norms(gram))

    def _find(self) -> None:
        """Look up the columns of the variables; those of no variable are dropped."""
        of_slot = np.full(self._entries.shape[1] + 1, -1)
        used = np.flatnonzero(self._owners >= 0)
        of_slot[self._owners[used]] = used
        self._places = of_slot[self.slots]  # slot -1 is the last, which has none
        self._keep_only(self._places[self._places >= 0])

    def _drop_others(self, variables: Indices) -> None:
        kept = self._places[variables]
        self._places = np.where(np.isin(self._places, kept), self._places, -1)
        self._keep_only(kept[kept >= 0])

    def _keep_only(self, places: Indices) -> None:
        lost = self._owners >= 0
        lost[places] = False
        self._owners[lost] = -1
        self._entries[lost] = 0.0

    def _widen(self, width: int) -> None:
        wider = np.zeros((len(self._entries), width))
        wider[:, : self._entries.shape[1]] = self._entries
        self._entries = wider
        self._norms = np.concatenate([self._norms, np.zeros(width - self._norms.size)])

    def _lengthen(self, columns: int) -> None:
        width = self._entries.shape[1]
        columns = min(columns, self.limit // (8 * max(width, 1)))
        if columns <= len(self._entries):
            return
        longer = np.zeros((columns, width))
        longer[: len(self._entries)] = self._entries
        owners = np.full(columns, -1)
        owners[: self._owners.size] = self._owners
        self._entries, self._owners = longer, owners


def squared_norms(gram: Gram) -> Vector:
    """Return 2 gamma |x|^2 of all samples, measured from their centre."""
    return SPARE * (gram.largest_numbers() - 1.0)


def worth_holding(gram: Gram) -> bool:
    """Whether columns may be kept: the bounds are those of a Gaussian kernel.

    Not where samples lie so far out that entries are not differences of norms.
    """
    if not isinstance(gram.kernel, Gaussian):
        return False
    return bool((squared_norms(gram) > 0.0).all())


def _width(n: int) -> int:
    return n + n // ROOM + 64

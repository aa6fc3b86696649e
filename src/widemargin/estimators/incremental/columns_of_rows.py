"""Kernel columns that a path has left, by the rows of a task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.held_columns import HELD, HeldColumns, worth_holding
from widemargin.engine.problem import DualProblem
from widemargin.engine.solution import Solution

from .growing import appended

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ColumnsOfRows:
    """Where the entries of each variable are, among columns that a path has left.

    Attributes
    ----------
    held : HeldColumns
        The entries. They are written to by the next path from here.
    version : int
        Of ``held`` when this was made: with another one they are not ours any more.
    slots : ndarray
        Slot of each variable; -1 for rows that came without a path.
    """

    held: HeldColumns
    version: int
    slots: Indices

    @staticmethod
    def of(held: HeldColumns | None, solution: Solution) -> ColumnsOfRows | None:
        """Keep the columns of the margin set of a solution, where there are any."""
        if held is None or held.empty:
            return None
        slots = held.finish(solution.problem.n, solution.margin)
        return ColumnsOfRows(held, held.version, slots)

    def claimed(self) -> HeldColumns | None:
        """Return the columns to work with; None where another update has them."""
        held = self.held
        return held if held.claim(self.version, self.slots) else None

    def extended(self, count: int) -> ColumnsOfRows:
        """Return the same with further rows behind, of which nothing is known."""
        slots = appended(self.slots, np.full(count, -1))
        return ColumnsOfRows(self.held, self.version, slots)

    def kept(self, chosen: NDArray[np.bool_]) -> ColumnsOfRows:
        """Return the same for some of the rows."""
        return ColumnsOfRows(self.held, self.version, self.slots[chosen])

    def erase(self, places: Indices) -> None:
        """Overwrite what is stored of rows that have left."""
        slots = self.slots[places]
        if self.held.version == self.version:
            self.held.erase(slots[slots >= 0])
        self.slots[places] = -1


def columns_for(
    former: ColumnsOfRows | None, former_size: int, target: DualProblem, tasks: int
) -> HeldColumns | None:
    """Return the kernel columns for a path: those of the last path, or none yet.

    `tasks` share the memory.
    """
    if target.kink is not None or not worth_holding(target.gram):
        return None
    claimed = None if former is None else former.claimed()
    if claimed is not None:
        return claimed
    columns = HeldColumns(min(HELD, int(1e6 * target.gram.cache_mb)) // tasks)
    columns.slots = np.full(former_size, -1)
    return columns

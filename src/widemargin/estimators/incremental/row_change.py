"""Which rows of a model stay, leave and enter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram

Indices = NDArray[np.intp]


class RowChange:
    """The former rows of a model, then those that enter; some of them make the new one.

    Parameters
    ----------
    gram : Gram
        Over all of them.
    before : int
        How many of them are former ones.
    staying : ndarray
        Which of all make the new model, in ascending order.
    """

    def __init__(self, gram: Gram, before: int, staying: Indices) -> None:
        self.gram = gram
        self.staying = staying
        now = np.full(gram.n, -1)
        now[staying] = np.arange(staying.size)
        self.forgets = bool((now[:before] < 0).any())
        self.places = now[:before]  # where each former row is now, -1 for gone

    def with_leavers(self, rows: Indices, members: Indices, leavers: Indices) -> Gram:
        """Return the handle over new rows, followed by some variables of the former.

        `members` are the former rows that the variables of the former model are of.
        """
        return self.gram.subset(np.concatenate([self.staying[rows], members[leavers]]))

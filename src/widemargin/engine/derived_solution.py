"""Models derived from a solution: what they take over from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .solution import Solution
from .status import Status


class DerivedSolution:
    """An answer with its own intercept, scale or certificate on top of ``solution``.

    A derived class is a dataclass that has the field ``solution``.
    """

    solution: Solution

    @property
    def beta(self) -> NDArray[np.float64]:
        """Coefficients of the model."""
        return self.solution.beta

    @property
    def n_iter(self) -> int:
        """Pair steps of the solve."""
        return self.solution.n_iter

    @property
    def status(self) -> Status:
        """How the solve ended."""
        return self.solution.status

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.solution.converged

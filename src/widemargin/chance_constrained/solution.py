"""What every solver of this system returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..certificate import Certificate
from .objective import Gap

Floats = NDArray[np.float64]
Stage = dict[str, Any]


@dataclass(frozen=True)
class ChanceSolution:
    """A model with its dual point, and how good it provably is.

    Parameters
    ----------
    w, b : ndarray of shape (d,) and float
        The model.
    alpha : ndarray of shape (n,) or None
        Multipliers; None for solvers without a dual.
    gap : Gap or None
        Objective and bound; None where there is no bound.
    objective : float
        Primal objective at (w, b), recomputed from the data.
    status : str
        "polished", "converged", or why the solver stopped early.
    n_iter : int
        Newton or interior-point steps, or subgradient steps.
    seconds : float
        Wall time.
    history : list of dict
        Stage records.
    """

    w: Floats
    b: float
    alpha: Floats | None
    gap: Gap | None
    objective: float
    status: str
    n_iter: int
    seconds: float
    history: list[Stage] = field(default_factory=list)

    @property
    def certificate(self) -> Certificate:
        """The record every estimator of the package reports."""
        return Certificate(
            status=self.status,
            objective=self.objective,
            bound=None if self.gap is None else self.gap.bound,
            gap=None if self.gap is None else self.gap.gap,
            kkt_violation=None,
            n_iter=self.n_iter,
            seconds=self.seconds,
            threads=1,
        )

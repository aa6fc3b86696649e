"""The epsilon-insensitive loss as a problem of two boxes a row.

    minimise_{w, b}  1/2 ||w||^2 + sum_i costs_i max(0, |u_i| - epsilon),
    u_i = targets_i - <w, phi_i> - b

has a dual with a kink at zero, ``epsilon |beta_i|``. Split into ``rise_i >= 0`` and
``fall_i <= 0`` with ``beta_i = rise_i + fall_i`` it is the engine's problem over every
row twice: linear term ``targets - epsilon`` and box ``[0, costs]`` for the first,
``targets + epsilon`` and ``[-costs, 0]`` for the second. The losses of the two add up
to the loss of the row, so objective, bound and gap are those of the regression; and
joining the two variables of a row never increases the KKT violation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import Certificate
from widemargin.engine.status import Status

from .expansion import Terms
from .task import Answer

Vector = NDArray[np.float64]


def tube_terms(
    targets: Vector, costs: Vector, epsilon: float, total: float | None
) -> Terms:
    """Return linear term, bounds and total over every row twice."""
    nothing = np.zeros(targets.size)
    linear = np.concatenate([targets - epsilon, targets + epsilon])
    return (
        linear,
        np.concatenate([nothing, -costs]),
        np.concatenate([costs, nothing]),
        total,
    )


def split(beta: Vector) -> Vector:
    """Return the two variables of each row: what is positive, what is negative."""
    return np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])


@dataclass(frozen=True)
class TubeAnswer:
    """An answer over every row twice, joined to one coefficient a row."""

    doubled: Answer

    @property
    def beta(self) -> Vector:
        """Coefficients of the rows."""
        rise, fall = self.doubled.beta.reshape(2, -1)
        joined: Vector = rise + fall
        return joined

    @property
    def intercept(self) -> float:
        """Constant of the decision function."""
        return self.doubled.intercept

    @property
    def n_iter(self) -> int:
        """Iterations of the solver."""
        return self.doubled.n_iter

    @property
    def status(self) -> Status:
        """How the solve ended."""
        return self.doubled.status

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.doubled.converged

    @property
    def certificate(self) -> Certificate:
        """How good it provably is."""
        return self.doubled.certificate

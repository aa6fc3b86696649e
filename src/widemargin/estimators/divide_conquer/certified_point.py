"""A class pair's answer that several solves made together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import Certificate
from widemargin.engine.status import Status


@dataclass(frozen=True)
class CertifiedPoint:
    """A class pair's coefficients and their certificate, in place of a solution.

    That of an exact fit on blocks is over all rows, that of a level belongs to the
    problem with the block kernel (Lemma 1).
    """

    beta: NDArray[np.float64]
    intercept: float
    certificate: Certificate

    @property
    def n_iter(self) -> int:
        """Pair steps of all solves."""
        return self.certificate.n_iter

    @property
    def status(self) -> Status:
        """How the solves ended."""
        return Status(self.certificate.status)

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached, over all rows or in every cluster."""
        return self.status.solved or self.status is Status.EARLY

"""The concave-convex procedure for the ramp loss, on the engine's one dual.

Minimise ``J = 1/2 ||w||^2 + sum_i C_i min(1 - s, max(0, 1 - y_i F(x_i)))`` with
``s <= 0``. The ramp is a hinge minus a second hinge that starts at ``s``; replacing
the second by its tangent gives a convex problem which is the plain SVM's dual with
some boxes moved: a sample that is *clipped* (``y_i F < s`` at the last point) gets
``[-C_i, 0]`` instead of ``[0, C_i]`` (times ``y_i``), so it can no longer pull.
``J`` never increases, there are finitely many clipped sets, and the procedure stops
when one repeats: at a stationary point, which need not be the global minimum.
Mathematics 5.1, 5.4 and 5.5.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from widemargin.problem import DualProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from widemargin.gram import Gram
    from widemargin.solution import Solution

    Vector = NDArray[np.float64]
    Mask = NDArray[np.bool_]

CONTINUATION = (1e-3, 1e-2, 1e-1, 1.0)  # shares of C, solved in turn (5.5)
MONOTONE_SLACK = 1e-7  # J may rise by this much of max(1, J): the solves' tolerance


@dataclass(frozen=True)
class RampProblem:
    """The data of one two-class ramp-loss problem.

    Attributes
    ----------
    gram : Gram
        Shared by every convex problem, so that no kernel row is computed twice.
    y : array of +-1
    costs : array
        ``C_i``, the price of one unit of loss of sample ``i``.
    s : float
        Margin below which the loss is flat; ``-inf`` never clips.
    fit_intercept : bool
    """

    gram: Gram
    y: Vector
    costs: Vector
    s: float
    fit_intercept: bool = True

    def convex(self, clipped: Mask, share: float = 1.0) -> DualProblem:
        """Return the convex problem in which the samples `clipped` cannot pull."""
        pull = share * self.costs * self.y
        shift = np.where(clipped, pull, 0.0)
        return DualProblem(
            self.gram,
            self.y,
            np.minimum(0.0, pull) - shift,
            np.maximum(0.0, pull) - shift,
            0.0 if self.fit_intercept else None,
        )

    def clips(self, solution: Solution) -> Mask:
        """Return the samples on the flat part of the loss (strictly below `s`)."""
        margins = self.y * (solution.values + solution.intercept)
        mask: Mask = margins < self.s
        return mask

    def objective(self, solution: Solution) -> float:
        """Return the primal ramp objective ``J`` at `solution`."""
        loss = np.maximum(0.0, 1.0 - self.y * (solution.values + solution.intercept))
        capped = np.minimum(1.0 - self.s, loss)
        return float(0.5 * solution.beta @ solution.values + self.costs @ capped)

"""Safety factor of a margin and probability of its violation: Cantelli, normal.

Only mean and covariance of a sample are known; a bound holds for every distribution
with these moments, or for the normal one.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]

MOMENTS = "moments"
GAUSSIAN = "gaussian"


def safety_factor(risk: float, bound: str) -> float:
    """Return kappa, the number of standard deviations that ``risk`` asks for.

    ``P{w'x <= w'mu - kappa ||L'w||} <= risk`` for every distribution with that mean
    and covariance (``"moments"``, one-sided Chebyshev or Cantelli), or for the normal
    one only (``"gaussian"``).
    """
    if not 0.0 < risk < 1.0:
        raise ValueError(
            f"risk must lie strictly between 0 and 1, got {risk!r}: it is the largest "
            "probability with which a margin may be violated."
        )
    if bound == MOMENTS:
        return sqrt((1.0 - risk) / risk)
    if risk > 0.5:
        raise ValueError(
            f"bound='gaussian' needs risk <= 0.5, got {risk!r}: above one half the "
            "normal quantile is negative and the problem is no longer convex. Lower "
            "risk or use bound='moments'."
        )
    return max(float(ndtri(1.0 - risk)), 0.0)


def violation_probability(margin: Floats, spread: Floats, bound: str) -> Floats:
    """Bound ``P{margin + spread * noise <= 0}`` for noise of mean 0 and variance 1.

    ``spread^2 / (spread^2 + margin^2)`` for a positive margin, else 1 (Cantelli, tight
    over all distributions), or the normal tail ``Phi(-margin / spread)``. Without
    spread the sample is certain: 0 for a positive margin, 1 otherwise.
    """
    certain = np.where(margin > 0.0, 0.0, 1.0)
    uncertain = spread > 0.0
    ratio = np.divide(margin, spread, out=np.zeros_like(margin), where=uncertain)
    if bound == GAUSSIAN:
        return np.where(uncertain, ndtr(-ratio), certain)
    tail = 1.0 / (1.0 + np.square(np.maximum(ratio, 0.0)))
    return np.where(uncertain & (margin > 0.0), tail, certain)

"""From a privacy budget to a noise scale, and back: closed forms and bisections.

Pure functions of public numbers. Each names the theorem that it applies. The unit in
which Gaussian releases compose is mu, the sensitivity in standard deviations of the
noise: several releases, each chosen after seeing those before, tell as much as one of
sqrt(sum of squared mu) (Gaussian differential privacy; Dong, Roth and Su, 2022,
Corollary 3.3), without any loss.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import expit, log_ndtr, ndtri


def gaussian_delta(epsilon: float, ratio: float) -> float:
    """Exact delta of the Gaussian mechanism with sigma = `ratio` times the sensitivity.

    delta = Phi(1/(2r) - epsilon r) - e^epsilon Phi(-1/(2r) - epsilon r), evaluated in
    logarithms so that neither a large epsilon nor a small delta loses digits
    (Balle and Wang, 2018, Theorem 8).
    """
    upper = float(log_ndtr(0.5 / ratio - epsilon * ratio))
    lower = epsilon + float(log_ndtr(-0.5 / ratio - epsilon * ratio))
    if lower >= upper:
        return 0.0
    return math.exp(upper) * -math.expm1(lower - upper)


def gaussian_scale(epsilon: float, delta: float, sensitivity: float) -> float:
    """Smallest Gaussian standard deviation that is (epsilon, delta)-private.

    Bisection on the exact condition (the "analytic" calibration). The upper end of the
    bracket is returned, widened by 1e-9, so the true condition holds.
    """
    if not (0.0 < epsilon < math.inf and 0.0 < delta < 1.0):
        raise ValueError(f"need epsilon > 0 and 0 < delta < 1, got {epsilon}, {delta}")
    low, high = 1.0, 1.0
    while gaussian_delta(epsilon, high) > delta:
        high *= 2.0
    while gaussian_delta(epsilon, low) <= delta:
        low /= 2.0
    while high / low > 1.0 + 1e-13:
        middle = math.sqrt(low * high)
        if middle in (low, high):
            break
        if gaussian_delta(epsilon, middle) <= delta:
            high = middle
        else:
            low = middle
    return sensitivity * high * (1.0 + 1e-9)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Largest mu of Gaussian releases that together are (epsilon, delta)-private."""
    return 1.0 / gaussian_scale(epsilon, delta, 1.0)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon at which releases of that mu are (epsilon, delta)-private."""
    if mu == 0.0 or gaussian_delta(0.0, 1.0 / mu) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(high, 1.0 / mu) > delta:
        low, high = high, 2.0 * high
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if gaussian_delta(middle, 1.0 / mu) <= delta:
            high = middle
        else:
            low = middle
    return high


def mu_of_pure(epsilon: float) -> float:
    """Smallest mu that every epsilon-private release is bounded by.

    No test on such a release errs less than randomised response does, whose two error
    rates are both 1/(1 + e^epsilon); the Gaussian trade-off curve through that point is
    convex and lies below the two straight pieces of the pure one (mathematics 1.5).
    """
    return 2.0 * float(ndtri(expit(epsilon)))


def laplace_scale(epsilon: float, sensitivity: float) -> float:
    """Scale of the Laplace law per coordinate; `sensitivity` is in the L1 norm."""
    return sensitivity / epsilon


def spherical_scale(epsilon: float, sensitivity: float) -> float:
    """Scale of the law with density ~ exp(-epsilon ||z|| / Delta) (L2 sensitivity).

    Its direction is uniform and its length Gamma(dimension, scale).
    """
    return sensitivity / epsilon


class ObjectiveBudget(NamedTuple):
    """What objective perturbation uses: cost, the noise's share, the noise scale."""

    cost: float
    epsilon: float
    scale: float


def objective_budget(
    epsilon: float, cost: float, radius: float, width: float, group_size: int = 1
) -> ObjectiveBudget:
    """Split epsilon between the curvature of the Huber hinge and the noise.

    c = R^2 / (2h) bounds the curvature that a record adds per unit of C. A record's
    Hessian has rank one, so that replacing it changes the determinant of the whole by
    a factor of 1 + C c at most, in either direction: ln(1 + C c) pays for the change of
    variables, for each of `group_size` records. The rest, epsilon', is for the noise,
    whose length is Gamma(dimension, 2 group_size R / epsilon'). C is lowered as soon as
    the curvature would take more than half (mathematics 1.5): then
    epsilon' = epsilon / 2 exactly. C c is kept below e^18 whatever epsilon: a stiffer
    problem could not be minimised exactly in floating point.
    """
    curvature = radius**2 / (2.0 * width)
    largest = math.expm1(min(epsilon / (2.0 * group_size), 18.0)) / curvature
    used = min(cost, largest)
    remaining = epsilon - group_size * math.log1p(used * curvature)
    return ObjectiveBudget(used, remaining, 2.0 * group_size * radius / remaining)

"""From a privacy budget to a noise scale, and back: closed forms and one bisection.

Pure functions of public numbers. Each names the theorem that it applies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import log_ndtr


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
    epsilon: float, cost: float, radius: float, width: float
) -> ObjectiveBudget:
    """Split epsilon between the curvature of the Huber hinge and the noise.

    c = R^2 / (2h) bounds the curvature that a record adds per unit of C. The part
    2 ln(1 + C c) pays for the change of variables; the rest, epsilon', is for the
    noise, whose length is Gamma(dimension, 2R / epsilon'). C is lowered as soon as
    the curvature would take more than half (mathematics 1.5): then
    epsilon' = epsilon / 2 exactly. C c is kept below e^18 whatever epsilon: a stiffer
    problem could not be minimised exactly in floating point.
    """
    curvature = radius**2 / (2.0 * width)
    largest = math.expm1(min(epsilon / 4.0, 18.0)) / curvature
    used = min(cost, largest)
    remaining = epsilon - 2.0 * math.log1p(used * curvature)
    return ObjectiveBudget(used, remaining, 2.0 * radius / remaining)


def concentrated_budget(epsilon: float, delta: float) -> float:
    """Largest rho for which rho-zCDP implies (epsilon, delta) by rho + 2 sqrt(rho L).

    rho = (sqrt(L + epsilon) - sqrt(L))^2 with L = ln(1/delta) (Bun and Steinke, 2016),
    in a form without cancellation.
    """
    log_term = math.log(1.0 / delta)
    return (epsilon / (math.sqrt(log_term + epsilon) + math.sqrt(log_term))) ** 2


def gradient_scale(rho: float, n_steps: int, sensitivity: float) -> float:
    """Noise per step so that `n_steps` Gaussian releases compose to rho-zCDP.

    Each step costs sensitivity^2 / (2 sigma^2), and costs add up:
    sigma = sensitivity sqrt(T / (2 rho)).
    """
    return sensitivity * math.sqrt(n_steps / (2.0 * rho))

"""From the errors of a test to a lower bound on epsilon or mu, with exact intervals.

Pure functions of counts and scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import beta as beta_law

Vector = NDArray[np.float64]


@lru_cache(maxsize=1024)  # the thresholds tried share their counts
def proportion_bounds(hits: int, runs: int, error: float) -> tuple[float, float]:
    """Clopper-Pearson bounds of a proportion, each wrong with probability `error`."""
    lower = 0.0 if hits == 0 else float(beta_law.ppf(error, hits, runs - hits + 1))
    upper = 1.0 if hits == runs else float(beta_law.isf(error, hits + 1, runs - hits))
    return lower, upper


def epsilon_bound(
    true_positives: int, false_positives: int, runs: int, delta: float, error: float
) -> float:
    """Lower bound on epsilon from a test's counts on `runs` models of each kind.

    In both directions: ln((TPR_low - delta) / FPR_high), the canary found, and
    ln((1 - FPR_high - delta) / (1 - TPR_low)), its absence found. Each rate is bounded
    at confidence 1 - error/2, and the same two bounds serve both.
    """
    found = proportion_bounds(true_positives, runs, error / 2)[0]
    false = proportion_bounds(false_positives, runs, error / 2)[1]
    ratios = [
        (seen - delta) / missed
        for seen, missed in ((found, false), (1.0 - false, 1.0 - found))
        if seen > delta and missed > 0
    ]
    return max(0.0, math.log(max(ratios))) if ratios else 0.0


def mu_bound(right: int, guesses: int, error: float) -> float:
    """Lower bound on mu (Gaussian differential privacy) from right guesses.

    Among equally many models of D and of D', no test guesses more than the share
    Phi(mu / 2) right. The number of right guesses is a sum of independent answers whose
    upper tail no binomial of the same mean exceeds (Hoeffding, 1956), so the exact
    binomial bound on the share holds, and mu >= 2 Phi^-1 of it.
    """
    share = proportion_bounds(right, guesses, error)[0]
    return max(0.0, 2.0 * float(ndtri(share)))


def largest_bound(runs: int, delta: float = 0.0, error: float = 0.05) -> float:
    """Return the bound of a perfect test: what this number of runs can show at most."""
    return epsilon_bound(runs, 0, runs, delta, error)


def best_direction(plain: Vector, other: Vector, gap: Vector | None = None) -> Vector:
    """Linear discriminant between two clouds of released vectors, with shrinkage.

    `gap` is the difference of their centres where it is known: of the weights without
    noise. The clouds then serve for their spread alone.
    """
    centred = np.vstack([plain - plain.mean(axis=0), other - other.mean(axis=0)])
    spread = centred.T @ centred / max(1, len(centred) - 2)
    dimension = len(spread)
    if gap is None:
        gap = other.mean(axis=0) - plain.mean(axis=0)
    # Shrink towards a multiple of the identity, which a deterministic method, without
    # any spread, needs as well.
    mean = np.trace(spread) / dimension + 1e-9 * float(gap @ gap) + 1e-30
    share = min(1.0, dimension / len(centred))
    target = share * mean * np.eye(dimension)
    direction = np.linalg.solve((1 - share) * spread + target, gap)
    length = float(np.linalg.norm(direction))
    return direction / length if length > 0 else np.ones(dimension)


def best_threshold(plain: Vector, other: Vector, delta: float, error: float) -> float:
    """Threshold on held-out scores that would give the largest bound there."""
    values = np.unique(np.concatenate([plain, other]))
    middles = (values[1:] + values[:-1]) / 2 if len(values) > 1 else values
    bounds = [
        epsilon_bound(
            int((other > t).sum()), int((plain > t).sum()), len(plain), delta, error
        )
        for t in middles
    ]
    best = np.flatnonzero(np.array(bounds) == max(bounds))
    # Among equals the middle one: the widest margin on both sides.
    return float(middles[best[len(best) // 2]])


class Trial(NamedTuple):
    """A linear test fixed on held-out models."""

    separation: float  # of the two centres along the direction, in deviations
    direction: Vector
    threshold: float


def choose_test(
    plain: Vector,
    other: Vector,
    gap: Vector | None,
    threshold: Callable[[Vector, Vector], float],
) -> Trial:
    """Fix a linear test on held-out models; `threshold` places it on their scores."""
    direction = best_direction(plain, other, gap)
    here, there = plain @ direction, other @ direction
    spread = math.sqrt(float(here.var() + there.var()) / 2) + 1e-300
    separation = float(there.mean() - here.mean()) / spread
    return Trial(separation, direction, threshold(here, there))


def middle(plain: Vector, other: Vector) -> float:
    """Threshold half way between two clouds: most right guesses for equal spreads."""
    return 0.5 * float(plain.mean() + other.mean())

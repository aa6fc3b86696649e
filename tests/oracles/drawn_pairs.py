"""The rule by which DPWSS chooses a pair, written out: the readable twin of the core.

The compiled rule (`core/solver/drawn_pairs.hpp`) does the same in O(n) per iteration;
tests hold the two against each other. Signed variables: gradient = K beta - linear.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Candidates(NamedTuple):
    """The pairs (i, j) among which one iteration draws."""

    i: int  # the growing member: a deterministic argmax of private data
    members: NDArray[np.intp]  # the falling members j
    scores: Vector  # q_j in [sigma, 1]
    violation: float  # m + M over all falling members; optimal when below the tolerance


def candidates(
    beta: Vector,
    gradient: Vector,
    lower: Vector,
    upper: Vector,
    *,
    sigma: float,
    tolerance: float = 1e-3,
    used: Set[tuple[int, int]] = frozenset(),
    robust_maximum: bool = False,
) -> Candidates:
    """Return i, the admitted j and their scores (equations (20) to (26) of the paper).

    Parameters
    ----------
    beta, gradient, lower, upper : arrays of shape (n,)
        Signed variables, gradient and box.
    sigma : float in (0, 1]
        Smallest admitted score.
    tolerance : float
        Violations up to it do not count.
    used : set of pairs (i, j)
        Pairs drawn before, under the "once" rule.
    robust_maximum : bool
        Whether M runs over the unused pairs only, so that one large used violation
        cannot keep every other pair below sigma.
    """
    grow, fall = beta < upper, beta > lower
    steepest = np.max(-gradient, where=grow, initial=-np.inf)
    i = int(np.flatnonzero(grow & (-gradient == steepest))[-1])  # LIBSVM's tie rule
    violations = steepest + gradient
    violation = float(np.max(violations, where=fall, initial=-np.inf))
    unused = np.array([(i, j) not in used for j in range(len(beta))])
    among = fall & unused if robust_maximum else fall
    largest = np.max(violations, where=among, initial=-np.inf)
    admitted = fall & unused & (violations > tolerance)
    admitted &= violations >= sigma * largest
    members = np.flatnonzero(admitted)
    return Candidates(i, members, violations[members] / largest, violation)


def draw_probabilities(scores: Vector, epsilon: float, sigma: float) -> Vector:
    """Probability of each candidate: softmax of epsilon q / (2 (1 - sigma)), eq. (28).

    At sigma = 1 every admitted score is the best one and the draw is uniform; at
    epsilon = infinity the best score is taken.
    """
    if sigma >= 1.0:
        return np.full(len(scores), 1.0 / len(scores))
    if np.isinf(epsilon):
        best = (scores == scores.max()).astype(np.float64)
        return np.asarray(best / best.sum())
    exponents = epsilon * (scores - scores.max()) / (2.0 * (1.0 - sigma))
    weights = np.exp(exponents)
    return np.asarray(weights / weights.sum())

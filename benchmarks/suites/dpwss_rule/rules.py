"""Rules written out in numpy, to be looked at: readings of DPWSS, and WSS 3.

Readings of the published rule at sigma = 0.7, where its Table 3 is not reproduced: at
epsilon 0.1 the draws are nearly uniform among the admitted pairs, so that scores and
probabilities cannot explain a difference; what remains is which pairs are admitted, and
when a run stops. WSS 3 is the general rule behind DPWSS, of equation (15): any pair
that violates by at least sigma times the largest violation, here drawn uniformly; Chen,
Fan and Lin (2006) prove that every such choice converges.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from widemargin_papers.dpwss.printed import SETTINGS

Vector = NDArray[np.float64]

SETTING = "0.1/0.7"
READINGS = {
    "as published": "M over all falling indices, ordered flags, stop without candidate",
    "unordered flags": "(i, j) used forbids (j, i) too",
    "unused maximum": "M over the unused pairs of i only",
    "running maximum": "q against the largest violation seen so far in the loop",
    "next index": "without candidate go on with the next i instead of stopping",
}
TOLERANCE = 1e-3
MOST = 20_000


class Admitted(NamedTuple):
    """The members j that may be drawn with i, and their scores."""

    members: NDArray[np.intp]
    scores: Vector


def admitted(
    violations: Vector, used: NDArray[np.bool_], sigma: float, reading: str
) -> Admitted:
    """Return the candidates of one i; `violations` are -inf outside of I_low."""
    open_pairs = ~used & (violations > TOLERANCE)
    largest: Vector = np.full(len(violations), violations.max())
    if reading == "unused maximum" and open_pairs.any():
        largest[:] = violations[open_pairs].max()
    elif reading == "running maximum":
        largest = np.maximum.accumulate(violations)
    members = np.flatnonzero(open_pairs)
    scores = violations[members] / largest[members]
    kept = scores >= sigma
    return Admitted(members[kept], scores[kept])


class PairDescent:
    """Pair steps on the linear C-SVC dual with C = 1, in signed variables."""

    def __init__(self, K: Vector, y: Vector) -> None:
        self.K, self.y = K, y
        self.beta: Vector = np.zeros(len(y))
        self.gradient: Vector = -y
        self.lower, self.upper = np.minimum(0.0, y), np.maximum(0.0, y)
        self.iterations = 0

    def directions(self) -> tuple[Vector, Vector]:
        """Return -gradient over I_up and gradient over I_low; -inf outside."""
        slopes = np.where(self.beta < self.upper, -self.gradient, -np.inf)
        falling = np.where(self.beta > self.lower, self.gradient, -np.inf)
        return slopes, falling

    def step(self, i: int, j: int) -> None:
        """Minimise over the pair, within the boxes."""
        K, beta, gradient = self.K, self.beta, self.gradient
        curvature = max(K[i, i] + K[j, j] - 2.0 * K[i, j], 1e-12)
        step = (gradient[j] - gradient[i]) / curvature
        step = min(step, self.upper[i] - beta[i], beta[j] - self.lower[j])
        beta[i] = min(beta[i] + step, self.upper[i])
        beta[j] = max(beta[j] - step, self.lower[j])
        self.gradient = gradient + step * (K[:, i] - K[:, j])
        self.iterations += 1

    @property
    def violation(self) -> float:
        """The largest KKT violation."""
        slopes, falling = self.directions()
        return float(slopes.max() + falling.max())

    @property
    def objective(self) -> float:
        """The dual objective reached."""
        values = self.gradient + self.y
        return float(0.5 * self.beta @ values - self.y @ self.beta)


def linear_kernel(X: Any, y: Vector) -> tuple[Vector, Vector]:
    """Return the kernel matrix of sparse rows, and their labels."""
    dense = np.asarray(X.toarray())
    return dense @ dense.T, y


def run(K: Vector, y: Vector, reading: str, seed: int) -> PairDescent:
    """Train with C = 1 by one reading of the rule."""
    epsilon, sigma = SETTINGS[SETTING]
    rng, n = np.random.default_rng(seed), len(y)
    descent = PairDescent(K, y)
    used = np.zeros((n, n), dtype=bool)
    while descent.iterations < MOST:
        slopes, falling = descent.directions()
        if slopes.max() + falling.max() < TOLERANCE:
            break
        i = n - 1 - int(np.argmax(slopes[::-1]))  # LIBSVM's rule of ties
        found = admitted(slopes[i] + falling, used[i], sigma, reading)
        if not len(found.members) and reading == "next index":
            for i in map(int, np.argsort(-slopes)):
                if slopes[i] + falling.max() < TOLERANCE:
                    break
                found = admitted(slopes[i] + falling, used[i], sigma, reading)
                if len(found.members):
                    break
        if not len(found.members):
            break
        chances = np.exp(epsilon * found.scores / (2.0 * (1.0 - sigma)))
        j = int(rng.choice(found.members, p=chances / chances.sum()))
        used[i, j] = True
        if reading == "unordered flags":
            used[j, i] = True
        descent.step(i, j)
    return descent


def drawn_pair(
    slopes: Vector, falling: Vector, sigma: float, rng: np.random.Generator
) -> tuple[int, int]:
    """Draw i and j uniformly among the pairs with slopes[i] + falling[j] large enough.

    Values outside of I_up and I_low are -inf. The pairs are counted by sorting: there
    are up to n^2 of them.
    """
    needed = sigma * (slopes.max() + falling.max()) * (1.0 - 1e-12)  # of rounding
    order = np.argsort(falling)
    fewest = np.searchsorted(falling[order], needed - slopes)
    counts = np.where(np.isfinite(slopes), len(falling) - fewest, 0)
    i = int(rng.choice(len(counts), p=counts / counts.sum()))
    j = int(order[rng.integers(fewest[i], len(order))])
    return i, j


def run_wss3(K: Vector, y: Vector, sigma: float, seed: int) -> PairDescent:
    """Train with C = 1 to the tolerance by WSS 3."""
    rng, descent = np.random.default_rng(seed), PairDescent(K, y)
    while descent.iterations < MOST and descent.violation >= TOLERANCE:
        descent.step(*drawn_pair(*descent.directions(), sigma, rng))
    return descent

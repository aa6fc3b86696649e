"""WSS 3, the general rule behind WSS 4: any pair that violates by a constant factor.

Both members are free: i in I_up and j in I_low with a violation of at least sigma times
the largest, equation (15) of the paper. Here a pair is drawn uniformly among all of
them; Chen, Fan and Lin (2006) prove that every such choice converges. Written in numpy:
it is to be looked at, not used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .variants import MOST, TOLERANCE, End, PairDescent

Vector = NDArray[np.float64]


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


def run_wss3(K: Vector, y: Vector, sigma: float, seed: int) -> tuple[End, float]:
    """Train with C = 1 to the tolerance; return the end and the KKT violation."""
    rng, descent = np.random.default_rng(seed), PairDescent(K, y)
    while descent.iterations < MOST:
        slopes, falling = descent.directions()
        if slopes.max() + falling.max() < TOLERANCE:
            break
        descent.step(*drawn_pair(slopes, falling, sigma, rng))
    slopes, falling = descent.directions()
    return descent.end(), float(slopes.max() + falling.max())

"""The readable twin of the engine: sequential minimal optimisation in numpy.

Signed variables, one box per sample, no labels anywhere: the loop is the paper step
of style rule 9. Slow, exact in float64, and shares no code with the package.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

TINY = 1e-12


def iterates(
    K: np.ndarray,
    linear: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    total: float | None,
    *,
    tol: float = 1e-10,
    start: np.ndarray | None = None,
    max_iter: int = 100_000,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield ``(beta, K beta)`` after each step until the KKT violation is below tol."""
    beta = feasible_start(lower, upper, total) if start is None else start.copy()
    gradient = K @ beta - linear
    yield beta.copy(), gradient + linear
    for _ in range(max_iter):
        if total is None:
            moved = box_step(K, gradient, beta, lower, upper, tol)
        else:
            moved = pair_step(K, gradient, beta, lower, upper, tol)
        if not moved:
            return
        yield beta.copy(), gradient + linear


def pair_step(K, gradient, beta, lower, upper, tol):
    """Move the maximal violating pair along ``(1, -1)``; keep the sum."""
    up = np.flatnonzero(beta < upper)
    low = np.flatnonzero(beta > lower)
    if not (up.size and low.size):
        return False
    i = up[np.argmin(gradient[up])]  # can still grow
    j = low[np.argmax(gradient[low])]  # can still shrink
    violation = gradient[j] - gradient[i]  # optimal when <= tol (Keerthi et al. 2001)
    if violation <= tol:
        return False
    # second-order choice of the partner (Fan, Chen and Lin 2005)
    gain = np.maximum(gradient[low] - gradient[i], 0.0) ** 2
    curvature = np.maximum(K[i, i] + np.diag(K)[low] - 2 * K[i, low], TINY)
    best = np.argmax(gain / curvature)
    j = low[best]
    step = (gradient[j] - gradient[i]) / curvature[best]
    room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
    step = min(step, room_i, room_j)
    beta[i] = upper[i] if step == room_i else beta[i] + step
    beta[j] = lower[j] if step == room_j else beta[j] - step
    gradient += step * (K[:, i] - K[:, j])
    return True


def box_step(K, gradient, beta, lower, upper, tol):
    """Move the one coordinate with the largest gain; no equality to keep."""
    can_move = ((gradient < 0) & (beta < upper)) | ((gradient > 0) & (beta > lower))
    violation = np.where(can_move, np.abs(gradient), 0.0)
    if not violation.size or violation.max() <= tol:
        return False
    curvature = np.maximum(np.diag(K), TINY)
    target = np.clip(beta - gradient / curvature, lower, upper)
    step = target - beta
    gain = -(gradient * step + 0.5 * curvature * step**2)
    i = int(np.argmax(np.where(can_move, gain, -np.inf)))
    beta[i] = target[i]
    gradient += step[i] * K[:, i]
    return True


def feasible_start(lower, upper, total):
    """Return a feasible point: the nearest to zero, then filled up in order."""
    beta = np.clip(np.zeros_like(lower), lower, upper)
    if total is None:
        return beta
    missing = total - beta.sum()
    for i in range(len(beta)):
        step = np.clip(missing, lower[i] - beta[i], upper[i] - beta[i])
        beta[i] += step
        missing -= step
    return beta


def minimise(K, linear, lower, upper, total, *, tol=1e-10, start=None):
    """Return the last iterate: ``beta`` and ``K beta``."""
    every = iterates(K, linear, lower, upper, total, tol=tol, start=start)
    return deque(every, maxlen=1).pop()

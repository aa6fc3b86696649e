"""Better coefficients for a problem that somebody has solved: a plain active set.

Nothing here has to be right: whatever comes out is a model, and the objective of any
model is an upper bound of the optimum. Float64, small problems, no code of the package.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

SWEEPS = 2
STEPS = 1_000  # pair steps of a sweep
EXCHANGES = 60  # systems solved in a sweep
FREE = 400  # members that are free, at most: a system of this size


def better_coefficients(model: Any, K: Any) -> Iterator[Any]:
    """Yield coefficients, each as good as this sweep could make them."""
    linear, lower, upper = (
        np.asarray(a, dtype=np.float64)
        for a in (model.linear, model.lower, model.upper)
    )
    beta = np.clip(np.array(model.beta, dtype=np.float64), lower, upper)
    copies = 1
    if model.kink is not None:  # two members, on either side of zero
        copies, nothing = 2, np.zeros(len(beta))
        linear = np.concatenate([linear - model.kink, linear + model.kink])
        lower = np.concatenate([nothing, lower])
        upper = np.concatenate([upper, nothing])
        beta = np.concatenate([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
        K = np.tile(K, (2, 2))
    for _ in range(SWEEPS):
        for steps in (_newton_steps, _pair_steps):
            beta = steps(K, linear, lower, upper, model.total, beta)
            yield beta.reshape(copies, -1).sum(axis=0)


def _newton_steps(
    K: Any, linear: Any, lower: Any, upper: Any, total: float | None, beta: Any
) -> Any:
    """Minimise over the free members, drop those that meet a bound, add the worst."""
    free = (beta > lower) & (beta < upper)
    for _ in range(EXCHANGES):
        gradient = K @ beta - linear
        members = np.flatnonzero(free)
        if members.size > FREE:
            return beta
        step, intercept = _equality_step(K, gradient, members, total is not None)
        lengths = np.full(members.size, np.inf)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            up, down = step > 0, step < 0
            lengths[up] = ((upper[members] - beta[members]) / step)[up]
            lengths[down] = ((lower[members] - beta[members]) / step)[down]
        length = min(1.0, lengths.min(initial=1.0))
        if not np.isfinite(step).all():
            return beta
        beta[members] += length * step
        beta = np.clip(beta, lower, upper)
        if length < 1.0:
            blocked = int(np.argmin(lengths))
            end = upper if step[blocked] > 0 else lower
            beta[members[blocked]] = end[members[blocked]]
            free[members[blocked]] = False
            continue
        gradient = K @ beta - linear + intercept
        wrong = np.where(beta < upper, -gradient, 0.0)
        wrong = np.maximum(wrong, np.where(beta > lower, gradient, 0.0))
        wrong[members] = 0.0
        worst = int(np.argmax(wrong))
        if wrong[worst] <= 0.0:
            return beta
        free[worst] = True
    return beta


def _equality_step(
    K: Any, gradient: Any, members: Any, has_equality: bool
) -> tuple[Any, float]:
    """Return the step to the minimum over ``members``, and its multiplier."""
    m = members.size
    if m == 0:
        return np.zeros(0), 0.0
    system = np.zeros((m + has_equality, m + has_equality))
    system[:m, :m] = K[np.ix_(members, members)]
    right = np.zeros(m + has_equality)
    right[:m] = -gradient[members]
    scale = max(float(np.abs(np.diagonal(system)).max()), 1e-300)
    if has_equality:
        system[m, :m] = system[:m, m] = scale  # of the size of the others
    try:
        found = np.linalg.lstsq(system, right, rcond=1e-15)[0]
    except np.linalg.LinAlgError:
        return np.full(m, np.nan), 0.0
    return found[:m], float(found[m] * scale) if has_equality else 0.0


def _pair_steps(
    K: Any, linear: Any, lower: Any, upper: Any, total: float | None, beta: Any
) -> Any:
    """Take steps of most violating pairs, or of single members without an equality."""
    gradient = K @ beta - linear
    diagonal = np.diagonal(K)
    for _ in range(STEPS):
        growth = np.where(beta < upper, gradient, np.inf)
        fall = np.where(beta > lower, gradient, -np.inf)
        i, j = int(np.argmin(growth)), int(np.argmax(fall))
        if total is None:
            k = i if -growth[i] >= fall[j] else j
            if max(-growth[i], fall[j]) <= 0.0:
                return beta
            step = -gradient[k] / max(diagonal[k], 1e-300)
            step = np.clip(step, lower[k] - beta[k], upper[k] - beta[k])
            beta[k] += step
            gradient += step * K[:, k]
            continue
        if not fall[j] - growth[i] > 0.0:
            return beta
        curvature = max(diagonal[i] + diagonal[j] - 2 * K[i, j], 1e-300)
        room = min(upper[i] - beta[i], beta[j] - lower[j])
        step = min((fall[j] - growth[i]) / curvature, room)
        beta[i] = min(beta[i] + step, upper[i])
        beta[j] = max(beta[j] - step, lower[j])
        gradient += step * (K[:, i] - K[:, j])
    return beta

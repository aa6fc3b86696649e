"""Random problems for screening, and what is left of one when samples are decided."""

from __future__ import annotations

import numpy as np

from widemargin.engine.feasible import project
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Laplacian, Linear
from widemargin.engine.problem import DualProblem


def random_problem(rng, *, intercept, size=None, clip=True):
    """Return a small problem with zero rows, duplicates, moved boxes and any C."""
    n = size or int(rng.integers(5, 26))
    X = rng.normal(size=(n, int(rng.integers(1, 5))))
    X[rng.random(n) < 0.08] = 0.0
    if rng.random() < 0.3:
        X[: n // 3] = X[rng.integers(0, n, size=n // 3)]
    noise = rng.choice([0.3, 1.0, 3.0])
    y = np.where(X[:, 0] + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    kernel = Linear()
    if rng.random() < 0.5:
        local = Gaussian if n % 2 else Laplacian
        kernel = local(10 ** rng.uniform(-1, 1))
    gram = Gram(X, kernel)
    costs = np.full(n, 10 ** rng.uniform(-1, 2))
    if rng.random() < 0.3:
        costs *= rng.uniform(0.5, 2.0, size=n)
    pull = costs * y
    clipped = (
        (rng.random(n) < 0.2) if clip and rng.random() < 0.4 else np.zeros(n, bool)
    )
    shift = np.where(clipped, pull, 0.0)
    return DualProblem(
        gram,
        y,
        np.minimum(0, pull) - shift,
        np.maximum(0, pull) - shift,
        0.0 if intercept else None,
    )


def with_decided_fixed(problem, screened, beta):
    """Return the problem of the undecided samples, these, and the point.

    Decided samples are at their bounds, the others projected on the sum that is left.
    """
    fixed = np.where(screened.at_lower, problem.lower, beta)
    fixed = np.where(screened.at_upper, problem.upper, fixed)
    active = np.flatnonzero(screened.active)
    part = problem.reduced(active, fixed)
    fixed[active] = project(fixed[active], part.lower, part.upper, part.total)
    return part, active, fixed

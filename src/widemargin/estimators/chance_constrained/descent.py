"""Stochastic subgradient steps: the published rule, the repaired one, and the descent.

Published (Wang, Fan and Pardalos, eq. 17): a sample per step, step ``m c_i / t``, last
iterate. It ends far above the optimum: b takes steps as large as those of w without
ever being shrunk back, and the first steps are as large as ``m C``.

Refined: the clock starts at ``delay = 4 sum_i c_i ||mu_i||^2``, so that a sample's own
margin moves by at most a quarter in its first visit; w is projected on the ball
``||w||^2 <= 2 min(cost of a class)`` that contains the optimum; b has steps ``1 /
sqrt(t)``; late iterates are averaged (:mod:`.stochastic` then finds the best scale of
the average and the best b exactly).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin import _core
from widemargin.numerics.products import inner

from .chance_problem import ChanceProblem

Floats = NDArray[np.float64]

PERMUTATION = "permutation"


class Rule(NamedTuple):
    """The numbers of the step, the same for every visit.

    ``rows_total`` is the m of the step ``m c_i / t``; the last three concern the
    refined method only.
    """

    kappa: float
    rows_total: float
    fit_intercept: bool
    refined: bool
    radius: float = np.inf
    delay: float = 0.0
    unit_of_cost: float = 1.0


class Descent(NamedTuple):
    """Where a descent stands: the iterate, its average, and the number of steps."""

    w: Floats
    mean_w: Floats
    b: float = 0.0
    mean_b: float = 0.0
    steps: int = 0

    @classmethod
    def start(cls, n_features: int) -> Descent:
        """Return the published start, w = 0 and b = 0."""
        return cls(np.zeros(n_features), np.zeros(n_features))

    def model(self, refined: bool) -> tuple[Floats, float]:
        """Return the last iterate (published) or the average (refined)."""
        return (self.mean_w, self.mean_b) if refined else (self.w, self.b)


def cost_sums(problem: ChanceProblem) -> Floats:
    """Return what the rule must know of samples; parts of the data add up.

    Their number, the costs of the positive and of the negative ones, and
    ``sum_i c_i ||mu_i||^2``.
    """
    positive, costs, X = problem.signs > 0.0, problem.costs, problem.X
    if sparse.issparse(X):
        norms = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    else:
        norms = np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))
    by_sign = costs[positive].sum(), costs[~positive].sum()
    return np.array([len(costs), *by_sign, inner(costs, norms)])


def extrapolated(sums: Floats, rows: int | None) -> Floats:
    """Return the sums of `rows` rows like those seen."""
    if rows is None:
        return sums
    factor = rows / max(sums[0], 1.0)
    return np.array([rows, *(sums[1:] * factor)])


def make_rule(sums: Floats, kappa: float, fit_intercept: bool, refined: bool) -> Rule:
    """Return the step's numbers for data with these `cost_sums`.

    ``||w*||^2 <= sum_i alpha_i``, and the multipliers of the two classes balance when
    there is an intercept (mathematics 2.3): that is the radius.
    """
    rows, positive, negative, squared = sums.tolist()
    total, smaller = positive + negative, min(positive, negative)
    mass = 2.0 * smaller if fit_intercept and smaller > 0.0 else total
    return Rule(
        kappa=kappa,
        rows_total=rows,
        fit_intercept=fit_intercept,
        refined=refined,
        radius=float(np.sqrt(mass)),
        delay=4.0 * squared,
        unit_of_cost=max(total / max(rows, 1.0), np.finfo(float).tiny),
    )


def visited(
    problem: ChanceProblem, order: NDArray[np.int64], rule: Rule, descent: Descent
) -> Descent:
    """Return where a descent ends after a step for each sample in ``order``."""
    table, groups = problem.uncertainty.table, problem.uncertainty.groups
    X = problem.X
    samples: tuple[Any, Any, Any] = (np.ascontiguousarray(X), None, None)
    if sparse.issparse(X):
        samples = (X.data, X.indices, X.indptr.astype(X.indices.dtype, copy=False))
    w, mean_w = descent.w.copy(), descent.mean_w.copy()
    numbers = _core.subgradient_pass(
        *samples,
        np.ascontiguousarray(table.entries, dtype=np.float64),
        table.letter,
        None if groups is None else groups.astype(np.int64, copy=False),
        problem.signs,
        problem.costs,
        order.astype(np.int64, copy=False),
        w,
        mean_w,
        *descent[2:],
        **rule._asdict(),
    )
    return Descent(w, mean_w, *numbers)


def draw_order(
    n_samples: int, sampling: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return one epoch's visits: a permutation, or draws with replacement."""
    if sampling == PERMUTATION or n_samples == 0:
        return rng.permutation(n_samples)
    return rng.integers(n_samples, size=n_samples)


def averaged(descents: list[Descent], sizes: list[int]) -> Descent:
    """Merge the descents of one round, each counted by its samples.

    All workers took their steps at the same time, so the clock is the longest one.
    """
    share = np.asarray(sizes, dtype=np.float64) / sum(sizes)
    w, mean_w, b, mean_b, steps = zip(*descents, strict=True)

    def mean(values: tuple[Any, ...]) -> Any:
        return np.tensordot(share, np.asarray(values), axes=1)

    return Descent(
        mean(w), mean(mean_w), float(mean(b)), float(mean(mean_b)), max(steps)
    )

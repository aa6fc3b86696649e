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

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin import _core
from widemargin.estimators.base.validation import class_weights
from widemargin.numerics.products import inner
from widemargin.uncertainty.covariance_tables import FullTable
from widemargin.uncertainty.covariances import given_covariances
from widemargin.uncertainty.risk_bounds import safety_factor

from .block_sources import Block
from .chance_problem import ChanceProblem
from .first_pass import ProblemBuilder, Scaling, Settings
from .uncertain_model import FittedModel

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


# ---- a step for each new row --------------------------------------------------------


def stepped(
    model: FittedModel | None,
    rows: Block,
    settings: Settings,
    classes: Any,
    n_samples_total: int | None,
    generator: Callable[[], np.random.Generator],
) -> FittedModel:
    """Return the model after one stochastic step for each row (``partial_fit``).

    What it goes on from are the descents of all binary problems (``online``) and the
    `cost_sums` of the rows so far (``seen``).
    """
    if model is None or model.online is None:
        model = _begun(model, rows.X.shape[1], settings, classes, generator)
    online, seen, classes = model.online, model.seen, model.classes
    assert online is not None and seen is not None
    weights = rows.weights
    present, weights = rows.y[weights > 0.0], weights[weights > 0.0]
    unknown = np.setdiff1d(present, classes)
    if len(unknown):
        raise ValueError(
            f"y has the labels {unknown.tolist()}, which are not in classes "
            f"{classes.tolist()}."
        )
    if n_samples_total is not None and n_samples_total < 1:
        raise ValueError(
            f"n_samples_total must be at least 1, got {n_samples_total}: it is "
            "the number of rows there will be in all."
        )
    labels = np.searchsorted(classes, present)
    builder = ProblemBuilder(
        classes,
        None if model.covariances is None else FullTable(model.covariances),
        Scaling.identity(rows.X.shape[1]),
        settings.C * class_weights(settings.class_weight, classes, labels, weights),
        safety_factor(settings.risk, settings.bound),
        settings.fit_intercept,
    )
    former = [Descent(**state) for state in online["descents"]]
    rng = np.random.default_rng([online["seed"], former[0].steps])
    order = draw_order(len(present), settings.sampling, rng)
    problems = builder.problems(rows).given
    seen = seen + [cost_sums(problem) for problem in problems]
    descents = []
    for problem, sums, descent in zip(problems, seen, former, strict=True):
        whole = extrapolated(sums, n_samples_total)
        rule = make_rule(whole, problem.kappa, problem.fit_intercept, settings.refine)
        descents.append(visited(problem, order, rule, descent))
    coef, intercept = zip(*(d.model(settings.refine) for d in descents), strict=True)
    return replace(
        model,
        coef=np.stack(coef),
        intercept=np.array(intercept),
        n_iter=model.n_iter + len(order),
        online=online | {"descents": [descent._asdict() for descent in descents]},
        seen=seen,
    )


def _begun(
    former: FittedModel | None,
    n_features: int,
    settings: Settings,
    classes: Any,
    generator: Callable[[], np.random.Generator],
) -> FittedModel:
    """Start from w = 0, or go on from a fitted model and the rows it has seen."""
    if settings.standardize or settings.class_weight == "balanced":
        raise ValueError(
            "partial_fit cannot see all rows, so standardize=True and "
            "class_weight='balanced' are not available: scale X and the "
            "covariances beforehand and give the class weights as a dict."
        )
    if former is not None and classes is None:
        classes = former.classes
    if classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    known = np.unique(classes)
    if len(known) < 2:
        raise ValueError(
            "classes must hold at least two labels; the number of classes has to "
            f"be greater than one; got {len(known)} class"
        )
    if former is not None and not np.array_equal(known, former.classes):
        raise ValueError(
            f"classes={known.tolist()} are not those of the fitted model, "
            f"{former.classes.tolist()}."
        )
    if former is None:
        k = 1 if len(known) == 2 else len(known)
        zeros = np.zeros((k, n_features))
        former = FittedModel(known, zeros, np.zeros(k), np.ones(n_features), None, 0)
    if not isinstance(settings.covariance, str):
        table = given_covariances(settings.covariance, known, n_features)
        former = replace(former, covariances=table.entries)
    # The refined method goes on as if each row of `fit` had been visited once: a new
    # row then weighs as much as one of them, however many epochs `fit` made. The
    # published one has no other clock than its steps.
    seen = np.zeros((len(former.coef), 4)) if former.seen is None else former.seen
    rows = int(seen[0, 0])
    steps = rows if settings.refine else max(rows, former.n_iter)
    descents = [
        Descent(w, w, b, b, steps)._asdict()
        for w, b in zip(former.coef, former.intercept.tolist(), strict=True)
    ]
    seed = int(generator().integers(2**31))
    online = {"descents": descents, "seed": seed}
    return replace(former, online=online, seen=seen)

"""What a solver returns, and what is proved of it, rounding included (mathematics 2.5).

:func:`loss_above` and :func:`objective_above` bound the primal objective of a stored
model from above, :func:`optimum_below` bounds the optimum from below by a dual point.
Numbers as they are stored are taken as exact: samples, covariances, coefficients. The
problem is that of the features as they were given; scaling them (``standardize``) is
a metric, ``1/2 ||scale * w||^2``, and, without an intercept, a fixed centre.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import fsum, inf, isfinite, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.certificate import Certificate
from widemargin.engine.status import Status
from widemargin.numerics.compensated import (
    TINY,
    UNIT,
    Enclosed,
    column_sums,
    lowered,
    raised,
    row_products,
    sum_above,
)
from widemargin.numerics.row_blocks import dense_rows
from widemargin.numerics.semidefinite import Shifts, proven_shifts
from widemargin.runtime.lazy import lazy_property
from widemargin.uncertainty.covariance_tables import FullTable, Images, enclosed_images

from .chance_problem import ChanceProblem, balanced
from .first_pass import Scaling

Floats = NDArray[np.float64]
Stage = dict[str, Any]

_COSTS = 4  # roundings in C times class weight times sample weight
_KAPPA = 16.0 * UNIT  # relative error of kappa, and of a mass, against its formula


@dataclass(frozen=True)
class Proof:
    """Upper bound of a model's objective, lower bound of the optimum, difference.

    ``bound`` and ``gap`` are None where there is no dual point, and on overflow.
    """

    objective: float
    bound: float | None
    gap: float | None

    @classmethod
    def of(
        cls, losses: list[float], scaling: Scaling, w: Floats, bound: float | None
    ) -> Proof:
        """Return the proof of a model with these losses, one for each block of rows."""
        objective = objective_above(losses, scaling, w)
        if bound is None or not isfinite(objective):
            return cls(objective, None, None)
        return cls(objective, bound, max(0.0, nextafter(objective - bound, inf)))

    @property
    def relative(self) -> float | None:
        """The gap in units of the objective."""
        return None if self.gap is None else self.gap / max(self.objective, TINY)


@dataclass(frozen=True)
class Dual:
    """A dual point; any numbers give a true bound, good ones a good one.

    ``alpha`` are the multipliers, shape (n,). The directions are the images
    ``v_k = Sigma_k p_k`` of the ``preimages``, shape (k, d), cut to
    ``||L_k'p_k|| <= 1``.
    """

    alpha: Floats
    preimages: Floats

    def restored(self, scaling: Scaling) -> Dual:
        """Return the point in the units of X."""
        return Dual(self.alpha, self.preimages / scaling.scale)


@dataclass(frozen=True)
class ChanceSolution:
    """What every solver returns: a model; it proves how good it is when asked."""

    w: Floats
    b: float
    dual: Dual | None  # None for solvers without a dual
    evidence: Callable[[], Proof]
    ended: Status  # polished, converged, or why the solver stopped early
    n_iter: int  # Newton, interior-point or subgradient steps
    seconds: float  # wall time
    history: list[Stage] = field(default_factory=list)
    tol: float = inf  # relative gap up to which the problem counts as solved

    @lazy_property
    def proof(self) -> Proof:
        """Objective, bound and gap, rounding included."""
        return self.evidence()

    @property
    def objective(self) -> float:
        """Upper bound of the primal objective."""
        return self.proof.objective

    @property
    def status(self) -> Status:
        """How the solver ended, as far as it is proved.

        One that ended well has stalled if rounding leaves the relative gap above
        ``tol``; where numbers overflow nothing is proved.
        """
        proof = self.proof
        if proof.objective == inf or (self.dual and proof.bound is None):
            return Status.OVERFLOW
        relative = proof.relative
        if self.ended.solved and relative is not None and relative > self.tol:
            return Status.STALLED
        return self.ended

    @property
    def certificate(self) -> Certificate:
        """The record every estimator of the package reports."""
        return Certificate(
            status=self.status,
            objective=self.proof.objective,
            bound=self.proof.bound,
            gap=self.proof.gap,
            kkt_violation=None,
            n_iter=self.n_iter,
            seconds=self.seconds,
            threads=1,
        )


def as_found(problem: ChanceProblem, w: Floats, b: float, dual: Dual | None) -> Proof:
    """Prove how good a model is in the units in which it was found."""
    scaling = Scaling.identity(problem.shape[1])
    bound = None if dual is None else optimum_below(problem, scaling, dual)
    return Proof.of([loss_above(problem, w, b)], scaling, w, bound)


def loss_above(problem: ChanceProblem, w: Floats, b: float) -> float:
    """Return an upper bound of ``sum_i c_i max(0, z_i)``; inf on overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        inflation = np.zeros(1)
        if problem.kappa > 0.0:
            table = problem.uncertainty.table
            spread = enclosed_images(table, np.arange(len(table)), w).norms
            inflation = problem.kappa * (1.0 + _KAPPA) * spread
            inflation = problem.uncertainty.expand(inflation)
        margins = row_products(problem.X, w, b)
        shortfall = 1.0 - problem.signs * margins.value + inflation
        size = 1.0 + np.abs(margins.value) + inflation
        shortfall += margins.error + 4.0 * UNIT * size
        terms = problem.costs * np.maximum(shortfall, 0.0)
        return _finite_or_infinite(sum_above(terms, _COSTS + 2))


def objective_above(losses: list[float], scaling: Scaling, w: Floats) -> float:
    """Return an upper bound of the objective of w with at most these losses."""
    loss = losses[0] if len(losses) == 1 else sum_above(np.array(losses))
    with np.errstate(over="ignore", invalid="ignore"):
        squares = 0.5 * np.square(scaling.scale * w)
        return _finite_or_infinite(raised(sum_above(squares) + loss))


def optimum_below(problem: ChanceProblem, scaling: Scaling, dual: Dual) -> float | None:
    """Return a lower bound of the optimum; None on overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        alpha = balanced(problem, dual.alpha)
        value = _dual_value(problem, scaling, alpha, dual.preimages)
    if not isfinite(value):
        return None
    return max(0.0, value)  # the objective is a sum of non-negative terms


def _dual_value(
    problem: ChanceProblem, scaling: Scaling, alpha: Floats, preimages: Floats
) -> float:
    """Return ``sum alpha - 1/2 ||q / scale||^2`` of a feasible point near alpha."""
    signed = problem.signs * alpha
    imbalance = fsum(signed.tolist())
    total = lowered(fsum(alpha.tolist()))
    pull = column_sums(problem.X, signed)
    forces = _Forces.of(problem, scaling, alpha, preimages)
    value = pull.value - forces.total.value
    error = pull.error + forces.total.error + UNIT * np.abs(value)
    moved = 0.0
    if not problem.fit_intercept:  # b is fixed: where it is not 0, at -centre'w
        shift = imbalance * scaling.mean
        value = value - shift
        error = error + 4.0 * UNIT * (np.abs(value) + np.abs(shift))
    elif imbalance != 0.0:
        # Lower one multiplier of the heavier class by the imbalance.
        reach = raised(abs(imbalance))
        heavier = np.where(problem.signs * imbalance > 0.0, alpha, 0.0)
        sample = int(np.argmax(heavier))
        if heavier[sample] < reach:
            return 0.0
        row = np.abs(dense_rows(problem.X, [sample])[0]) + forces.of_sample(sample)
        moved = reach * 1.001 * float(np.linalg.norm(row / scaling.scale))
        total = lowered(max(total - reach, 0.0))
    squares = np.square((np.abs(value) + error) / scaling.scale)
    length = raised(np.sqrt(sum_above(squares, 16)) + forces.penalty + moved)
    dual = total - raised(0.5 * length * length)
    # a little less of every multiplier keeps the boxes of costs rounded down
    return lowered(dual, _COSTS + 2) if dual > 0.0 else dual


@dataclass(frozen=True)
class _Forces:
    """``kappa sum_k A_k v_k``, and what it is made of.

    ``chosen`` are the covariances whose multipliers have a sum A_k above zero.
    """

    problem: ChanceProblem
    chosen: NDArray[np.intp]
    directions: Enclosed
    total: Enclosed
    penalty: float  # what covariances not proved semidefinite may add to ||q / scale||

    @classmethod
    def of(
        cls, problem: ChanceProblem, scaling: Scaling, alpha: Floats, preimages: Floats
    ) -> _Forces:
        kappa, table = problem.kappa, problem.uncertainty.table
        masses = _masses(problem, alpha) if kappa > 0.0 else np.zeros(len(table))
        chosen = np.flatnonzero(masses)
        masses, preimages = masses[chosen], preimages[chosen]
        shifts = None
        if isinstance(table, FullTable):
            shifts = proven_shifts(table.entries, chosen)
        directions = _directions(
            enclosed_images(table, chosen, preimages), preimages, shifts
        )
        added = column_sums(directions.value, masses)
        carried = (masses @ directions.error) * 1.001
        value = kappa * added.value
        error = kappa * (added.error + carried) * 1.001 + UNIT * np.abs(value)
        penalty = 0.0
        if shifts is not None:
            steepest = (shifts.unit / scaling.scale).max(axis=1)
            each = 2.0 * np.sqrt(shifts.shift) * steepest
            penalty = kappa * 1.001 * float((masses * each).sum())
        return cls(problem, chosen, directions, Enclosed(value, error), penalty)

    def of_sample(self, sample: int) -> Floats:
        """Return upper bounds of the entries of ``kappa |v|`` of a sample."""
        if not len(self.chosen):
            return np.zeros(self.problem.shape[1])
        entry = self.problem.uncertainty.entries(np.array([sample]))
        place = int(np.searchsorted(self.chosen, entry)[0])
        largest: Floats = self.directions.largest[place]
        return self.problem.kappa * 1.001 * largest


def _directions(found: Images, preimages: Floats, shifts: Shifts | None) -> Enclosed:
    """Return the ``v_k = Sigma_k p_k``, divided by a bound of ``||L_k'p_k||`` above 1.

    The bound is raised beyond the errors of kappa and of the masses: the products
    ``kappa A_k v_k`` are then those of exact numbers and a direction in the ball.
    """
    squared = np.square(found.norms)
    if shifts is not None:
        squared += 2.002 * shifts.shift * np.square(shifts.unit * preimages).sum(axis=1)
    cut = np.maximum(np.sqrt(squared) * (1.0 + 2.0 * _KAPPA), 1.0)[:, None]
    value = found.images.value / cut
    error = found.images.error / cut * 1.001 + 2.0 * UNIT * np.abs(value) + TINY
    return Enclosed(value, error)


def _masses(problem: ChanceProblem, alpha: Floats) -> Floats:
    """Return the sum of the multipliers of every covariance, rounded once."""
    groups = problem.uncertainty.groups
    if groups is None:
        return alpha
    count = len(problem.uncertainty.table)
    return np.array([fsum(alpha[groups == k].tolist()) for k in range(count)])


def _finite_or_infinite(value: float) -> float:
    return value if isfinite(value) else inf

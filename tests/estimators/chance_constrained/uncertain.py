"""Small chance-constrained problems, and what every solution of one must satisfy."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.testing import assert_allclose

from widemargin.estimators.chance_constrained.chance_problem import ChanceProblem
from widemargin.uncertainty.covariance_tables import (
    DiagonalTable,
    FactorTable,
    FullTable,
    Uncertainty,
)

from tests.oracles.exact_chance import exact_problem, objective_of, optimum_near


def certain(n, d):
    """Return samples that are known exactly: zero covariance for all."""
    return Uncertainty(DiagonalTable(np.zeros((1, d))), np.zeros(n, dtype=np.intp))


KINDS = ("class", "diagonal", "factor", "full", "certain")


def uncertainty_of(kind, n, d, signs, rng, size=0.05):
    """Return covariances of one kind, drawn at random."""
    if kind == "class":
        A = rng.normal(size=(2, d, d))
        table = FullTable(size * A @ A.transpose(0, 2, 1))
        return Uncertainty(table, (signs > 0).astype(np.intp))
    if kind == "diagonal":
        return Uncertainty(DiagonalTable(size * rng.random((n, d))))
    if kind == "factor":
        return Uncertainty(FactorTable(np.sqrt(size) * rng.normal(size=(n, d, 2))))
    if kind == "full":
        A = rng.normal(size=(n, d, d))
        return Uncertainty(FullTable(0.2 * size * A @ A.transpose(0, 2, 1)))
    return certain(n, d)


def random_problem(seed, kind, *, n=40, d=4, C=1.0, kappa=3.0, fit_intercept=True):
    """Return a problem with overlapping classes and unequal costs."""
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    X = rng.normal(size=(n, d)) + 0.8 * signs[:, None]
    costs = C * rng.integers(1, 4, size=n).astype(float)
    uncertainty = uncertainty_of(kind, n, d, signs, rng)
    return ChanceProblem(X, signs, costs, uncertainty, kappa, fit_intercept)


def covariance_matrices(problem):
    """Return every sample's covariance as a matrix."""
    matrices = problem.uncertainty.table.dense()
    groups = problem.uncertainty.groups
    return matrices if groups is None else matrices[groups]


def objective_by_formula(problem, w, b):
    """Evaluate the objective sample by sample, sharing no code with the package."""
    total = 0.5 * sum(value * value for value in w)
    for mean, sign, cost, covariance in zip(
        problem.X,
        problem.signs,
        problem.costs,
        covariance_matrices(problem),
        strict=True,
    ):
        spread = np.sqrt(max(w @ covariance @ w, 0.0))
        total += cost * max(0.0, 1.0 - sign * (w @ mean + b) + problem.kappa * spread)
    return float(total)


def judge_of(problem):
    """Return the same problem for the oracle."""
    names = {"f": "matrices", "d": "variances", "l": "factors"}
    table = problem.uncertainty.table
    groups, n = problem.uncertainty.groups, len(problem.signs)
    return exact_problem(
        problem.X,
        problem.signs,
        problem.costs,
        names[table.letter],
        table.entries,
        np.arange(n) if groups is None else groups,
        problem.kappa,
        fit_intercept=problem.fit_intercept,
    )


def assert_true(certificate, judge, w, b, best=None):
    """Check that a certificate claims no more than is true, to a hundred digits.

    Parameters
    ----------
    certificate : Certificate
        The claims.
    judge : ExactProblem
        The problem.
    w, b : array and float or Decimal
        The model they are about.
    best : (w, b), optional
        A model that is nearly optimal, where that one is not.

    Returns
    -------
    float or None
        The true gap, where the optimum could be found.
    """
    value = objective_of(judge, w, b)
    assert Decimal(certificate.objective) >= value
    if certificate.bound is None:
        assert certificate.gap is None
        return None
    near = (w, b) if best is None else best
    optimum = optimum_near(judge, *near)
    if optimum is None:
        at = near[1] if judge.fit_intercept else 0
        assert Decimal(certificate.bound) <= objective_of(judge, near[0], at)
    else:
        assert Decimal(certificate.bound) <= optimum
    claimed = Decimal(certificate.objective) - Decimal(certificate.bound)
    assert Decimal(certificate.gap) >= max(claimed, 0)
    return None if optimum is None else float(value - optimum)


def assert_certified(problem, solution, relative=1e-6, best=None):
    """Check objective, bound and gap of a solution against the exact problem."""
    certificate = solution.certificate
    assert certificate.objective == solution.objective
    assert_true(certificate, judge_of(problem), solution.w, solution.b, best)
    value = objective_by_formula(problem, solution.w, solution.b)
    assert_allclose(certificate.objective, value, rtol=1e-10)
    assert 0.0 <= certificate.gap <= relative * value

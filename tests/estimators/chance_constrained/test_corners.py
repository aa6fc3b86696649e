"""Covariances at the corner of their norm: many at once, dependent, or all of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin.estimators.chance_constrained import smoothed_newton as newton_module
from widemargin.estimators.chance_constrained.chance_problem import ChanceProblem
from widemargin.estimators.chance_constrained.cone_programs import sample_cones
from widemargin.estimators.chance_constrained.smoothed_newton import newton
from widemargin.estimators.chance_constrained.smoothing import Multipliers
from widemargin.uncertainty.covariance_tables import (
    DiagonalTable,
    FactorTable,
    FullTable,
    Uncertainty,
)

from .uncertain import assert_certified, random_problem


def incomplete(seed, *, n=150, d=4, C=1.0, fit_intercept=True, table=FullTable):
    """Return samples of which a third lack one feature, as imputation leaves them.

    The others are certain. Two of the features tell nothing, so w avoids them and all
    samples that lack one of these sit at the corner of their norm.
    """
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(n, d))
    X[:, 2:] += 0.5 * signs[:, None]
    variances = np.zeros((n, d))
    lacking = np.flatnonzero(rng.random(n) < 0.35)
    sizes = 1.0 + rng.random(len(lacking))
    variances[lacking, rng.integers(3, size=len(lacking))] = sizes
    covariances = DiagonalTable(variances)
    if table is FullTable:
        covariances = FullTable(covariances.dense())
    elif table is FactorTable:
        covariances = FactorTable(covariances.factors(np.arange(n)))
    return ChanceProblem(
        X, signs, np.full(n, C), Uncertainty(covariances), 3.0, fit_intercept
    )


@pytest.mark.parametrize("table", [FullTable, DiagonalTable, FactorTable])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.02, 1.0, 50.0])
def test_many_samples_that_lack_the_same_feature(table, fit_intercept, C):
    for seed in range(3):
        problem = incomplete(seed, C=C, fit_intercept=fit_intercept, table=table)
        solution = newton(problem)
        assert_certified(problem, solution, relative=1e-9)
        assert solution.status == "polished"
        if C == 1.0:
            assert np.any(np.abs(solution.w) <= 1e-14)  # the corner is occupied
            reference = sample_cones(problem, tol=1e-9)
            assert_allclose(solution.objective, reference.objective, rtol=1e-6)


@pytest.fixture
def forgetful(monkeypatch):
    """Return the solver as it would be if no stage knew the multipliers before it."""
    stage = newton_module._stage

    def begun_anew(problem, point, _, *given):
        return stage(problem, point, Multipliers.constant(problem, 0.5), *given)

    def solve(problem):
        with monkeypatch.context() as changed:
            changed.setattr(newton_module, "_stage", begun_anew)
            return newton(problem)

    return solve


@pytest.mark.parametrize("C", [0.02, 1.0, 50.0])
def test_multipliers_carried_on_save_steps_and_digits(forgetful, C):
    problems = [incomplete(seed, C=C) for seed in range(3)]
    fast = [newton(problem) for problem in problems]
    slow = [forgetful(problem) for problem in problems]
    assert sum(s.n_iter for s in slow) > 2 * sum(s.n_iter for s in fast)
    assert max(s.proof.relative for s in fast) < 1e-13
    assert max(s.proof.relative for s in slow) > 1e-12


def test_zero_w_is_proved_for_covariances_of_classes():
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(300) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(300, 10))
    X[:, :3] += 0.8 * signs[:, None]
    table = FullTable(np.stack([np.diag(1.0 + 10.0 * rng.random(10))] * 2))
    groups = (signs > 0).astype(np.intp)
    problem = ChanceProblem(X, signs, np.ones(300), Uncertainty(table, groups), 10.0)
    solution = newton(problem)
    assert solution.status == "polished"
    assert_certified(problem, solution, relative=1e-12)
    assert_allclose(solution.w, 0.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_zero_w_is_proved_in_few_steps(fit_intercept):
    small = incomplete(1, fit_intercept=fit_intercept)
    rng = np.random.default_rng(1)
    factors = 5.0 * rng.normal(size=(150, 4, 3))  # each forbids three directions only
    for table in (FactorTable(factors), FullTable(FactorTable(factors).dense())):
        problem = ChanceProblem(
            small.X, small.signs, small.costs, Uncertainty(table), 3.0, fit_intercept
        )
        solution = newton(problem)
        # rounded matrices of rank three are not semidefinite to the last digit
        relative = 1e-12 if isinstance(table, FactorTable) else 1e-7
        assert_certified(problem, solution, relative=relative)
        assert solution.status == "polished"
        assert_allclose(solution.w, 0.0)
        assert solution.n_iter <= 10


def test_preimages_at_corners_do_not_grow_with_the_stages():
    """A multiple of w has no image there, but rounding would give it one."""
    problem = incomplete(0)
    solution = newton(problem)
    spread = problem.uncertainty.spread(solution.w)
    corner = (spread <= 1e-12) & (solution.dual.alpha > 0.0)
    corner &= problem.uncertainty.table.dense().any(axis=(1, 2))
    assert corner.sum() > 5
    along = solution.dual.preimages[corner] @ solution.w
    assert_allclose(along, 0.0, atol=1e-6)
    assert np.abs(solution.dual.preimages[corner]).max() < 10.0


def test_a_stage_that_begins_without_free_samples_finds_its_intercept():
    """Then b has no curvature: its step was 1e10, and no part of it went down."""
    problem = random_problem(1, "factor", n=4, kappa=10.0)
    solution = newton(problem)
    assert solution.status == "polished"
    assert_certified(problem, solution, relative=1e-12)

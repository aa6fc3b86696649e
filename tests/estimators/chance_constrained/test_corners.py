"""Covariances at the corner of their norm: many at once, dependent, or all of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin.estimators.chance_constrained import smoothed_newton as newton_module
from widemargin.estimators.chance_constrained.chance_problem import ChanceProblem
from widemargin.estimators.chance_constrained.cone_programs import sample_cones
from widemargin.estimators.chance_constrained.norm_corners import (
    balancing_directions,
    corner_of,
    origin_multipliers,
)
from widemargin.estimators.chance_constrained.smoothed_newton import newton
from widemargin.uncertainty.covariance_tables import (
    DiagonalTable,
    FactorTable,
    FullTable,
    Uncertainty,
)

from .uncertain import assert_certified


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


def test_the_gap_goes_to_zero_without_polish(monkeypatch):
    """The multipliers of the smoothed problem suffice, once its gradient vanishes."""
    monkeypatch.setattr(newton_module, "polish", lambda *_: None)
    for seed in range(3):
        problem = incomplete(seed, C=20.0)
        solution = newton(problem)
        assert solution.status == "converged"
        assert_certified(problem, solution)


@pytest.fixture
def without_polish(monkeypatch):
    """Return the solver as it would be without active sets and corners."""

    def solve(problem):
        with monkeypatch.context() as changed:
            changed.setattr(newton_module, "polish", lambda *_: None)
            changed.setattr(newton_module, "polish_origin", lambda *_: None)
            return newton(problem)

    return solve


@pytest.mark.parametrize("C", [0.02, 1.0, 50.0])
def test_polish_and_corners_save_steps_and_digits(without_polish, C):
    problems = [incomplete(seed, C=C) for seed in range(3)]
    fast = [newton(problem) for problem in problems]
    slow = [without_polish(problem) for problem in problems]
    assert sum(s.n_iter for s in slow) > 3 * sum(s.n_iter for s in fast)
    assert max(s.proof.relative for s in fast) < 1e-13
    assert max(s.proof.relative for s in slow) > 1e-9


def test_zero_w_is_not_proved_without_corners(without_polish):
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(300) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(300, 10))
    X[:, :3] += 0.8 * signs[:, None]
    table = FullTable(np.stack([np.diag(1.0 + 10.0 * rng.random(10))] * 2))
    groups = (signs > 0).astype(np.intp)
    problem = ChanceProblem(X, signs, np.ones(300), Uncertainty(table, groups), 10.0)
    assert newton(problem).status == "polished"
    assert without_polish(problem).status == "stalled"


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


def test_origin_multipliers_fit_their_boxes_and_balance():
    problem = incomplete(2)
    rng = np.random.default_rng(2)
    for size in (0.0, 0.3, 1.0):
        b, alpha = origin_multipliers(problem, size * rng.random(150))
        assert abs(b) == 1.0
        assert np.all((alpha >= 0.0) & (alpha <= problem.costs + 1e-15))
        assert_allclose(alpha @ problem.signs, 0.0, atol=1e-12)
        lighter = problem.signs * b < 0.0
        assert_allclose(alpha[lighter], problem.costs[lighter])


def test_forces_of_the_balls_add_up():
    rng = np.random.default_rng(3)
    table = FactorTable(rng.normal(size=(6, 5, 2)))
    radii = rng.random(6)
    radii[4] = 0.0
    inner = rng.normal(size=(6, 2))
    inner *= 0.9 / np.linalg.norm(inner, axis=1, keepdims=True)
    reachable = np.einsum("k,kdr,kr->d", radii, table.entries, inner)
    found, preimages = balancing_directions(table, radii, reachable, np.eye(5))
    assert_allclose(radii @ found, reachable, rtol=1e-12)
    images = np.stack([m @ p for m, p in zip(table.dense(), preimages, strict=True)])
    assert_allclose(images, found, rtol=1e-9)
    for k in range(6):
        u = np.linalg.lstsq(table.entries[k], found[k], rcond=None)[0]
        assert_allclose(table.entries[k] @ u, found[k], atol=1e-12)
        assert np.linalg.norm(u) <= 1.0 + 1e-12
    # what no forces can do is not claimed, and ends without overflow
    beyond, _ = balancing_directions(table, radii, 1e3 * reachable, np.eye(5))
    assert np.linalg.norm(radii @ beyond - 1e3 * reachable) > 1.0
    for k in range(6):
        u = np.linalg.lstsq(table.entries[k], beyond[k], rcond=None)[0]
        assert np.linalg.norm(u) <= 1.0 + 1e-9


def test_a_corner_takes_in_whoever_lies_in_its_space():
    variances = np.array([[1.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    corner = corner_of(DiagonalTable(variances), np.array([0]), np.array([0, 1.0, 1.0]))
    assert corner.members.tolist() == [0, 1]  # 1 lacks the same feature
    assert_allclose(np.abs(corner.basis), [[1.0], [0.0], [0.0]])
    many = DiagonalTable(np.ones((30_000, 3)))
    assert corner_of(many, np.arange(30_000), np.ones(3)) is None

"""Smoothed Newton: exact, certified, and equal to the cones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import check_grad

from widemargin import SVC
from widemargin.estimators.chance_constrained import smoothed_newton
from widemargin.estimators.chance_constrained.chance_problem import (
    ChanceProblem,
    balanced,
    duality_gap,
    objective,
)
from widemargin.estimators.chance_constrained.cone_programs import (
    sample_cones,
    semidefinite,
    shared_cones,
)
from widemargin.estimators.chance_constrained.smoothed_newton import newton
from widemargin.estimators.chance_constrained.smoothing import (
    Multipliers,
    hessian,
    line_search,
    point_at,
    smoothed,
)
from widemargin.runtime.deadline import Deadline
from widemargin.uncertainty.covariance_tables import (
    DiagonalTable,
    FullTable,
    Uncertainty,
)

from .uncertain import (
    KINDS,
    assert_certified,
    certain,
    objective_by_formula,
    random_problem,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_newton_equals_the_cones(kind, fit_intercept, C):
    problem = random_problem(3, kind, C=C, fit_intercept=fit_intercept)
    ours = newton(problem)
    assert_certified(problem, ours, relative=1e-9)
    assert ours.status == "polished"
    reference = sample_cones(problem, tol=1e-10)
    assert_certified(problem, reference)
    assert_allclose(ours.objective, reference.objective, rtol=1e-7)
    assert ours.objective <= reference.objective * (1.0 + 1e-10)
    assert_allclose(ours.w, reference.w, atol=2e-4 * np.abs(ours.w).max() + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_m_cones_two_cones_sdp_and_newton_agree(seed):
    problem = random_problem(seed, "class", n=8, d=2)
    solutions = {
        "newton": newton(problem),
        "m cones": sample_cones(problem, tol=1e-9),
        "2 cones": shared_cones(problem, tol=1e-9),
        "SDP": semidefinite(problem, tol=1e-9),
    }
    for name, solution in solutions.items():
        value = objective_by_formula(problem, solution.w, solution.b)
        assert_allclose(value, solutions["newton"].objective, rtol=1e-6, err_msg=name)
        if name != "SDP":
            assert_certified(problem, solution)


def test_gap_is_never_negative_and_goes_to_zero():
    problem = random_problem(5, "diagonal")
    solution = newton(problem)
    rng = np.random.default_rng(0)
    for _ in range(50):  # any point against any dual point
        w, b = rng.normal(size=4), rng.normal()
        alpha = problem.costs * rng.random(len(problem.costs))
        point = point_at(problem, rng.normal(size=4), 0.0)
        state = smoothed(problem, point, Multipliers.constant(problem, 0.5), 0.5)
        value, gap = duality_gap(problem, w, b, alpha, state.directions)
        assert gap >= 0.0
        assert value - gap <= solution.objective * (1.0 + 1e-12)
    gaps = [stage["gap"] for stage in solution.history]
    assert np.all(np.diff(gaps) <= 0.0)
    assert gaps[-1] <= 1e-10


def known_multipliers(problem, rng):
    """Return a centre as a stage ends with: some u cut, others inside their ball."""
    first = Multipliers.constant(problem, 0.5)
    point = point_at(problem, rng.normal(size=problem.shape[1]), 0.2)
    return smoothed(problem, point, first, 8.0).found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [0.7, 12.0])
def test_gradient_and_hessian_by_finite_differences(kind, width):
    problem = random_problem(7, kind)
    rng = np.random.default_rng(1)
    centre, start = known_multipliers(problem, rng), rng.normal(size=5)

    def at(variables):
        point = point_at(problem, variables[:-1], float(variables[-1]))
        return smoothed(problem, point, centre, width)

    def value(variables):
        return at(variables).value

    def gradient(variables):
        return at(variables).gradient

    assert check_grad(value, gradient, start) <= 1e-4 * np.linalg.norm(gradient(start))
    matrix = hessian(problem, at(start), width)
    assert_allclose(matrix, matrix.T)
    for axis in range(5):
        ahead, back = start.copy(), start.copy()
        ahead[axis] += 1e-6
        back[axis] -= 1e-6
        column = (gradient(ahead) - gradient(back)) / 2e-6
        assert_allclose(matrix[:, axis], column, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("C", [1.0, 1e14])
@pytest.mark.parametrize("kind", KINDS)
def test_the_line_search_goes_down_by_the_value_it_computes(kind, C):
    """Also where a step is twenty orders too long, and as steep beyond as before."""
    problem = random_problem(7, kind, C=C)
    rng = np.random.default_rng(2)
    state = smoothed(
        problem,
        point_at(problem, rng.normal(size=4), 0.1),
        known_multipliers(problem, rng),
        0.5,
    )
    for size in (1e-3, 1.0, 1e3):
        step = -size * state.gradient
        direction = point_at(problem, step[:-1], float(step[-1]))
        there = line_search(problem, state, direction, 0.5)
        slope = state.slope_along(direction)
        gone = there.point.w - state.point.w
        length = np.linalg.norm(gone) / np.linalg.norm(direction.w)
        assert there.value <= state.value + 1e-4 * length * slope
        assert abs(there.slope_along(direction)) <= 0.5 * abs(slope)


@pytest.mark.parametrize("kind", KINDS)
def test_at_the_optimal_multipliers_nothing_is_lost(kind):
    """The problem smoothed about them has the optimum, at any width."""
    problem = random_problem(5, kind)
    solution = newton(problem)
    point = point_at(problem, solution.w, solution.b)
    dual, table = solution.dual, problem.uncertainty.table
    images = [S @ p for S, p in zip(table.dense(), dual.preimages, strict=True)]
    centre = Multipliers(
        dual.alpha / problem.costs,
        dual.preimages,
        np.array(images),
        np.einsum("kd,kd->k", images, dual.preimages),
    )
    for width in (1e-2, 1.0, 100.0):
        state = smoothed(problem, point, centre, width)
        assert_allclose(state.value, solution.objective, rtol=1e-9)
        assert_allclose(state.gradient, 0.0, atol=1e-6 * problem.costs.sum())


def test_balanced_multipliers_move_where_it_costs_nothing():
    problem = random_problem(6, "diagonal")
    solution = newton(problem)
    alpha = solution.dual.alpha
    room = (alpha > 0.01 * problem.costs) & (alpha < 0.99 * problem.costs)
    assert room.any()
    for change in (1e-6, -1e-6):
        found = balanced(problem, np.where(room, alpha + change * problem.signs, alpha))
        assert_allclose(found @ problem.signs, 0.0, atol=1e-12)
        assert np.all((found >= 0.0) & (found <= problem.costs))
        assert_allclose(found[~room], alpha[~room], rtol=1e-9, atol=1e-12)
    far = balanced(problem, np.where(problem.signs > 0.0, problem.costs, 0.0))
    assert_allclose(far, 0.0)  # no room at all: the heavier class is scaled down


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_more_features_than_samples(kind, fit_intercept):
    problem = random_problem(8, kind, n=20, d=30, fit_intercept=fit_intercept)
    ours = newton(problem)
    assert_certified(problem, ours, relative=1e-9)
    assert_allclose(ours.objective, sample_cones(problem, tol=1e-9).objective, 1e-6)


@pytest.mark.parametrize("kind", ["class", "diagonal", "factor"])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_many_rows_begin_with_an_eighth_of_them(kind, C, monkeypatch):
    problem = random_problem(9, kind, n=2400, d=5, C=C)
    solution = newton(problem)
    assert solution.status == "polished"
    assert solution.history[0]["width"] < 0.1
    assert_certified(problem, solution, relative=1e-9)
    monkeypatch.setattr(smoothed_newton, "_MANY", 10**9)
    whole = newton(problem)
    assert_allclose(solution.w, whole.w, rtol=1e-9, atol=1e-12)
    assert solution.n_iter < whole.n_iter


@pytest.mark.parametrize("kind", ["zero covariance", "zero kappa"])
def test_without_uncertainty_it_is_the_linear_svm(kind):
    problem = random_problem(9, "certain" if kind == "zero covariance" else "full")
    kappa = 3.0 if kind == "zero covariance" else 0.0
    problem = ChanceProblem(
        problem.X, problem.signs, problem.costs, problem.uncertainty, kappa
    )
    ours = newton(problem)
    assert_certified(problem, ours)
    peer = SVC(kernel="linear", C=1.0, tol=1e-9).fit(
        problem.X, problem.signs, sample_weight=problem.costs
    )
    assert peer.certificate_.kkt_violation <= 1e-8
    assert_allclose(ours.w, peer.coef_[0], rtol=1e-6, atol=1e-9)
    assert_allclose(ours.b, peer.intercept_[0], rtol=1e-6, atol=1e-9)


def test_zero_w_is_found_and_certified():
    problem = random_problem(10, "class")
    large = Uncertainty(
        FullTable(100.0 * np.stack([np.eye(4)] * 2)), problem.uncertainty.groups
    )
    problem = ChanceProblem(problem.X, problem.signs, problem.costs, large, 3.0)
    solution = newton(problem)
    assert_certified(problem, solution, relative=1e-9)
    assert_allclose(solution.w, 0.0, atol=1e-12)
    majority = problem.costs[problem.signs > 0].sum() > 0.5 * problem.costs.sum()
    assert_allclose(solution.b, 1.0 if majority else -1.0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_tiny_w_keeps_the_directions_that_grow_along_it(seed):
    """They have length one in the end, and were cut as rounding until then."""
    rng, n = np.random.default_rng(seed), 30
    X = 1e9 + 2e6 * rng.normal(size=(n, 1))
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    costs = 10.0 ** rng.uniform(-11, 0, size=n)
    variances = Uncertainty(DiagonalTable(10.0 * rng.random((n, 1))))
    problem = ChanceProblem(X, signs, costs, variances, 100.0, False)
    solution = newton(problem)
    assert_certified(problem, solution)
    assert solution.status == "converged"


def test_a_covariance_may_sit_at_the_corner_of_its_norm():
    """Uncertain along one axis only, and strongly: w avoids it altogether."""
    rng = np.random.default_rng(11)
    signs = np.repeat([1.0, -1.0], 20)
    X = rng.normal(size=(40, 3)) + signs[:, None]
    variances = np.tile([50.0, 0.0, 0.0], (2, 1))
    uncertainty = Uncertainty(DiagonalTable(variances), (signs > 0).astype(np.intp))
    problem = ChanceProblem(X, signs, np.ones(40), uncertainty, 3.0)
    solution = newton(problem)
    assert_certified(problem, solution, relative=1e-10)
    assert solution.status == "polished"
    assert_allclose(solution.w[0], 0.0, atol=1e-14)
    without = ChanceProblem(X[:, 1:], signs, np.ones(40), certain(40, 2), 0.0)
    assert_allclose(solution.w[1:], newton(without).w, rtol=1e-9)


@pytest.mark.parametrize("kind", ["class", "diagonal", "factor", "full"])
def test_weight_is_repetition_to_the_last_digits(kind):
    problem = random_problem(12, kind)
    copies = problem.costs.astype(int)
    rows = np.repeat(np.arange(len(copies)), copies)
    repeated = ChanceProblem(
        problem.X[rows],
        problem.signs[rows],
        np.ones(len(rows)),
        problem.uncertainty.take(rows),
        problem.kappa,
    )
    weighted, longer = newton(problem), newton(repeated)
    assert_certified(problem, weighted, relative=1e-12)
    assert_certified(repeated, longer, relative=1e-12)
    assert_allclose(weighted.w, longer.w, rtol=1e-9)
    assert_allclose(weighted.b, longer.b, rtol=1e-9)


def test_sparse_and_single_precision_samples_give_the_same_model():
    problem = random_problem(13, "class")
    single = problem.X.astype(np.float32)
    expected = newton(
        ChanceProblem(
            single.astype(float),
            problem.signs,
            problem.costs,
            problem.uncertainty,
            problem.kappa,
        )
    )
    for X in (single, sparse.csr_array(single.astype(float))):
        found = newton(
            ChanceProblem(
                X, problem.signs, problem.costs, problem.uncertainty, problem.kappa
            )
        )
        assert found.certificate.gap <= 1e-9 * found.objective
        assert_allclose(found.w, expected.w, rtol=1e-8)


def test_limits_are_kept_and_reported():
    problem = random_problem(14, "diagonal")
    short = newton(problem, max_iter=2)
    assert short.status == "max_iter"
    whole = newton(problem)
    assert_certified(problem, short, relative=1.001, best=(whole.w, whole.b))
    late = newton(problem, deadline=Deadline.after(1e-9))
    assert late.status == "max_time"
    assert late.objective <= objective(problem, np.zeros(4), 0.0)


def test_the_monitor_sees_every_stage():
    seen = []
    solution = newton(random_problem(15, "class"), monitor=seen.append)
    assert seen == solution.history
    assert {"stage", "size", "seconds", "objective", "gap", "width"} <= seen[0].keys()

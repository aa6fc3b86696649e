"""The stochastic method: the published step by its formula, and what repairs it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from widemargin import _core
from widemargin.estimators.chance_constrained.block_sources import in_memory
from widemargin.estimators.chance_constrained.chance_problem import (
    ChanceProblem,
    objective,
)
from widemargin.estimators.chance_constrained.descent import (
    Descent,
    cost_sums,
    draw_order,
    make_rule,
    visited,
)
from widemargin.estimators.chance_constrained.first_pass import BlockProblems
from widemargin.estimators.chance_constrained.smoothed_newton import newton
from widemargin.estimators.chance_constrained.stochastic import (
    refit,
    scores_of,
    stochastic,
)
from widemargin.runtime.deadline import Deadline

from .uncertain import KINDS, certain, covariance_matrices, random_problem


def published_steps(problem, order):
    """Follow equation (17) of the paper in numpy, sample by sample."""
    m, d = problem.shape
    matrices = covariance_matrices(problem)
    w, b = np.zeros(d), 0.0
    for t, i in enumerate(order, start=1):
        mean, sign = problem.X[i], problem.signs[i]
        spread = np.sqrt(w @ matrices[i] @ w)
        violated = sign * (w @ mean + b) < 1.0 + problem.kappa * spread
        pull = sign * mean
        if spread > 0.0:
            pull = pull - problem.kappa * matrices[i] @ w / spread
        step = m * problem.costs[i] / t
        w = (1.0 - 1.0 / t) * w + step * violated * pull
        if problem.fit_intercept:
            b += step * violated * sign
    return w, b


def refined_steps(problem, order, radius):
    """Follow the refined method in numpy; the average is a weighted sum of iterates."""
    m, d = problem.shape
    matrices, iterates = covariance_matrices(problem), []
    w, b = np.zeros(d), 0.0
    delay = 4.0 * sum(
        cost * (mean @ mean)
        for cost, mean in zip(problem.costs, problem.X, strict=True)
    )
    for t, i in enumerate(order, start=1):
        mean, sign, cost = problem.X[i], problem.signs[i], problem.costs[i]
        spread = np.sqrt(w @ matrices[i] @ w)
        violated = sign * (w @ mean + b) < 1.0 + problem.kappa * spread
        pull = sign * mean
        if spread > 0.0:
            pull = pull - problem.kappa * matrices[i] @ w / spread
        clock = t + delay
        w = (1.0 - 1.0 / clock) * w + m * cost / clock * violated * pull
        if problem.fit_intercept:
            b += violated * sign * cost / problem.costs.mean() / np.sqrt(t)
        w = w * min(1.0, radius / np.linalg.norm(w))
        iterates.append((*w, b))
    times = np.arange(1, len(order) + 1, dtype=float)
    late = times * (times + 1.0) * (times + 2.0)
    average = late @ np.array(iterates) / late.sum()
    return iterates[-1], average


def run(problem, order, refined=False, **changes):
    rule = make_rule(cost_sums(problem), problem.kappa, problem.fit_intercept, refined)
    rule = rule._replace(**changes)
    start = Descent.start(problem.shape[1])
    return visited(problem, np.asarray(order, dtype=np.int64), rule, start)


def solved(problem, **options):
    """Run the solver on one problem in memory."""
    (solution,) = stochastic(in_memory([BlockProblems.of([problem])]), **options)
    return solution


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_compiled_loop_follows_the_published_formula(kind, fit_intercept):
    problem = random_problem(0, kind, fit_intercept=fit_intercept)
    order = np.random.default_rng(0).integers(40, size=200)
    descent = run(problem, order)
    w, b = published_steps(problem, order)
    assert_allclose(descent.w, w, rtol=1e-9)
    assert_allclose(descent.b, b, rtol=1e-9)
    assert descent.steps == 200


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("small", [True, False])
def test_compiled_loop_follows_the_refined_formula(kind, fit_intercept, small):
    problem = random_problem(0, kind, fit_intercept=fit_intercept)
    order = np.random.default_rng(0).integers(40, size=200)
    masses = [problem.costs[problem.signs == sign].sum() for sign in (1.0, -1.0)]
    radius = np.sqrt(2.0 * min(masses) if fit_intercept else sum(masses))
    changes = {}
    if small:  # so small that the projection does something
        changes["radius"] = radius = 0.05
    descent = run(problem, order, refined=True, **changes)
    last, average = refined_steps(problem, order, radius)
    assert_allclose([*descent.w, descent.b], last, rtol=1e-9)
    assert_allclose([*descent.mean_w, descent.mean_b], average, rtol=1e-9)
    at_the_border = np.linalg.norm(descent.w) > radius * (1.0 - 1e-12)
    assert at_the_border == small


def test_certain_samples_without_intercept_are_pegasos():
    """Equation (12): lambda = 1 / (C m), step 1 / (lambda t)."""
    problem = random_problem(1, "certain", fit_intercept=False)
    problem = ChanceProblem(
        problem.X, problem.signs, np.full(40, 0.5), problem.uncertainty, 3.0, False
    )
    order = np.random.default_rng(1).integers(40, size=300)
    w, rate = np.zeros(4), 0.5 * 40
    for t, i in enumerate(order, start=1):
        violated = problem.signs[i] * (w @ problem.X[i]) < 1.0
        w = (1.0 - 1.0 / t) * w
        w = w + (rate / t) * violated * problem.signs[i] * problem.X[i]
    assert_allclose(run(problem, order).w, w, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("refined", [True, False])
def test_the_first_step_from_zero_is_finite(kind, refined):
    problem = random_problem(2, kind)
    descent = run(problem, [5], refined)
    for value in (descent.w, descent.b, descent.mean_w, descent.mean_b):
        assert np.all(np.isfinite(value))
    expected = problem.signs[5] * problem.X[5]  # no pull of the norm at w = 0
    assert_allclose(
        descent.w / np.linalg.norm(descent.w), expected / np.linalg.norm(expected)
    )


def test_sparse_and_single_precision_take_the_same_steps():
    problem = random_problem(3, "class")
    single = problem.X.astype(np.float32)
    order = np.random.default_rng(3).permutation(40)

    def with_samples(X):
        return ChanceProblem(
            X, problem.signs, problem.costs, problem.uncertainty, problem.kappa
        )

    expected = run(with_samples(single.astype(float)), order)
    for X in (single, sparse.csr_array(single), sparse.csr_array(single.astype(float))):
        assert_allclose(run(with_samples(X), order).w, expected.w, rtol=1e-9)
    wide = sparse.csr_array(single.astype(float))
    wide.indices, wide.indptr = wide.indices.astype("i8"), wide.indptr.astype("i8")
    assert_allclose(run(with_samples(wide), order).w, expected.w, rtol=1e-9)


def test_refit_is_the_best_scale_and_intercept():
    problem = random_problem(4, "diagonal")
    w = 1.0 + 0.3 * np.random.default_rng(4).normal(size=4)
    best_w, best_b = refit(scores_of(problem, w), w, problem.kappa, True)
    value = objective(problem, best_w, best_b)
    assert_allclose(best_w / best_w[0], w / w[0], rtol=1e-12)
    for scale in (0.9, 0.999, 1.001, 1.1):
        for shift in (-0.1, -1e-3, 0.0, 1e-3, 0.1):
            moved = objective(problem, scale * best_w, best_b + shift)
            assert moved >= value * (1.0 - 1e-12)


def test_refined_comes_within_a_percent_and_published_does_not():
    problem = random_problem(5, "class", n=400, d=6)
    exact = newton(problem)
    assert exact.certificate.gap <= 1e-9 * exact.objective
    runs = {
        refine: solved(problem, epochs=50, refine=refine, rng=np.random.default_rng(0))
        for refine in (True, False)
    }
    for solution in runs.values():
        assert solution.certificate.bound is None
        assert solution.certificate.gap is None
        assert_allclose(
            solution.objective, objective(problem, solution.w, solution.b), rtol=1e-12
        )
    assert exact.objective <= runs[True].objective <= 1.01 * exact.objective
    assert runs[False].objective > 1.02 * exact.objective
    epochs = [stage["size"] for stage in runs[False].history]
    assert epochs == [1, 2, 5, 10, 20, 50]


def test_permutations_visit_everybody_and_replacement_does_not():
    rng = np.random.default_rng(6)
    assert sorted(draw_order(50, "permutation", rng)) == list(range(50))
    drawn = draw_order(50, "replacement", rng)
    assert len(drawn) == 50
    assert len(set(drawn.tolist())) < 50


def test_same_seed_same_model_and_workers_are_averaged():
    problem = random_problem(7, "class", n=400, d=5)
    models = [
        solved(
            problem, epochs=20, rng=np.random.default_rng(1), workers=workers
        ).objective
        for workers in (1, 1, 2, 3)
    ]
    assert models[0] == models[1]
    exact = newton(problem).objective
    assert max(models) <= 1.05 * exact


def test_time_limit_ends_the_epochs():
    solution = solved(
        random_problem(8, "class"),
        epochs=10_000,
        rng=np.random.default_rng(0),
        deadline=Deadline.after(
            1e-9
        ),  # over before the first epoch is, however fast the machine
    )
    assert solution.status == "max_time"
    assert [stage["size"] for stage in solution.history] == [1, 1]  # epoch, refit
    assert np.isfinite(solution.objective)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": np.array([40])}, "bad order"),
        ({"order": np.array([-1])}, "bad order"),
        ({"costs": np.ones(39)}, "lengths differ"),
        ({"groups": np.full(40, 2)}, "bad covariance entry"),
        ({"data": np.ones((40, 3))}, "wrong shape"),
        ({"data": np.ones((40, 4), dtype=np.float16)}, "float32 or float64"),
    ],
)
def test_compiled_loop_refuses_what_does_not_fit(change, message):
    problem = random_problem(9, "class")
    arguments = {
        "data": problem.X,
        "indices": None,
        "offsets": None,
        "table": problem.uncertainty.table.entries,
        "kind": "f",
        "groups": problem.uncertainty.groups,
        "signs": problem.signs,
        "costs": problem.costs,
        "order": np.arange(40),
        "w": np.zeros(4),
        "mean_w": np.zeros(4),
        "b": 0.0,
        "mean_b": 0.0,
        "steps": 0,
        "kappa": 3.0,
        "rows_total": 40.0,
        "fit_intercept": True,
        "refined": False,
        "radius": 1.0,
        "delay": 0.0,
        "unit_of_cost": 1.0,
    }
    with pytest.raises((ValueError, TypeError), match=message):
        _core.subgradient_pass(**(arguments | change))


def test_rule_has_the_radius_of_the_dual():
    problem = random_problem(10, "certain")
    rule = make_rule(cost_sums(problem), 3.0, True, True)
    exact = newton(problem)
    assert np.linalg.norm(exact.w) <= rule.radius
    masses = [problem.costs[problem.signs == sign].sum() for sign in (1.0, -1.0)]
    assert_allclose(rule.radius**2, 2.0 * min(masses))
    squared = problem.costs @ np.square(problem.X).sum(axis=1)
    assert_allclose(rule.delay, 4.0 * squared)
    assert certain(3, 2).spread(np.ones(2)).sum() == 0.0

"""Starts at vertices and proofs that share kernel values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin import QuantileSVR
from widemargin.engine import shared_proof, vertex_starts
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Laplacian, Linear, Sigmoid
from widemargin.engine.problem import DualProblem
from widemargin.engine.shared_proof import proved_together
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.engine.verification import verify_change, verify_changes
from widemargin.engine.vertex_starts import MANY
from widemargin.engine.vertex_starts import vertex_starts as found_starts
from widemargin.estimators.quantile_svr import pinball_terms
from widemargin.runtime.deadline import NEVER, Deadline

QUANTILES = (0.2, 0.5, 0.9)
LATER = SolveOptions(certify=False, proved_later=True)


def regression(n=MANY, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + (0.3 + 0.2 * X[:, 2] ** 2) * rng.normal(size=n)
    return X, y, rng.uniform(0.5, 2.0, n)


def quantile_problems(quantiles=QUANTILES, total=0.0, kernel=None, threads=1, n=MANY):
    X, y, costs = regression(n)
    gram = Gram(X, kernel or Gaussian(0.3), cache_mb=100, threads=threads)
    return [
        DualProblem(gram, *pinball_terms(y, costs, q, total)) for q in quantiles
    ]  # fmt: skip


def true_violation(problem, beta, values):
    gradient = values - problem.linear
    lowest = gradient[beta < problem.upper].min()
    return gradient[beta > problem.lower].max() - lowest


@pytest.mark.parametrize(
    ("total", "quantiles"), [(0.0, QUANTILES), (None, QUANTILES), (0.0, (0.5,))]
)
def test_every_sample_begins_at_a_bound_with_its_products_bounded(total, quantiles):
    problems = quantile_problems(quantiles, total)
    gram = problems[0].gram
    starts = found_starts(problems, 0, NEVER)
    assert starts is not None
    for problem, start in zip(problems, starts, strict=True):
        between = (start.beta > problem.lower) & (start.beta < problem.upper)
        assert np.count_nonzero(between) <= (0 if total is None else 1)
        if total is not None:
            assert_allclose(start.beta.sum(), total, atol=1e-9)
        truth, rounding = gram.bounded_times(start.beta, np.arange(gram.n))
        off = np.abs(start.values - truth)
        assert np.all(off <= start.checked.errors + rounding)
        assert start.checked.errors.max() < 1e-6


def test_solves_from_vertices_evaluate_less_and_reach_the_same_minimum():
    several = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    cold = [solve(problem) for problem in quantile_problems(several)]
    before = cold[0].problem.gram.evaluated
    problems = quantile_problems(several)
    gram = problems[0].gram
    starts = found_starts(problems, 0, NEVER)
    found = [
        solve(problem, LATER, start=start)
        for problem, start in zip(problems, starts, strict=True)
    ]
    found = proved_together(gram, found, LATER)
    assert gram.evaluated < 0.6 * before
    for one, other in zip(cold, found, strict=True):
        assert other.status == Status.CONVERGED
        assert other.proved_violation <= 1e-3
        gap = one.certificate.gap + other.certificate.gap
        off = one.certificate.objective - other.certificate.objective
        assert abs(off) <= gap
        truth = gram.times(other.beta)
        assert other.proved_violation >= true_violation(
            other.problem, other.beta, truth
        )
        assert np.all(np.abs(truth - other.checked.values) <= 2 * other.checked.errors)


def test_changes_proved_together_are_those_proved_alone():
    problems = quantile_problems()
    gram = problems[0].gram
    starts = found_starts(problems, 0, NEVER)
    rng = np.random.default_rng(1)
    betas = np.array([start.beta for start in starts])
    betas[:, rng.permutation(gram.n)[:900]] *= 0.5
    points = [start.known_point() for start in starts]
    together = verify_changes(gram, points, betas)
    for problem, point, beta, found in zip(
        problems, points, betas, together, strict=True
    ):
        alone = verify_change(problem, point.known, point.beta, beta)
        assert np.all(found.summed)
        assert np.all(np.abs(found.values - alone.values) <= found.errors)
        assert found.errors.max() < 1e-6


def test_few_changes_are_proved_row_by_row(monkeypatch):
    problems = quantile_problems(quantiles=(0.4, 0.5))
    starts = found_starts(problems, 0, NEVER)
    found = [
        solve(problem, LATER, start=start)
        for problem, start in zip(problems, starts, strict=True)
    ]
    changed = sum(
        np.count_nonzero(one.beta != start.beta)
        for one, start in zip(found, starts, strict=True)
    )
    gram = problems[0].gram
    assert changed < gram.n
    monkeypatch.delattr(shared_proof, "verify_changes")  # it is not called
    before = gram.entries["certificate"]
    proved = proved_together(gram, found, LATER)
    assert gram.entries["certificate"] - before == changed * gram.n
    assert all(one.proved_violation <= 1e-3 for one in proved)


def test_what_is_left_by_rounding_is_solved_further():
    problems = quantile_problems(quantiles=(0.5, 0.7))
    starts = found_starts(problems, 0, NEVER)
    loose = SolveOptions(tol=0.05, certify=False)
    found = [
        solve(problem, loose, start=start)
        for problem, start in zip(problems, starts, strict=True)
    ]
    proved = proved_together(problems[0].gram, found, LATER)
    for one, before in zip(proved, found, strict=True):
        assert one.status == Status.CONVERGED
        assert one.proved_violation <= 1e-3
        assert one.n_iter > before.n_iter


def test_a_fit_of_several_quantiles_has_the_same_bits_for_any_number_of_threads():
    X, y, weights = regression()
    settings = {"quantile": QUANTILES, "C": 2.0, "gamma": 0.3, "calibrate": False}
    models = [
        QuantileSVR(n_jobs=jobs, **settings).fit(X, y, weights) for jobs in (1, 2, 3)
    ]
    for model in models:
        assert_array_equal(model.dual_coef_, models[0].dual_coef_)
        assert_array_equal(model.intercept_, models[0].intercept_)
        for own, other in zip(model.certificate_, models[0].certificate_, strict=True):
            assert (own.objective, own.bound) == (other.objective, other.bound)
        assert [record["kkt_violation"] for record in model.history_] == [
            own.kkt_violation for own in model.certificate_
        ]


@pytest.mark.parametrize(
    "kernel", [Linear(), Sigmoid(0.1, 0.0)], ids=["linear", "tanh"]
)
def test_other_problems_begin_at_the_origin(kernel):
    assert found_starts(quantile_problems(kernel=kernel), 0, NEVER) is None
    assert found_starts(quantile_problems(n=MANY - 1), 0, NEVER) is None


def test_a_start_leaves_time_for_the_solve(monkeypatch):
    assert found_starts(quantile_problems(), 0, Deadline.after(1e-3)) is None
    begun = Deadline.after(1e4)
    assert found_starts(quantile_problems(), 0, begun) is not None
    monkeypatch.setattr(vertex_starts, "LONG", 0.0)  # products would take longer
    assert found_starts(quantile_problems(), 0, begun) is None


def test_differences_of_samples_give_vertices_too():
    problems = quantile_problems(kernel=Laplacian(0.3))
    starts = found_starts(problems, 0, NEVER)
    assert starts is not None
    found = solve(problems[1], start=starts[1])
    assert found.proved_violation <= 1e-3

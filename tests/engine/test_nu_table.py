"""Small problems with a second sum in one compiled call, and their certificates."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from widemargin import SVC, SVR, NuSVC, NuSVR
from widemargin.engine.gram import Gram
from widemargin.engine.kernel_table import BatchOptions, KernelTable
from widemargin.engine.kernels import Gaussian, Polynomial, Sigmoid
from widemargin.engine.nu import NuAnswer, NuProblem, NuSolution, nu_answers, nu_batch
from widemargin.engine.nu.nu_table import _whole_solution
from widemargin.engine.shared_rows import row_segments
from widemargin.engine.status import Status

from tests.problems import standard

KERNELS = [Gaussian(0.1), Polynomial(2, 0.1, 1.0)]


def patients(n):
    X, y = load_diabetes(return_X_y=True)
    return standard(X[:n]), (y[:n] - y.mean()) / y.std()


def cells(n):
    X, y = load_breast_cancer(return_X_y=True)
    return standard(X[:n, :6]), np.where(y[:n] == 1, 1.0, -1.0)


def origin_of(X, y, kernel, nu, *, has_margin, rng=None):
    weights = np.ones(y.size) if rng is None else rng.uniform(0.2, 3.0, y.size)
    gram = Gram(X, kernel)
    if not has_margin:
        budget = nu * weights.sum()
        return NuProblem(gram, y, -weights, weights, True, budget, has_margin=False)
    ends = y * weights
    budget = nu * 2.0 * min(weights[y > 0].sum(), weights[y < 0].sum())
    box = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
    return NuProblem(gram, np.zeros(y.size), *box, True, budget, has_margin=True)


def solved_batch(origin, **options):
    batch, start = nu_batch([np.arange(origin.gram.n)], [origin])
    chosen = BatchOptions(from_vertex=origin.has_margin, **options)
    return KernelTable(origin.gram).solve(batch, chosen, start)


def test_rows_evaluated_as_needed_are_not_all_needed_for_the_start():
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(4), 300)
    X = rng.standard_normal((1200, 5)) + 2.0 * np.eye(5)[labels]
    gram = Gram(X, Gaussian(0.2))
    rows, origins = [], []
    for one, other in combinations(range(4), 2):
        members = np.flatnonzero((labels == one) | (labels == other))
        ends = np.where(labels[members] == one, 1.0, -1.0)
        box = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
        rows.append(members)
        origins.append(
            NuProblem(gram.subset(members), np.zeros(600), *box, True, 120.0,
                      has_margin=True)
        )  # fmt: skip
    batch, start = nu_batch(rows, origins)
    found = []
    for threads in (1, 2):
        segments = row_segments(1200, batch.offsets, batch.members, threads)
        table = KernelTable(gram, segments=segments)
        options = BatchOptions(from_vertex=True, threads=threads)
        found.append(table.solve(batch, options, start))
        assert table.entries["tables"] <= 0.75 * 1200**2  # the centre would need all
    assert {status.value for status in found[0].status} == {"polished"}
    assert_array_equal(found[0].beta, found[1].beta)
    whole = KernelTable(gram).solve(batch, BatchOptions(from_vertex=True), start)
    assert_allclose(found[0].figures[:, 1], whole.figures[:, 1], rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("polish", ["always", "never"])
@pytest.mark.parametrize("has_margin", [True, False])
@pytest.mark.parametrize("n", [60, 400])
def test_figures_are_those_of_the_solution_by_itself(kernel, polish, has_margin, n):
    X, y = cells(n) if has_margin else patients(n)
    rng = np.random.default_rng(n)
    origin = origin_of(X, y, kernel, 0.4, has_margin=has_margin, rng=rng)
    solved = solved_batch(origin, polish=polish)
    (answer,) = nu_answers(solved, [origin], 1e-3)
    alone = _whole_solution(solved, 0, origin, 1e-3)
    assert isinstance(answer, NuAnswer)
    assert isinstance(alone, NuSolution)
    assert_array_equal(answer.beta, alone.beta)
    assert_allclose(answer.intercept, alone.intercept, atol=1e-12)
    one, other = answer.certificate, alone.certificate
    assert one.status == ("polished" if polish == "always" else "converged")
    assert_allclose(one.objective, other.objective, rtol=1e-11)
    assert_allclose(one.bound, other.bound, rtol=1e-11)
    assert one.gap >= one.objective - one.bound > 0.0
    assert_allclose(one.kkt_violation, other.kkt_violation, atol=1e-13)
    unit = origin.unit(answer.multiplier)
    assert_allclose(np.abs(unit * answer.beta).sum(), origin.budget, rtol=1e-12)
    assert_allclose(answer.beta.sum(), 0.0, atol=1e-11)


def test_nothing_is_claimed_of_a_kernel_that_is_not_convex():
    X, y = cells(100)
    origin = origin_of(X, y, Sigmoid(0.05, 0.0), 0.5, has_margin=True)
    (answer,) = nu_answers(solved_batch(origin), [origin], 1e-3)
    assert answer.certificate.bound is None
    assert answer.certificate.gap is None
    assert answer.certificate.kkt_violation <= 1e-3


def test_what_has_no_point_on_both_sums_or_no_tube_is_left_open():
    X, y = patients(41)
    all_of_it = origin_of(X, y, Gaussian(0.1), 1.0, has_margin=False)
    assert nu_batch([np.arange(41)], [all_of_it]) is None  # one row would be on both
    X = np.linspace(0.0, 6.0, 40)[:, None]
    slack = origin_of(X, np.sin(X[:, 0]), Gaussian(1.0), 0.9, has_margin=False)
    wide = np.full(40, 100.0)
    slack = NuProblem(slack.gram, slack.linear, -wide, wide, True, 3600.0, False)
    assert nu_answers(solved_batch(slack), [slack], 1e-3) == [None]
    model = NuSVR(nu=0.9, C=100.0, gamma=1.0).fit(X, np.sin(X[:, 0]))
    assert model.epsilon_ == 0.0  # and the search finds it
    assert model.certificate_.gap <= 1e-3


def test_small_fits_are_one_call(monkeypatch):
    def searched(*_, **__):
        raise AssertionError("the compiled call has solved it")

    monkeypatch.setattr("widemargin.estimators.base.nu.solve_nu", searched)
    X, y = patients(200)
    regression = NuSVR(nu=0.3).fit(X, y)
    same = SVR(epsilon=regression.epsilon_).fit(X, y)
    assert_allclose(regression.predict(X), same.predict(X), atol=1e-8)
    X, y = load_iris(return_X_y=True)
    classifier = NuSVC(nu=0.3, decision_function_shape="ovo").fit(X[:100], y[:100])
    same = SVC(C=1.0 / classifier.rho_[0]).fit(X[:100], y[:100])
    found = classifier.decision_function(X), same.decision_function(X)
    assert_allclose(*found, atol=1e-8)
    model = NuSVC(nu=0.3).fit(X, y)
    assert [c.status for c in model.certificate_] == [Status.POLISHED.value] * 3
    assert [record["stage"] for record in model.history_] == ["solve"] * 3


def test_threads_change_no_bit():
    X, y = load_iris(return_X_y=True)
    one, two = (NuSVC(nu=0.3, n_jobs=threads).fit(X, y) for threads in (1, 2))
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.rho_, two.rho_)

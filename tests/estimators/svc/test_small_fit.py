"""Fits on few rows: all pairs in one compiled call, over one kernel matrix."""

import cProfile
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.svm import SVC as LibSVC

from widemargin import SVC, SVR, CostSensitiveSVC, QuantileSVR
from widemargin.engine import problem_batches, update_routes
from widemargin.engine.batch_certificates import certify_batch
from widemargin.engine.gram import Gram
from widemargin.engine.kernel_table import BatchOptions, KernelTable
from widemargin.engine.kernels import Gaussian, Polynomial, Precomputed, Sigmoid
from widemargin.engine.problem import Terms, hinge_terms
from widemargin.engine.problem_batches import batch_of, solve_together
from widemargin.estimators.base import small_fit
from widemargin.estimators.base.multiclass import (
    BinaryTask,
    class_pairs,
    samples_of_classes,
)

from tests.certified import kernel_matrix, truth_of
from tests.oracles.claims import assert_claims_hold
from tests.problems import standard
from tests.refits import weigh_every_way


def some_digits(n=600):
    X, y = load_digits(return_X_y=True)
    return np.ascontiguousarray(X[:n] / 16.0), y[:n]


def pairs_of(X, y, kernel, C=1.0, total=0.0, **options):
    """Return all pairs of classes solved in one batch."""
    gram = Gram(X, kernel)
    pairs = class_pairs(int(y.max()) + 1)
    tasks = [
        BinaryTask(gram, samples.rows, samples.y, np.full(samples.y.size, C), *pair)
        for pair, samples in zip(pairs, samples_of_classes(y, pairs), strict=True)
    ]
    terms = hinge_terms(
        np.concatenate([task.y for task in tasks]),
        np.concatenate([task.costs for task in tasks]),
        total is not None,
    )
    batch = batch_of(tasks, terms)
    assert batch is not None
    return solve_together(gram, batch, BatchOptions(**options), None)


@pytest.fixture
def batches(monkeypatch):
    """Count the fits that went together."""
    seen = []
    original = small_fit.solve_together

    def counted(gram, batch, *rest):
        seen.append(batch.count)
        return original(gram, batch, *rest)

    monkeypatch.setattr(small_fit, "solve_together", counted)
    return seen


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_small_fits_are_exact_and_those_of_scikit_learn(load, fit_intercept, batches):
    X, y = load(return_X_y=True)
    X = standard(X)
    model = SVC(fit_intercept=fit_intercept).fit(X, y)
    classes = model.classes_.size
    assert batches == [classes * (classes - 1) // 2]
    for certificate in np.atleast_1d(model.certificate_):
        assert certificate.status == "polished"
        assert certificate.kkt_violation < 1e-9
        assert 0.0 <= certificate.gap < 1e-8 * (1.0 + certificate.objective)
    if fit_intercept:
        reference = LibSVC(tol=1e-8).fit(X, y)
        assert_allclose(
            model.decision_function(X), reference.decision_function(X), atol=1e-5
        )


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.3), Polynomial(2, 0.1, 1.0), Sigmoid(0.01, 0.0), Precomputed()],
    ids=lambda kernel: type(kernel).__name__,
)
@pytest.mark.parametrize("total", [0.0, None])
@pytest.mark.parametrize("polish", ["always", "never"])
def test_certificates_of_many_are_true_and_those_of_each(kernel, total, polish):
    X, y = load_iris(return_X_y=True)
    X = standard(X)
    if isinstance(kernel, Precomputed):
        X = kernel_matrix(Gaussian(0.3), X)
    solved = pairs_of(X, y, kernel, C=2.0, total=total, polish=polish)
    intercepts, certificates = certify_batch(solved)
    for number, certificate in enumerate(certificates):
        solution = solved.solution(number)
        alone = solution.certificate
        assert_allclose(intercepts[number], solution.intercept, atol=1e-12)
        assert_allclose(certificate.objective, alone.objective, rtol=1e-12)
        assert_allclose(certificate.kkt_violation, alone.kkt_violation, atol=1e-15)
        assert (certificate.bound is None) == (alone.bound is None)
        if alone.bound is not None:
            assert_allclose(certificate.bound, alone.bound, rtol=1e-11)
        unprovable = alone.bound is None
        assert_claims_hold(certificate, truth_of(solution), may_lack_bound=unprovable)


def test_a_fit_that_keeps_its_rows_has_the_figures_of_its_solve(monkeypatch):
    """They are not computed again, and say what an independent computation says."""
    X, y = load_breast_cancer(return_X_y=True)
    X = standard(X)

    def computed_again(*_):
        raise AssertionError("the solve has proved a certificate")

    with monkeypatch.context() as patch:
        patch.setattr("widemargin.engine.solution.certify", computed_again)
        kept, plain = SVC(keep_rows=True).fit(X, y), SVC().fit(X, y)
    state = kept._updates.tasks[0]
    alone = state.solution(Gram(X, kept._kernel)).verified()
    assert_allclose(alone.certificate.objective, kept.certificate_.objective, rtol=1e-9)
    assert kept.certificate_.gap <= 1e-6
    assert_allclose(alone.intercept, kept.intercept_[0], atol=1e-9)
    assert_allclose(plain.intercept_, kept.intercept_, atol=1e-9)
    moved = kept.partial_fit(X[:1], y[:1]).certificate_  # of other values
    assert moved.objective != plain.certificate_.objective


def test_a_certificate_without_room_for_the_sum_is_made_alone():
    """Equal costs, all at a bound: no member can take up the rounding of the sum."""
    X = np.array([[0.0], [0.0], [0.1], [0.1]])
    solved = pairs_of(X, np.array([0, 1, 0, 1]), Gaussian(1.0), C=0.1)
    assert (np.abs(solved.beta) == 0.1).all()
    _, (certificate,) = certify_batch(solved)
    assert_claims_hold(certificate, truth_of(solved.solution(0)), may_lack_bound=False)
    assert certificate.gap <= 1e-9


def test_certificates_of_many_share_the_time_and_claim_nothing_of_what_is_not_convex():
    X, y = load_iris(return_X_y=True)
    solved = pairs_of(standard(X), y, Gaussian(0.3))
    _, certificates = certify_batch(solved)
    assert_allclose(sum(each.seconds for each in certificates), solved.seconds)
    figures = solved.figures.copy()
    figures[1, 1] = np.inf  # an objective that no number holds
    with pytest.raises(ValueError, match="not finite"):
        certify_batch(replace(solved, figures=figures))
    signs = np.where(np.arange(150) % 2, 1.0, -1.0)
    matrix = kernel_matrix(Gaussian(0.3), standard(X)) - 0.2 * np.outer(signs, signs)
    solved = pairs_of(matrix, y, Precomputed(), C=2.0)
    assert solved.repaired.any()  # with figures of their own, which prove nothing here
    _, certificates = certify_batch(solved)
    assert all(each.bound is None and each.gap is None for each in certificates)


def test_entries_stay_near_the_union_over_pairs(monkeypatch):
    X, y = some_digits(1000)
    tables = []

    class Seen(KernelTable):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            tables.append(self)

    monkeypatch.setattr(problem_batches, "KernelTable", Seen)
    model = SVC(gamma=0.05).fit(X, y)
    union = 0.5 * X.shape[0] * (X.shape[0] + 1)  # every two rows are in some pair
    (table,) = tables
    assert table.entries["tables"] <= 1.15 * union
    assert sum(table.entries.values()) <= 1.4 * union  # and the certificates'
    assert len(model.certificate_) == 45


def test_ten_classes_with_one_missing_in_the_weights(batches):
    X, y = some_digits()
    weights = np.where(y == 4, 0.0, 1.0)
    weighted = SVC(gamma=0.05).fit(X, y, sample_weight=weights)
    without = SVC(gamma=0.05).fit(X[y != 4], y[y != 4])
    assert batches == [36, 36]
    assert_array_equal(weighted.classes_, without.classes_)
    assert_array_equal(weighted.dual_coef_, without.dual_coef_)
    assert_array_equal(weighted.intercept_, without.intercept_)
    assert_array_equal(weighted.support_, np.flatnonzero(y != 4)[without.support_])


def test_pairs_that_share_rows_are_those_of_each_pair_alone():
    X, y = some_digits()
    model = SVC(gamma=0.05, decision_function_shape="ovo").fit(X, y)
    decisions = model.decision_function(X[:50])
    column = 0
    for first in range(10):
        for second in range(first + 1, 10):
            own = (y == first) | (y == second)
            alone = SVC(gamma=0.05).fit(X[own], y[own])
            found = -alone.decision_function(X[:50])
            assert_allclose(decisions[:, column], found, atol=1e-8)
            column += 1


def test_one_and_two_threads_give_the_same_bits():
    X, y = some_digits(1200)
    one, two = (SVC(n_jobs=threads).fit(X, y) for threads in (1, 2))
    for name in ("dual_coef_", "intercept_", "support_", "n_iter_"):
        assert_array_equal(getattr(one, name), getattr(two, name), name)
    facts = [
        [(c.objective, c.bound, c.kkt_violation, c.status) for c in m.certificate_]
        for m in (one, two)
    ]
    assert facts[0] == facts[1]


def test_warm_starts_and_limits(batches):
    X, y = some_digits()
    model = SVC(gamma=0.05, warm_start=True).fit(X, y)
    coefficients = model.dual_coef_.copy()
    model.fit(X, y)
    assert model.n_iter_.max() == 0
    assert_allclose(model.dual_coef_, coefficients, atol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopped = SVC(gamma=0.05, max_time=1e-9).fit(X, y)
        assert {c.status for c in stopped.certificate_} == {"max_time"}
        assert len(batches) == 3
        SVC(gamma=0.05, max_iter=3).fit(X, y)
    assert len(batches) == 3  # limits of steps are those of the solver for each pair


def test_what_float32_cannot_solve_is_solved_further(batches):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 3))
    y = rng.integers(0, 3, 120)
    model = SVC(C=1e6, gamma=2.0).fit(X, y)
    assert batches == [3]
    for certificate in model.certificate_:
        assert certificate.status in ("converged", "polished")
        assert certificate.kkt_violation <= 1e-3


def test_other_estimators_go_together_too(batches):
    X, y = load_iris(return_X_y=True)
    CostSensitiveSVC(cost_positive=2.0).fit(X[:100], y[:100])
    QuantileSVR(quantile=[0.25, 0.75], calibrate=False).fit(X[:, :3], X[:, 3])
    SVR().fit(X[:, :3], X[:, 3])
    assert batches == [1, 2, 1]
    SVC(kernel="linear").fit(X, y)  # has faster ways
    assert batches == [1, 2, 1]


# ---- the polish --------------------------------------------------------------


def test_polish_is_a_choice():
    X, y = load_breast_cancer(return_X_y=True)
    X = standard(X)
    found = {p: SVC(polish=p).fit(X, y).certificate_ for p in ("auto", True, False)}
    assert found["auto"].status == found[True].status == "polished"
    assert found[False].status == "converged"
    assert 1e-9 < found[False].kkt_violation <= 1e-3
    with pytest.raises(ValueError, match="polish"):
        SVC(polish="never").fit(X, y)


def test_auto_leaves_a_large_margin_alone_and_true_does_not():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((900, 5)), rng.integers(0, 2, 900)
    auto, always = (SVC(gamma=5.0, C=10.0, polish=p).fit(X, y) for p in ("auto", True))
    assert auto.certificate_.status == "converged"
    assert always.certificate_.status == "polished"


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_first_path_of_an_unpolished_model_is_exact(kernel, monkeypatch):
    weigh_every_way(monkeypatch)
    monkeypatch.setattr(update_routes, "BASE", 6e-3)  # of Newton's method, linear
    X, y = load_iris(return_X_y=True)
    X = standard(X)
    settings = {"kernel": kernel, "gamma": 0.3, "keep_rows": True}
    model = SVC(polish=False, **settings).fit(X[:148], y[:148])
    model.partial_fit(X[148:], y[148:])
    assert model.history_[-1]["route"] == "path"
    fresh = SVC(polish=True, **settings).fit(X, y)
    assert_allclose(model.decision_function(X), fresh.decision_function(X), atol=1e-7)


# ---- predictions of few rows -------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": "rbf"},
        {"kernel": "laplacian"},
        {"kernel": "poly", "coef0": 1.0},
        {"kernel": "sigmoid", "gamma": 0.01},
    ],
    ids=lambda settings: settings["kernel"],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_single_rows_have_the_values_of_many(settings, dtype, classes):
    X, y = some_digits(400)
    X, y = X[y < classes].astype(dtype), y[y < classes]
    model = SVC(decision_function_shape="ovo", **settings).fit(X, y)
    together = model.decision_function(X)
    for row in range(5):
        alone = model.decision_function(X[row : row + 1])
        assert_allclose(alone[0], together[row], atol=1e-6)
        assert model.predict(X[row : row + 1])[0] == model.predict(X)[row]


def test_single_rows_where_a_class_has_no_support_vector_left():
    X, y = some_digits(200)
    X, y = X[y < 4], y[y < 4]
    settings = {"gamma": 0.05, "decision_function_shape": "ovo", "keep_rows": True}
    model = SVC(**settings).fit(X, y)
    model.forget(model.ids_[y == 1])
    assert model.n_support_[1] == 0 and model.classes_.size == 4
    together = model.decision_function(np.repeat(X, 10, axis=0))[::10]
    for row in range(5):
        alone = model.decision_function(X[row : row + 1])
        assert_allclose(alone[0], together[row], atol=1e-9)


CALLS = {load_iris: 380, load_breast_cancer: 320}  # of Python's functions and of C's


@pytest.mark.parametrize("load", CALLS)
def test_a_small_fit_is_few_calls(load):
    """Of half a millisecond they take more than half: with a bound more are seen."""
    X, y = load(return_X_y=True)
    X = standard(X)
    SVC().fit(X, y)  # what is made once
    profile = cProfile.Profile()
    profile.runcall(SVC().fit, X, y)
    assert sum(call.callcount for call in profile.getstats()) <= CALLS[load]


def test_boxes_that_a_batch_cannot_have():
    """An infinite price, one whose sum is none, and an origin outside."""
    for lower, upper in ([-1.0, np.inf], [-1e308, 1e308], [0.5, 1.0], [-1.0, -0.5]):
        task = BinaryTask(None, np.arange(2), np.ones(2), np.ones(2), 1, 0)
        box = np.full(2, lower), np.full(2, upper)
        assert batch_of([task], Terms(np.ones(2), *box, 0.0)) is None
    assert batch_of([task], Terms(np.ones(2), -np.ones(2), np.ones(2), 0.0)) is not None


def test_where_every_member_is_at_a_bound_the_compiled_call_proves_the_bound():
    """No member has room on both sides: one that grows, or one that falls, will do."""
    X, _ = some_digits(240)
    solved = pairs_of(X, np.resize([0, 1], 240), Gaussian(0.01), C=1e-3)
    edges = (solved.beta == solved.batch.lower) | (solved.beta == solved.batch.upper)
    assert edges.all() and solved.repaired.all()
    (certificate,) = certify_batch(solved)[1]
    assert_claims_hold(certificate, truth_of(solved.solution(0)))


def test_entries_between_support_vectors_are_evaluated_once_by_symmetry():
    X, y = some_digits()
    gram = Gram(X, Gaussian(0.01))
    task = BinaryTask(
        gram, np.arange(600), np.where(y < 5, 1.0, -1.0), np.ones(600), 1, 0
    )
    table = KernelTable(gram)
    batch = batch_of([task], hinge_terms(task.y, task.costs, True))
    solved = table.solve(batch, BatchOptions(polish="always"))
    near, support = int(solved.summed.sum()), int(np.count_nonzero(solved.beta))
    spent = table.entries["certificate"]
    assert spent <= support * (near - 0.5 * support) + 40 * near

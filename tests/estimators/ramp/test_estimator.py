"""RampSVC: what it promises, against SVC, against itself, and on bad input."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    make_moons,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVC, DivideConquerSVC, RampSVC
from widemargin.engine.gram import Gram
from widemargin.engine.screening.screener import Screener
from widemargin.engine.solution import Solution
from widemargin.estimators.ramp import estimator
from widemargin.estimators.ramp.concave_convex import RampProblem, stationarity


def moons(n=300, share=0.15, seed=0):
    """Two moons with a share of the labels flipped: samples, labels, who."""
    X, y = make_moons(n, noise=0.15, random_state=seed)
    flipped = np.random.default_rng(seed).choice(
        n, size=round(share * n), replace=False
    )
    y[flipped] = 1 - y[flipped]
    return X, y, flipped


def cancer(share=0.1, seed=0):
    X, y = load_breast_cancer(return_X_y=True)
    size = round(share * len(y))
    flipped = np.random.default_rng(seed).choice(len(y), size=size, replace=False)
    y[flipped] = 1 - y[flipped]
    return scale(X), y, flipped


def assert_certified(model, tol):
    certificates = model.certificate_
    for certificate in (
        certificates if isinstance(certificates, list) else [certificates]
    ):
        assert certificate.gap >= 0.0
        assert certificate.status in ("converged", "polished")
        assert certificate.kkt_violation <= 10 * tol


@parametrize_with_checks([RampSVC(), RampSVC(init="svm", screening="safe")])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("init", ["svm", "continuation", "out_of_fold"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_without_a_ceiling_it_is_the_plain_svm(init, kernel):
    X, y, _ = cancer()
    ramp = RampSVC(C=2.0, kernel=kernel, s=-np.inf, init=init).fit(X, y)
    plain = SVC(C=2.0, kernel=kernel, polish=True).fit(X, y)
    assert_certified(ramp, 1e-8)
    assert_allclose(ramp.objective_, plain.certificate_.objective, rtol=1e-9)
    assert_allclose(ramp.decision_function(X), plain.decision_function(X), atol=1e-6)
    assert ramp.outliers_.size == 0


def test_flipped_labels_are_named():
    X, y, flipped = moons()
    model = RampSVC(C=10.0, s=0.0, gamma=2.0).fit(X, y)
    assert_certified(model, 1e-8)
    caught = np.intersect1d(model.outliers_, flipped).size
    assert caught >= 0.9 * flipped.size
    assert caught >= 0.8 * model.outliers_.size
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert_array_equal(model.outliers_, np.flatnonzero(margins < 0.0))


def test_by_default_samples_far_on_the_wrong_side_are_given_up():
    X, y, flipped = moons()
    model = RampSVC(C=10.0, gamma=2.0).fit(X, y)
    assert model.s == RampSVC(s=-1.0).s
    assert_certified(model, 1e-8)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert_array_equal(model.outliers_, np.flatnonzero(margins < -1.0))
    assert model.outliers_.size > 30
    assert np.isin(model.outliers_, flipped).mean() > 0.95


def test_objective_is_the_primal_of_the_ramp():
    X, y, _ = moons(120)
    model = RampSVC(C=3.0, gamma=1.0, s=-0.5).fit(X, y)
    gram = Gram(X, model._kernel)
    beta = np.zeros(120)
    beta[model.support_] = model.dual_coef_[0]
    quadratic = beta @ gram.times(beta)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    loss = np.minimum(1.5, np.maximum(0.0, 1.0 - margins)).sum()
    assert_allclose(model.objective_, 0.5 * quadratic + 3.0 * loss, rtol=1e-9)


def test_objective_falls_over_the_history():
    X, y, _ = moons(3000, share=0.15)
    model = RampSVC(
        C=1.0, s=0.0, gamma=1.0, init="svm", tol=1e-6, screening="safe"
    ).fit(X, y)
    rounds = model.history_
    assert len(rounds) == model.n_cccp_iter_[0] >= 3
    assert {entry["stage"] for entry in rounds} == {"loose", "convex"}
    objectives = [entry["objective"] for entry in rounds]
    gaps = [entry["gap"] for entry in rounds]
    assert np.all(np.diff(objectives) <= np.maximum(gaps[:-1], gaps[1:]))
    exact = [e["objective"] for e in rounds if e["stage"] == "convex"]
    assert np.all(np.diff(exact) <= 1e-7 * exact[0])
    assert_allclose(model.objective_, objectives[-1], rtol=1e-12)
    for entry in rounds:
        assert {"size", "seconds", "gap", "clipped", "screened"} <= set(entry)
        assert entry["gap"] >= 0.0
        for check in entry["screened"]:
            assert 0.0 <= check["share"] <= 1.0 and check["gap"] >= 0.0
            assert 0 <= check["n_iter"] <= entry["n_iter"]
            assert 0.0 <= check["seconds"]
    # every round after the first is screened before its first step
    assert all(entry["screened"][0]["n_iter"] == 0 for entry in rounds[1:])


CONTESTANTS = [
    {"screening": screening, "shrinking": shrinking}
    for screening in ("safe", None)
    for shrinking in (True, False)
]


@pytest.mark.parametrize("init", ["svm", "continuation", "out_of_fold"])
@pytest.mark.parametrize("C", [0.5, 10.0])
def test_the_four_contestants_end_alike(init, C, monkeypatch):
    """Equal to 1e-9 where the clipped sets agree; else parted at the kink (5.5)."""
    # So few samples would not be screened at all.
    monkeypatch.setattr(estimator, "Screener", partial(Screener, smallest=0))
    X, y, _ = moons(400, share=0.1, seed=1)
    models = [
        RampSVC(C=C, s=0.0, gamma=1.0, init=init, **choice).fit(X, y)
        for choice in CONTESTANTS
    ]
    reference = models[0]
    for model, choice in zip(models, CONTESTANTS, strict=True):
        assert_certified(model, 1e-8)
        checks = [c for entry in model.history_ for c in entry.get("screened", [])]
        shares = [check["share"] for check in checks]
        assert max(shares, default=0.0) > 0.1 if choice["screening"] else not checks
    for model in models[1:]:
        parted = np.setxor1d(model.outliers_, reference.outliers_)
        if parted.size == 0:
            assert_allclose(model.objective_, reference.objective_, rtol=1e-9)
        else:
            margins = np.abs(reference.decision_function(X[parted]))
            assert np.all(margins <= 10 * reference.tol)


@pytest.mark.parametrize("screening", [None, "safe"])
@pytest.mark.parametrize("shrinking", [False, True])
def test_kernel_rows_are_not_evaluated_again_between_rounds(
    monkeypatch, screening, shrinking
):
    """A round asks for rows of samples that changed sides or are new, and no others."""
    solutions, evaluated = [], []
    original = RampSVC._solve

    def spy(self, *arguments, **wishes):
        solutions.append(original(self, *arguments, **wishes))
        evaluated.append(solutions[-1].problem.gram.evaluated)
        return solutions[-1]

    monkeypatch.setattr(RampSVC, "_solve", spy)
    n, probes = 3000, 64  # samples that the engine sums anew, as a check of roundings
    X, y, _ = moons(n, share=0.1)
    RampSVC(
        C=1.0,
        s=0.0,
        gamma=1.0,
        init="svm",
        cache_size=500,
        screening=screening,
        shrinking=shrinking,
    ).fit(X, y)
    assert len(solutions) >= 4
    assert len({id(solution.problem.gram) for solution in solutions}) == 1
    assert evaluated[0] >= n * 500
    # Shrinking leaves rows of the samples near the margin; the second round fills them.
    for k in range(2 if shrinking else 1, len(solutions)):
        before, after = solutions[k - 1], solutions[k]
        changed = np.count_nonzero(before.problem.lower != after.problem.lower)
        new = np.count_nonzero((before.beta == 0.0) & (after.beta != 0.0))
        support = np.count_nonzero(after.beta)
        asked = evaluated[k] - evaluated[k - 1]
        assert asked <= n * (changed + new + 1) + 2 * probes * support


def test_screening_is_offered_where_it_was_asked_for():
    """A plain SVM gains nothing by it: the table on the page."""
    assert "screening" in RampSVC().get_params()
    for other in (SVC, DivideConquerSVC):
        with pytest.raises(TypeError, match="screening"):
            other(screening="safe")


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weight_two_is_a_row_twice(fit_intercept):
    X, y, _ = moons(150)
    weights = np.ones(150)
    weights[:40] = 2.0
    options = {"C": 2.0, "s": 0.0, "gamma": 1.0, "fit_intercept": fit_intercept}
    weighted = RampSVC(**options).fit(X, y, sample_weight=weights)
    doubled = RampSVC(**options).fit(
        np.vstack([X, X[:40]]), np.concatenate([y, y[:40]])
    )
    assert_allclose(weighted.objective_, doubled.objective_, rtol=1e-9)
    assert_allclose(
        weighted.decision_function(X), doubled.decision_function(X), atol=1e-6
    )
    twice = doubled.outliers_[doubled.outliers_ < 150]
    assert_array_equal(weighted.outliers_, twice)


def test_rows_without_weight_are_absent_and_outliers_keep_their_numbers():
    X, y, _ = moons(200)
    weights = np.ones(200)
    weights[::5] = 0.0
    present = np.flatnonzero(weights)
    with_zeros = RampSVC(C=5.0, s=0.0, gamma=2.0).fit(X, y, sample_weight=weights)
    without = RampSVC(C=5.0, s=0.0, gamma=2.0).fit(X[present], y[present])
    assert_array_equal(with_zeros.outliers_, present[without.outliers_])


def test_class_weight_multiplies_the_costs():
    X, y, _ = moons(150)
    by_class = RampSVC(s=0.0, gamma=1.0, class_weight={0: 3.0}).fit(X, y)
    weights = np.where(y == 0, 3.0, 1.0)
    by_row = RampSVC(s=0.0, gamma=1.0).fit(X, y, sample_weight=weights)
    assert_allclose(by_class.objective_, by_row.objective_, rtol=1e-9)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    flipped = np.random.default_rng(0).choice(150, size=12, replace=False)
    noisy = y.copy()
    noisy[flipped] = (noisy[flipped] + 1) % 3
    model = RampSVC(C=10.0, s=0.0).fit(scale(X), noisy)
    assert_certified(model, 1e-8)
    assert model.objective_.shape == model.n_cccp_iter_.shape == (3,)
    assert np.intersect1d(model.outliers_, flipped).size >= 9
    assert model.score(scale(X), y) >= 0.93


def test_sparse_is_dense():
    X, y, _ = cancer()
    X[np.abs(X) < 0.5] = 0.0
    dense = RampSVC(s=0.0, gamma=0.05).fit(X, y)
    csr = RampSVC(s=0.0, gamma=0.05).fit(sparse.csr_matrix(X), y)
    assert_allclose(csr.objective_, dense.objective_, rtol=1e-9)
    assert_array_equal(csr.outliers_, dense.outliers_)


@pytest.mark.parametrize("solver", ["direct", "divide"])
def test_solver_by_division_reaches_the_same_kind_of_point(solver):
    X, y, flipped = moons(3000, share=0.1)
    choice = {"solver": solver, "init": "svm", "tol": 1e-6}
    model = RampSVC(C=1.0, s=0.0, gamma=2.0, **choice).fit(X, y)
    assert_certified(model, 1e-6)
    caught = np.intersect1d(model.outliers_, flipped).size
    assert caught >= 0.9 * flipped.size
    stages = {entry["stage"] for entry in model.history_}
    assert (stages > {"convex", "loose"}) == (solver == "divide")


@pytest.mark.parametrize("s", [0.0, -0.5, -1.0])
def test_the_end_is_stationary_whatever_the_certificate_says(s):
    X, y, _ = moons(200)
    model = RampSVC(C=2.0, s=s, gamma=1.0).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    ramp = RampProblem(Gram(X, model._kernel), signs, np.full(200, 2.0), s)
    beta = np.zeros(200)
    beta[model.support_] = model.dual_coef_[0]
    clipped = np.zeros(200, bool)
    clipped[model.outliers_] = True
    point = Solution(ramp.convex(clipped), beta, ramp.gram.times(beta), "checked")
    assert_allclose(point.intercept, model.intercept_[0], atol=1e-9)
    assert stationarity(ramp, point) <= 1e-8


def test_warm_start_takes_the_last_model_up():
    X, y, _ = moons(600)
    model = RampSVC(C=1.0, s=0.0, gamma=1.0, warm_start=True).fit(X, y)
    first, rounds = model.objective_, model.n_cccp_iter_[0]
    model.fit(X, y)
    assert model.objective_ <= first * (1 + 1e-9)
    assert model.n_cccp_iter_[0] <= 2 < rounds


def test_running_out_of_rounds_is_said():
    X, y, _ = moons()
    with pytest.warns(ConvergenceWarning, match="Increase max_cccp_iter"):
        model = RampSVC(s=0.0, gamma=1.0, init="svm", max_cccp_iter=1).fit(X, y)
    assert model.certificate_.status == "max_cccp_iter"
    assert model.fit_status_ == 1


def test_limits_of_steps_and_time_are_said():
    X, y, _ = moons(3000)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = RampSVC(gamma=1.0, max_iter=5).fit(X, y)
    assert model.certificate_.status == "max_iter"
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = RampSVC(gamma=1.0, C=100.0, tol=1e-9, max_time=1e-9).fit(X, y)
    assert model.certificate_.status == "max_time"


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("s", 0.5),
        ("s", float("nan")),
        ("init", "random"),
        ("screening", "unsafe"),
        ("screening", True),
        ("max_cccp_iter", 0),
        ("C", 0.0),
        ("solver", "magic"),
        ("kernel", "laplace"),
    ],
)
def test_bad_parameters_are_named(parameter, value):
    X, y, _ = moons(50)
    with pytest.raises(ValueError, match=f"'{parameter}' parameter of RampSVC"):
        RampSVC(**{parameter: value}).fit(X, y)


def test_bad_data_are_named():
    X, y, _ = moons(50)
    with pytest.raises(ValueError, match="number of classes has to be greater"):
        RampSVC().fit(X, np.ones(50))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        RampSVC().fit(X, y)


def test_a_fit_without_screening_tells_of_none():
    X, y, _ = moons(200)
    model = RampSVC(gamma=1.0).fit(X, y)
    assert model.history_ and all("screened" not in entry for entry in model.history_)


def test_an_indefinite_kernel_is_solved_unscreened():
    X, y, _ = moons(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RampSVC(kernel="sigmoid", gamma=0.1, screening="safe").fit(X, y)
    assert all(not entry.get("screened") for entry in model.history_)

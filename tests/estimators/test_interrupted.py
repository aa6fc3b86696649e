"""Ctrl-C, one rule: fit raises; a former model stays, else the point is kept."""

from __future__ import annotations

import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from widemargin import SVC, CostSensitiveSVC, DivideConquerSVC, DPWSSClassifier, RampSVC
from widemargin.engine import primal_newton, verification
from widemargin.engine.gram import Gram
from widemargin.engine.interrupted import Interrupted
from widemargin.engine.kernels import Gaussian, Linear
from widemargin.engine.problem import classification_problem
from widemargin.engine.refinement import Descent
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.multilevel import driver

from tests.certified import gap_at_best_intercept, kernel_matrix, objective, violation
from tests.oracles.claims import assert_claims_hold
from tests.oracles.rebuilt import judged

rng = np.random.default_rng(0)
X = rng.standard_normal((2100, 10))
y = rng.integers(0, 2, 2100)  # pure noise: a fit takes as long as it can
# verbose: somebody watches every 20 ms, and presses Ctrl-C there
HARD = {"C": 1e3, "tol": 1e-7, "n_jobs": 1, "verbose": True}
FITS = {
    "SVC": SVC(gamma=0.05, **HARD),
    "keep_rows": SVC(gamma=0.05, keep_rows=True, **HARD),
    "CostSensitiveSVC": CostSensitiveSVC(gamma=0.05, cost_positive=3.0, **HARD),
    "RampSVC": RampSVC(gamma=0.05, init="svm", **HARD),
    "DivideConquerSVC": DivideConquerSVC(gamma=0.05, n_levels=0, **HARD),
    "DPWSSClassifier": DPWSSClassifier(once=False, **HARD),
}


def stop(model, *data):
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(*data)
    assert type(caught.value) is KeyboardInterrupt
    return model


@pytest.mark.parametrize("name", FITS)
def test_a_fit_without_a_model_gets_the_point_reached(name, press):
    key = press()
    model = stop(pickle.loads(pickle.dumps(FITS[name])), X, y)
    certificate = model.certificate_
    assert model.fit_status_ == 1 and certificate.status == "interrupted"
    assert certificate.n_iter > 0 and certificate.seconds > 0
    assert model.history_[-1]["status"] == "interrupted"
    assert set(model.predict(X)) <= {0, 1}
    if name == "DPWSSClassifier":  # what the draws reveal is accounted to the last one
        assert model.n_iter_[0] == key.steps
    if name in ("SVC", "DivideConquerSVC"):
        K = kernel_matrix(Gaussian(0.05), X)
        beta = np.zeros(len(X))
        beta[model.support_] = model.dual_coef_[0]
        problem = classification_problem(
            Gram(X, Gaussian(0.05)), np.where(y == 1, 1.0, -1.0), 1e3
        )
        assert_true(certificate, K, beta, problem)


def assert_true(certificate, K, beta, problem):
    """Assert that a certificate claims no more than is true of a point."""
    assert (beta >= problem.lower).all() and (beta <= problem.upper).all()
    assert abs(beta.sum() - problem.total) <= 1e-9 * np.abs(beta).sum()
    dual = -objective(K, beta, problem.linear)
    gap = gap_at_best_intercept(K, beta, problem)
    assert certificate.bound <= dual + 1e-9 * abs(dual)
    assert certificate.gap >= (1 - 1e-9) * gap > 0
    assert certificate.objective >= (dual + gap) * (1 - 1e-9)
    assert certificate.kkt_violation >= (1 - 1e-9) * violation(K, beta, problem)


@pytest.mark.parametrize("round_", [1, 2])
def test_a_ramp_fit_claims_what_is_true_of_its_convex_problem(round_, monkeypatch):
    """The flat loss is of the samples that did not pull, not of those now below s."""
    plain, reached = RampSVC._solve, []

    def stopped_at_its_end(self, problem, *rest, **options):
        solution = plain(self, problem, *rest, **options)
        reached.append(solution)
        if len(reached) == round_:
            raise Interrupted(problem, solution.beta)
        return solution

    monkeypatch.setattr(RampSVC, "_solve", stopped_at_its_end)
    some, labels = X[:300], y[:300]
    model = stop(RampSVC(gamma=0.05, C=10.0, init="svm", n_jobs=1), some, labels)
    own, problem = reached[-1].certificate, reached[-1].problem
    aside = np.where(problem.linear > 0, problem.lower < 0, problem.upper > 0)
    assert (round_ > 1) == aside.any() and model.outliers_.size != aside.sum()
    [(certificate, truth)] = judged(model, some, labels)
    assert certificate.status == "interrupted"
    assert_claims_hold(certificate, truth)
    flat = 10.0 * 2.0 * aside.sum()  # C (1 - s) each
    np.testing.assert_allclose(certificate.objective, own.objective + flat, rtol=1e-9)
    np.testing.assert_allclose(certificate.bound, own.bound + flat, rtol=1e-9)


@pytest.mark.parametrize("name", FITS)
def test_a_model_that_is_there_stays(name, press):
    model = pickle.loads(pickle.dumps(FITS[name])).set_params(C=1.0, tol=1e-3)
    model.fit(X[:200], y[:200])
    before = pickle.dumps(model.set_params(C=1e3, tol=1e-7))
    press()
    assert pickle.dumps(stop(model, X, y)) == before


def test_rows_are_kept_with_the_point_and_an_update_makes_it_exact(press):
    press()
    model = SVC(gamma=0.05, C=100.0, tol=1e-7, verbose=True, keep_rows=True)
    stop(model, X, y)
    model.forget(np.arange(300, 2100))
    again = SVC(gamma=0.05, C=100.0, polish=True).fit(X[:300], y[:300])
    np.testing.assert_allclose(
        model.decision_function(X), again.decision_function(X), atol=1e-7
    )


def test_every_pair_of_classes_must_have_a_point(press):
    three = rng.integers(0, 3, 2100)
    for solve_number in (1, 2):  # no model: the last pair was not begun
        press(solve_number)
        model = stop(SVC(gamma=0.05, **HARD).set_params(tol=1e-2), X, three)
        with pytest.raises(NotFittedError):
            model.predict(X)
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
        assert vars(model).keys() == vars(SVC()).keys()
    press(3)
    model = stop(SVC(gamma=0.05, **HARD).set_params(tol=1e-2), X, three)
    states = [certificate.status for certificate in model.certificate_]
    assert states == ["converged", "converged", "interrupted"]
    assert model.fit_status_ == 1 and model.score(X, three) > 0.5


def test_pairs_in_other_threads_leave_their_points(press):
    four = rng.integers(0, 4, 2100)
    model = SVC(gamma=0.05, **HARD).set_params(n_jobs=6)
    press(6)  # all pairs have begun
    stop(model, X, four)
    states = {certificate.status for certificate in model.certificate_}
    # on a busy machine a pair may be done before the key is pressed
    assert "interrupted" in states and states <= {"interrupted", "converged"}
    assert model.score(X, four) > 0.3


@pytest.mark.parametrize("prompt", [10**9, 0])
@pytest.mark.parametrize("kernel", [Gaussian(0.05), Linear()])
def test_the_point_of_a_solve_certifies_itself(kernel, prompt, monkeypatch):
    """Also where only the support vectors are looked at."""
    monkeypatch.setattr(verification, "LATE_ENTRIES", prompt)
    problem = classification_problem(Gram(X, kernel), np.where(y == 1, 1.0, -1.0), 1e3)

    def press_it(n_iter, *_):
        if n_iter > 0:
            raise KeyboardInterrupt
        return True

    with pytest.raises(Interrupted) as caught:
        solve(problem, SolveOptions(tol=1e-9, monitor=press_it))
    assert type(pickle.loads(pickle.dumps(caught.value))) is KeyboardInterrupt
    solution = caught.value.solution()
    assert solution.n_iter == caught.value.n_iter > 0 and solution.support.size
    K = kernel_matrix(kernel, X)
    assert_true(solution.certificate, K, solution.beta, problem)


@pytest.mark.parametrize("solver", ["direct", "divide"])
def test_before_the_first_step_there_is_no_point(solver, monkeypatch):
    def press_it(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Descent, "run", press_it)
    # below the tolerance of float32 small clusters, too, are solved by descent
    settings = {"gamma": 2.0, "tol": 1e-5, "solver": solver, "n_jobs": 1}
    model = stop(SVC(**settings), *wave(3000))
    assert vars(model) == vars(SVC(**settings))


# ---- Newton, for linear kernels ------------------------------------------------


@pytest.mark.parametrize(("steps", "found"), [(0, False), (8, True)])
def test_newton_leaves_the_weights_it_has_reached(steps, found, monkeypatch):
    samples = rng.standard_normal((6000, 8))
    truth = samples @ rng.standard_normal(8) + rng.standard_normal(6000)
    labels = (truth > 0).astype(int)
    plain, taken = primal_newton._Primal.newton_step, []

    def newton_step(self, *arguments):
        if len(taken) == steps:
            os.kill(os.getpid(), signal.SIGINT)
        taken.append(1)
        return plain(self, *arguments)

    monkeypatch.setattr(primal_newton._Primal, "newton_step", newton_step)
    model = stop(SVC(kernel="linear", n_jobs=1), samples, labels)
    monkeypatch.undo()
    assert hasattr(model, "coef_") == found
    if not found:
        return
    assert model.fit_status_ == 1 and model.certificate_.status == "interrupted"
    whole = SVC(kernel="linear", n_jobs=1).fit(samples, labels)
    assert len(taken) < steps + 2
    assert model.score(samples, labels) > whole.score(samples, labels) - 0.02
    assert model.certificate_.objective < 1.1 * whole.certificate_.objective


# ---- levels of clusters --------------------------------------------------------


def cut_second_level(monkeypatch):
    """Press Ctrl-C in the second level of a divided solve."""
    plain, begun = driver.solve_level, []

    def solve_level(*arguments, **options):
        begun.append(1)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return plain(*arguments, **options)

    monkeypatch.setattr(driver, "solve_level", solve_level)


def wave(n=1500):
    samples = np.random.default_rng(1).uniform(-1, 1, (n, 2))
    return samples, (np.sin(6 * samples[:, 0]) > 2 * samples[:, 1]).astype(int)


@pytest.mark.parametrize("prediction", ["early", "exact"])
def test_divide_and_conquer_keeps_the_last_complete_level(prediction, monkeypatch):
    samples, labels = wave()
    settings = {"gamma": 2.0, "n_levels": 2, "n_branches": 2, "early_level": 1}
    model = DivideConquerSVC(prediction=prediction, **settings)
    cut_second_level(monkeypatch)
    stop(model, samples, labels)
    assert model.early_.n_clusters == 4 and model.fit_status_ == 1
    assert model.certificate_.status == "interrupted"
    before = pickle.dumps(model)
    cut_second_level(monkeypatch)
    assert pickle.dumps(stop(model, samples[:900], labels[:900])) == before
    monkeypatch.undo()
    whole = DivideConquerSVC(**settings | {"early_level": 2}, prediction="early")
    np.testing.assert_array_equal(
        model.decision_function(samples),
        whole.fit(samples, labels).decision_function(samples),
    )


def test_a_divided_solve_leaves_the_point_of_its_last_level(monkeypatch):
    samples, labels = wave(12_000)  # two levels
    model = SVC(gamma=2.0, C=10.0, solver="divide", n_jobs=1)
    cut_second_level(monkeypatch)
    stop(model, samples, labels)
    assert model.fit_status_ == 1 and model.certificate_.status == "interrupted"
    assert model.certificate_.n_iter > 0
    assert model.score(samples, labels) > 0.8  # clusters put side by side

"""max_time and Ctrl-C are those of the whole fit, however many classes there are."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from widemargin import ChanceConstrainedSVC
from widemargin.engine.status import Status
from widemargin.estimators.chance_constrained import smoothed_newton as newton_module
from widemargin.estimators.chance_constrained import stochastic as stochastic_module
from widemargin.estimators.chance_constrained import training

FUNCTIONS = {
    "newton": "newton",
    "ssgd": "stochastic",
    "socp": "shared_cones",
    "sdp": "semidefinite",
}


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X)[::5], y[::5]


@pytest.mark.parametrize("solver", FUNCTIONS)
def test_one_time_limit_for_all_classes(monkeypatch, solver):
    if solver in ("socp", "sdp"):
        pytest.importorskip("clarabel")
    whole, limits = getattr(training, FUNCTIONS[solver]), []

    def watched(*given, deadline, **options):
        limits.append(deadline)
        return whole(*given, deadline=deadline, **options)

    monkeypatch.setattr(training, FUNCTIONS[solver], watched)
    before = time.perf_counter()
    ChanceConstrainedSVC(solver=solver, max_time=60.0, random_state=0).fit(*iris())
    calls = 1 if solver == "ssgd" else 3  # it solves all classes at once
    assert len(limits) == calls and len(set(limits)) == 1  # one moment for all
    assert before + 59.0 < limits[0].moment <= time.perf_counter() + 60.0


def test_the_time_limit_counts_the_first_pass_over_the_samples(monkeypatch):
    first_pass, newton, ended, limits = training.first_pass, training.newton, [], []

    def passed(*given, **options):
        builder = first_pass(*given, **options)
        ended.append(time.perf_counter())
        return builder

    def watched(*given, deadline, **options):
        limits.append(deadline)
        return newton(*given, deadline=deadline, **options)

    monkeypatch.setattr(training, "first_pass", passed)
    monkeypatch.setattr(training, "newton", watched)
    X, y = iris()
    settings = {"kernel": "rbf", "n_components": 3, "random_state": 0}
    ChanceConstrainedSVC(max_time=60.0, **settings).fit(X, y == 1)
    assert len(ended) == 2  # of the samples and of their features
    assert limits[0].moment < ended[0] + 60.0


@pytest.mark.parametrize("solver", ["socp", "sdp"])
def test_a_cone_program_out_of_time_says_so_in_the_words_of_the_package(solver):
    pytest.importorskip("clarabel")
    X, y = iris()
    model = ChanceConstrainedSVC(solver=solver, max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.fit(X, y == 1)
    assert model.certificate_.status is Status.MAX_TIME
    assert model.fit_status_ == 1


def interrupting(monkeypatch, home, name, after):
    """Have the function of that name raise as Ctrl-C does, at its call ``after``."""
    whole, calls = getattr(home, name), []

    def stopped(*given, **options):
        calls.append(given)
        if len(calls) > after:
            monkeypatch.setattr(home, name, whole)
            raise KeyboardInterrupt
        return whole(*given, **options)

    monkeypatch.setattr(home, name, stopped)
    return calls


ROUTES = {  # what is interrupted, and the call at which there is a point
    "newton": (newton_module, "_stage", 3),
    "ssgd": (stochastic_module, "visited", 2),
    "threads": (stochastic_module, "visited", 4),
    "blocks": (stochastic_module, "visited", 2),
    "dask": (stochastic_module, "visited", 4),
}


def fit_by(route, model, X, y):
    model.set_params(solver="newton" if route == "newton" else "ssgd", epochs=10)
    model.set_params(n_jobs=2 if route == "threads" else None)
    if route == "blocks":
        return model.fit_blocks([(X, y)])
    if route == "dask":
        array = pytest.importorskip("dask.array")
        with dask_threads():
            return model.fit(array.from_array(X, chunks=(len(X) // 2 + 1, 4)), y)
    return model.fit(X, y)


def dask_threads():
    return pytest.importorskip("dask").config.set(scheduler="synchronous")


@pytest.mark.parametrize("route", ROUTES)
def test_ctrl_c_leaves_a_first_model_and_raises(monkeypatch, route):
    X, y = iris()
    X, y = X[y < 2], y[y < 2]
    home, name, after = ROUTES[route]
    interrupting(monkeypatch, home, name, after)
    model = ChanceConstrainedSVC(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        fit_by(route, model, X, y)
    assert model.certificate_.status == "interrupted"
    assert model.fit_status_ == 1
    assert model.score(X, y) > 0.9
    signs = 2.0 * y - 1.0
    (w,) = model.coef_
    spread = np.sqrt(np.einsum("j,kji,i->k", w, model.covariances_, w))
    slack = 1.0 - signs * model.decision_function(X) + 3.0 * spread[y]
    value = 0.5 * w @ w + np.maximum(slack, 0.0).sum()
    assert_allclose(model.certificate_.objective, value, rtol=1e-9)
    fit_by(route, model, X, y)
    assert model.fit_status_ == 0


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("too_early", [True, False])
def test_ctrl_c_leaves_a_model_that_was_there_untouched(monkeypatch, route, too_early):
    X, y = iris()
    X, y = X[y < 2], y[y < 2]
    fitted = fit_by(route, ChanceConstrainedSVC(random_state=0), X[:, :3], y)
    never = ChanceConstrainedSVC(random_state=0)
    home, name, after = ROUTES[route]
    interrupting(monkeypatch, home, name, 0 if too_early else after)
    before = dict(vars(fitted))
    with pytest.raises(KeyboardInterrupt):
        fit_by(route, fitted, X, y)
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[key] is before[key] for key in before if key[-1] == "_")
    if too_early and route != "newton":  # there w = 0 is a point at once
        interrupting(monkeypatch, home, name, 0)
        with pytest.raises(KeyboardInterrupt):
            fit_by(route, never, X, y)
        assert not hasattr(never, "coef_") and not hasattr(never, "n_features_in_")


def test_ctrl_c_ends_all_the_classes(monkeypatch):
    """One Ctrl-C, one end: without the classes to come there is no model."""
    calls = interrupting(monkeypatch, newton_module, "_stage", 3)
    model = ChanceConstrainedSVC()
    with pytest.raises(KeyboardInterrupt):
        model.fit(*iris())
    assert len(calls) == 4
    assert not hasattr(model, "coef_")


def test_bad_input_leaves_a_model_untouched():
    X, y = iris()
    model = ChanceConstrainedSVC().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="not positive semidefinite"):
        model.fit(X[:, :2], y, covariance=-np.ones((len(y), 2, 2)))
    assert vars(model) == before

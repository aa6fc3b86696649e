"""Parameters between updates: which are set, which are estimated, what is said."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons

from widemargin import SVC, CostSensitiveSVC
from widemargin.engine.gram import Gram

from tests.refits import weigh_every_way

X, y = make_moons(120, noise=0.25, random_state=0)


@pytest.mark.parametrize("given", [None, 5, np.random.RandomState(0)], ids=str)
@pytest.mark.parametrize("wanted", [None, 7, np.random.RandomState(1)], ids=str)
def test_update_sets_the_random_state_it_is_given(given, wanted):
    """An update works with a copy of it, which is not what is to be kept."""
    model = SVC(keep_rows=True, gamma=1.0, random_state=given).fit(X, y)
    model.update(random_state=wanted)
    assert model.random_state is wanted
    model.update(C=2.0)
    assert model.random_state is wanted and model.C == 2.0


@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_update_is_set_params_for_every_parameter(estimator):
    """All that do not concern the kernel."""
    changes = {
        "C": 2.5,
        "shrinking": False,
        "tol": 1e-5,
        "cache_size": 30.0,
        "class_weight": {0: 2.0, 1: 1.0},
        "max_iter": 10**6,
        "decision_function_shape": "ovo",
        "break_ties": True,
        "random_state": 3,
        "n_jobs": 1,
        "max_time": 100.0,
        "warm_start": True,
        "solver": "direct",
        "polish": True,
        "exact_updates": True,
        "keep_rows": False,  # of the next fit: the rows that are there stay
    }
    if estimator is CostSensitiveSVC:
        changes |= {"cost_positive": 4.0, "cost_negative": 1.5, "pos_label": 0}
    model = estimator(keep_rows=True, gamma=1.0).fit(X, y)
    kernel = {"kernel", "degree", "gamma", "coef0", "fit_intercept"}
    quiet = {"probability", "verbose", "screening", "cost_matrix"}
    assert set(model.get_params()) - set(changes) <= kernel | quiet
    before = model.get_params()
    assert model.update(**changes) is model
    assert model.get_params() == before | changes
    assert model.forget([0]).ids_.size == len(X) - 1


def test_only_a_gamma_with_a_share_of_the_rows_is_warned_about():
    """The word "auto" is 1 / n_features, whoever leaves."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC(keep_rows=True, gamma="auto").fit(X, y).forget([0])
    with pytest.warns(UserWarning, match="still reflects rows"):
        SVC(keep_rows=True, gamma="scale").fit(X, y).forget([0])


def test_the_pairs_of_a_first_chunk_share_the_time(monkeypatch):
    """As in fit: each had all of it, and three classes three times as much."""
    limits = []

    def slow(self, problem, options, *rest):
        limits.append(options.deadline.seconds_left)
        time.sleep(0.05)
        return solve(self, problem, options, *rest)

    solve = SVC._solve
    monkeypatch.setattr(SVC, "_solve", slow)
    three = np.arange(120) % 3
    settings = {"kernel": "linear"}  # others are solved together, in one call
    SVC(**settings, max_time=100.0).partial_fit(X, three, classes=[0, 1, 2])
    assert len(limits) == 3
    assert limits[0] <= 100.0 and (np.diff(limits) <= -0.05).all()
    limits.clear()
    SVC(**settings).partial_fit(X, three, classes=[0, 1, 2])
    assert limits == [np.inf] * 3


def test_every_update_keeps_to_the_cache_size(monkeypatch):
    sizes, begin = [], Gram.__init__

    def noting(self, X, kernel, *, cache_mb=200.0, threads=1):
        sizes.append(cache_mb)
        begin(self, X, kernel, cache_mb=cache_mb, threads=threads)

    monkeypatch.setattr(Gram, "__init__", noting)
    model = SVC(keep_rows=True, gamma=1.0, cache_size=7.0).fit(X[:110], y[:110])
    model.partial_fit(X[110:], y[110:]).forget([0, 1]).update(C=2.0)
    assert len(sizes) >= 4 and set(sizes) <= {1, 7.0}  # 1: no rows


@pytest.mark.parametrize("call", ["partial_fit", "forget"])
def test_parameters_are_checked_again_where_one_has_changed(call):
    """And only then: the same objects have passed the checks already."""
    model = SVC(keep_rows=True, gamma=1.0).fit(X[:100], y[:100])
    arguments = {"partial_fit": (X[100:], y[100:]), "forget": ([0, 1],)}[call]
    model.set_params(C=-1.0)
    with pytest.raises(ValueError, match="'C' parameter"):
        getattr(model, call)(*arguments)
    model.set_params(C=1.0, gamma=2.0)
    with pytest.raises(ValueError, match="changed since the first fit"):
        getattr(model, call)(*arguments)
    model.set_params(gamma=1.0)
    getattr(model, call)(*arguments)
    checked = []
    SVC._constraints()["C"].insert(0, Noting(checked))
    try:
        model.partial_fit(X[:3] + 0.1, y[:3])
        assert not checked
        model.set_params(C=0.5).partial_fit(X[3:6] + 0.1, y[3:6])
        assert checked == [0.5]
    finally:
        del SVC._constraints()["C"][0]


class Noting:
    """A constraint that notes what it is asked about, and leaves it to the others."""

    def __init__(self, asked):
        self.asked = asked

    def is_satisfied_by(self, value):
        self.asked.append(value)
        return False


def test_a_cost_that_is_changed_in_place_moves_the_model(monkeypatch):
    weigh_every_way(monkeypatch)  # rows that change nothing are looked for
    weights = {0: 1.0, 1: 1.0}
    model = SVC(keep_rows=True, gamma=1.0, class_weight=weights).fit(X, y)
    sure = np.argsort(-np.abs(model.decision_function(X)))[:2]
    for route, weight in (("settled", 1.0), ("refit", 5.0)):
        weights[1] = weight
        model.partial_fit(X[sure], y[sure])
        assert (model.history_[-1]["route"] == "settled") == (route == "settled")
    rows = np.r_[np.arange(len(X)), sure, sure]
    fresh = SVC(gamma=1.0, class_weight={0: 1.0, 1: 5.0}).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        model.decision_function(X), fresh.decision_function(X), atol=1e-6
    )

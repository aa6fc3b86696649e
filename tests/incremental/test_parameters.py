"""Parameters between updates: which are set, which are estimated, what is said."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons

from widemargin import SVC, CostSensitiveSVC

X, y = make_moons(120, noise=0.25, random_state=0)


@pytest.mark.parametrize("given", [None, 5, np.random.RandomState(0)], ids=str)
@pytest.mark.parametrize("wanted", [None, 7, np.random.RandomState(1)], ids=str)
def test_update_sets_the_random_state_it_is_given(given, wanted):
    """An update works with a copy of it, which is not what is to be kept."""
    model = SVC(gamma=1.0, random_state=given).fit(X, y)
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
    }
    if estimator is CostSensitiveSVC:
        changes |= {"cost_positive": 4.0, "cost_negative": 1.5, "pos_label": 0}
    model = estimator(gamma=1.0).fit(X, y)
    kernel = {"kernel", "degree", "gamma", "coef0", "fit_intercept"}
    quiet = {"probability", "verbose", "screening", "cost_matrix"}
    assert set(model.get_params()) - set(changes) <= kernel | quiet
    before = model.get_params()
    assert model.update(**changes) is model
    assert model.get_params() == before | changes


def test_only_a_gamma_with_a_share_of_the_rows_is_warned_about():
    """The word "auto" is 1 / n_features, whoever leaves."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC(gamma="auto").fit(X, y).forget([0])
    with pytest.warns(UserWarning, match="still reflects rows"):
        SVC(gamma="scale").fit(X, y).forget([0])

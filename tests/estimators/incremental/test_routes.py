"""Along the path or by a warm-started solve: what is chosen does not show."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from widemargin import CostSensitiveSVC
from widemargin.engine import updates
from widemargin.engine.update_routes import Route

from tests.estimators.incremental.the_fit import assert_is_the_fit

iris, species = load_iris(return_X_y=True)
shuffled = np.random.default_rng(0).permutation(150)
iris, species = iris[shuffled], species[shuffled]
EARLIER = [[0, 2, 1], [1, 0, 3], [5, 1, 0]]
PRICES = {"cost_matrix": [[0, 1, 2], [4, 0, 1], [1, 3, 0]], "cost_negative": 1.5}


@pytest.mark.parametrize("forced", ["path", "warm", "refit"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_either_route_ends_at_the_fit(forced, kernel, fit_intercept, monkeypatch):
    monkeypatch.setattr(updates, "cheapest", lambda *_, **__: (Route(forced), 10**9))
    model = CostSensitiveSVC(
        kernel=kernel,
        gamma=0.5,
        degree=2,
        coef0=1.0,
        fit_intercept=fit_intercept,
        keep_rows=True,
        cost_matrix=EARLIER,  # other prices, and other signs of third classes
    )
    model.fit(iris[:110], species[:110]).partial_fit(iris[110:], species[110:])
    assert_is_the_fit(model, iris, species)
    model.forget(np.arange(30))
    assert_is_the_fit(model, iris[30:], species[30:])
    model.update(C=4.0, **PRICES)
    assert_is_the_fit(model, iris[30:], species[30:])
    routes = [record["route"] for record in model.history_[-3:]]
    if forced == "warm":  # what was forgotten must not be where a solve begins
        assert routes[1] == "refit" and "warm" in routes[0]
    else:
        assert all(forced in route for route in routes)


@pytest.mark.parametrize("what", ["add", "forget"])
def test_prices_set_before_a_chunk_move_with_it(what):
    """C- moves the linear term too, not the boxes alone."""
    model = CostSensitiveSVC(keep_rows=True, gamma=0.5).fit(iris[:120], species[:120])
    model.set_params(C=2.0, **PRICES)
    if what == "add":
        model.partial_fit(iris[120:], species[120:])
        assert_is_the_fit(model, iris, species)
    else:
        model.forget(np.arange(40))
        assert_is_the_fit(model, iris[40:120], species[40:120])

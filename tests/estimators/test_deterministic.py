"""Two fits give bitwise the same model, and numpy's global state is left alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.utils import check_random_state

from widemargin import SVC, CostSensitiveSVC, DivideConquerSVC, RampSVC

MODELS = [
    SVC(C=10.0),
    SVC(C=10.0, solver="divide"),
    RampSVC(C=10.0),
    CostSensitiveSVC(C=10.0, cost_positive=3.0),
    DivideConquerSVC(C=10.0, n_levels=1),
    DivideConquerSVC(C=10.0, prediction="early", early_level=2),
]


def answers(model, X):
    """Return decision values, or what a regressor predicts."""
    classifies = hasattr(model, "decision_function")
    return model.decision_function(X) if classifies else model.predict(X)


def assert_same(one, two, X):
    assert_array_equal(one.support_, two.support_)
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.intercept_, two.intercept_)
    assert_array_equal(answers(one, X), answers(two, X))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_without_a_random_state(model):
    X, y = make_moons(6_000, noise=0.3, random_state=0)
    shared = check_random_state(None)  # numpy's global one
    before = shared.get_state(legacy=False)["state"]
    one, two = clone(model).fit(X, y), clone(model).fit(X, y)
    assert_same(one, two, X)
    after = shared.get_state(legacy=False)["state"]
    assert after["pos"] == before["pos"]
    assert_array_equal(after["key"], before["key"])


def test_a_seed_still_chooses_the_order():
    X, y = make_moons(6_000, noise=0.3, random_state=0)
    one, two = (SVC(C=10.0, random_state=seed).fit(X, y) for seed in (1, 2))
    apart = np.abs(one.decision_function(X) - two.decision_function(X)).max()
    assert 0.0 < apart < 2e-2


def test_a_generator_is_drawn_from_once_a_fit():
    """Class pairs run side by side: which one drew first is not for chance."""
    X, y = make_blobs(4_000, 6, centers=5, cluster_std=5.0, random_state=0)
    drawn = np.random.RandomState(3)
    one = SVC(C=10.0, random_state=drawn, n_jobs=2).fit(X, y)
    two = SVC(C=10.0, random_state=np.random.RandomState(3), n_jobs=1).fit(X, y)
    assert_same(one, two, X)
    expected = np.random.RandomState(3)
    expected.randint(2**31 - 1)
    assert drawn.randint(1 << 30) == expected.randint(1 << 30)

"""Leave-one-out by paths: the values of n fits without one row each."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from widemargin import SVC, SVR, CostSensitiveSVC, RampSVC, leave_one_out
from widemargin.display import LeaveOneOutDisplay


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:80]
    return scale(X)[chosen], y[chosen]


def iris():
    X, y = load_iris(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:45]
    return scale(X)[chosen], y[chosen]


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (SVC(C=1.0, gamma=0.05), cancer),
        (SVC(C=100.0, gamma=0.5), cancer),
        (SVC(C=1.0, gamma=0.3, decision_function_shape="ovo"), iris),
        (CostSensitiveSVC(cost_positive=3.0, gamma=0.05), cancer),
        (SVC(C=1.0, gamma=0.05, fit_intercept=False), cancer),
    ],
    ids=["two classes", "large C", "three classes", "costs", "no intercept"],
)
def test_the_values_of_as_many_fits(model, data):
    X, y = data()
    kept = clone(model).set_params(keep_rows=True).fit(X, y)
    found = leave_one_out(kept)
    assert found.kkt_violation < 1e-8
    assert_allclose(found.full_values, kept.decision_function(X), atol=1e-6)
    changed = np.zeros(len(y), dtype=int)
    for row in range(len(y)):
        others = np.arange(len(y)) != row
        single = clone(model).set_params(tol=1e-9).fit(X[others], y[others])
        assert_allclose(
            found.decision_values[row], single.decision_function(X[[row]])[0], atol=1e-6
        )
        assert found.predictions[row] == single.predict(X[[row]])[0]
        if found.full_values.ndim == 1:
            now = single.decision_function(X[others]) >= 0
            changed[row] = np.sum(now != (found.full_values[others] >= 0))
    assert_allclose(found.error, np.mean(found.predictions != y))
    if found.full_values.ndim == 1:
        assert_array_equal(found.influence, changed)


def test_sums_too_rounded_to_be_kept_are_computed_again():
    near, far = [0.6, 0.8], [0.3, 2.0]
    X, y = np.array([near, near, far, near]), np.array([0, 1, 0, 1])
    model = SVC(kernel="poly", degree=2, coef0=1.0, C=5000.0, keep_rows=True).fit(X, y)
    state = model._updates.tasks[0]
    assert state.solved
    assert state.values is None
    found = leave_one_out(model)
    assert found.kkt_violation < 1e-8
    assert_allclose(found.full_values, model.decision_function(X), atol=1e-6)


def test_only_support_vectors_are_removed():
    X, y = cancer()
    model = SVC(C=100.0, gamma=0.05, keep_rows=True).fit(X, y)
    found = leave_one_out(model)
    assert found.removed == model.n_support_.sum() < len(y)
    quiet = np.setdiff1d(np.arange(len(y)), model.support_)
    assert_allclose(found.decision_values[quiet], found.full_values[quiet])
    assert not found.influence[quiet].any()


def test_a_row_that_stands_alone_has_influence():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + np.array([6, 0])]
    y = np.repeat([0, 1], 30)
    y[40] = 0  # wrong, and it pulls the boundary
    model = SVC(C=100.0, gamma=0.5, keep_rows=True).fit(X, y)
    found = leave_one_out(model)
    assert found.predictions[40] == 1
    assert found.influence[40] == found.influence.max() or found.influence.max() > 0
    assert set(found.most_influential(3)) <= set(found.ids)


def test_it_explains_the_suspects_of_the_ramp_loss():
    """All others say of a suspect that its label is the other one."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(160, 2))
    true = np.where(X[:, 0] > 0.0, 1, 0)
    X[:, 0] += 0.8 * (2 * true - 1)
    wrong = rng.permutation(160)[:10]
    y = true.copy()
    y[wrong] = 1 - y[wrong]
    suspects = RampSVC(C=10.0, gamma=0.5).fit(X, y).suspects_
    assert np.isin(wrong, suspects).mean() >= 0.8
    found = leave_one_out(SVC(C=10.0, gamma=0.5, keep_rows=True).fit(X, y))
    assert (found.predictions[suspects] == true[suspects]).mean() >= 0.8
    assert (found.predictions[suspects] != y[suspects]).mean() >= 0.9
    # The more clearly the others contradict a row, the sooner it is a suspect.
    margin = np.where(y == 1, 1.0, -1.0) * found.decision_values
    assert set(suspects) <= set(np.argsort(margin)[: suspects.size + 2])


def test_it_prints_in_one_line():
    X, y = cancer()
    text = repr(leave_one_out(SVC(keep_rows=True).fit(X, y)))
    assert text.startswith("LeaveOneOut(rows=80, error=")
    assert "\n" not in text
    assert len(text) < 120


def test_models_without_rows_are_refused():
    X, y = cancer()
    for model in (SVC().fit(X, y), SVC(keep_rows=True)):
        with pytest.raises(ValueError, match=r"has none.*keep_rows=True"):
            leave_one_out(model)
    regressor = SVR(keep_rows=True).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="SVR predicts numbers"):
        leave_one_out(regressor)


def test_the_picture():
    X, y = cancer()
    found = leave_one_out(SVC(keep_rows=True, gamma=0.05).fit(X, y))
    display = LeaveOneOutDisplay(found).plot()
    assert display.ax_.get_xlabel() and display.ax_.get_ylabel()
    assert len(display.ax_.collections) >= 1

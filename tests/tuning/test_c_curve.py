"""The exact curve over C: fits at two hundred values agree with it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

from widemargin import SVC, SVR, CostSensitiveSVC, RampSVC, c_path
from widemargin.display import CPathDisplay


def cancer(n=120):
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:n], y[:n]


def all_cancer():
    return cancer(569)


def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), np.array(["a", "b", "c"])[y]


def error_of_fits(model, X, y, C):
    fitted = clone(model).set_params(C=C, tol=1e-8)
    return np.mean(
        [
            np.mean(clone(fitted).fit(X[train], y[train]).predict(X[test]) != y[test])
            for train, test in StratifiedKFold(3).split(X, y)
        ]
    )


@pytest.mark.parametrize(
    ("model", "data", "ends", "count"),
    [
        (SVC(gamma=0.05), cancer, (0.1, 1000.0), 200),
        (SVC(gamma=0.5), cancer, (0.1, 1000.0), 40),
        (SVC(kernel="linear"), cancer, (0.01, 1.0), 40),
        (SVC(gamma=0.05, class_weight={0: 3.0}), cancer, (0.1, 100.0), 40),
        (SVC(), cancer, (0.1, 100.0), 40),
        (CostSensitiveSVC(gamma=0.05, cost_positive=4.0), cancer, (0.1, 100.0), 40),
        (SVC(gamma=0.05), wine, (0.1, 100.0), 200),
        (SVC(gamma=0.2), all_cancer, (0.1, 100.0), 15),
    ],
    ids=[
        "rbf",
        "narrow",
        "linear",
        "weights",
        "scale",
        "costs",
        "three classes",
        "lagging rows",
    ],
)
def test_fits_at_many_values_agree(model, data, ends, count):
    X, y = data()
    curve = c_path(model, X, y, *ends, cv=3)
    assert curve.kkt_violation < 1e-9
    assert np.all(np.diff(curve.steps) > 0.0)
    found, fitted = [], []
    for C in np.geomspace(*ends, count):
        if curve.steps.size and np.abs(curve.steps / C - 1.0).min() < 1e-7:
            continue  # on a step rounding decides
        found.append(curve.error_at(C))
        fitted.append(error_of_fits(model, X, y, C))
    np.testing.assert_allclose(found, fitted, atol=1e-12)
    assert len(found) > count - 3


def test_a_step_is_where_the_error_changes():
    X, y = cancer()
    model = SVC(gamma=0.05)
    curve = c_path(model, X, y, 0.1, 100.0, cv=3)
    for number in range(0, curve.steps.size, 3):
        C = curve.steps[number]
        before, after = curve.errors[number], curve.errors[number + 1]
        np.testing.assert_allclose(error_of_fits(model, X, y, C * (1 - 1e-6)), before)
        np.testing.assert_allclose(error_of_fits(model, X, y, C * (1 + 1e-6)), after)


def test_the_best_interval():
    X, y = cancer()
    curve = c_path(SVC(gamma=0.05), X, y, 0.1, 100.0, cv=3)
    low, high = curve.best_interval
    middle = np.sqrt(low * high)
    assert 0.1 <= low < high <= 100.0
    assert curve.error_at(middle) == curve.best_error == curve.errors.min()


def test_it_prints_in_one_line():
    text = repr(c_path(SVC(gamma=0.05), *cancer(60), 0.1, 10.0, cv=3))
    assert text.startswith("CPath(C=0.1..10, steps=")
    assert "best_error=" in text
    assert "\n" not in text


def test_the_picture():
    X, y = cancer()
    display = CPathDisplay(c_path(SVC(gamma=0.05), X, y, 0.1, 10.0, cv=3)).plot()
    assert display.ax_.get_ylabel() == "cross-validation error"


def test_what_is_refused():
    X, y = cancer()
    for foreign in (SVR(), RampSVC(), SVC(max_iter=5)):
        with pytest.raises(TypeError, match="c_path follows"):
            c_path(foreign, X, y, 0.1, 1.0)
    for ends in ((1.0, 0.1), ("a", 1.0)):
        with pytest.raises(ValueError, match="ascending"):
            c_path(SVC(), X, y, *ends)


@pytest.mark.parametrize("given", ["frame", "list", "lists of rows", "masks", "kernel"])
def test_samples_and_folds_come_in_many_forms(given):
    X, y = cancer()
    splits = list(StratifiedKFold(3).split(X, y))
    model, samples, cv = SVC(kernel="linear"), X, splits
    if given == "frame":
        samples = pd.DataFrame(X, index=np.arange(len(X))[::-1])
    elif given == "list":
        samples = X.tolist()
    elif given == "lists of rows":
        cv = [(train.tolist(), test.tolist()) for train, test in splits]
    elif given == "masks":
        rows = np.arange(len(X))
        cv = [(np.isin(rows, train), np.isin(rows, test)) for train, test in splits]
    else:
        model, samples = SVC(kernel="precomputed"), X @ X.T
    expected = c_path(SVC(kernel="linear"), X, y, 0.01, 1.0, cv=splits)
    found = c_path(model, samples, y, 0.01, 1.0, cv=cv)
    assert_allclose(found.steps, expected.steps, rtol=1e-6)
    assert_allclose(found.errors, expected.errors, atol=1e-12)

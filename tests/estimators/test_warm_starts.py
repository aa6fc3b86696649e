"""A warm start on changed data or parameters: the model of a cold fit, or a warning."""

from __future__ import annotations

import re
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone

from widemargin import (
    SVC,
    SVR,
    CostSensitiveSVC,
    DivideConquerSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
)

CLASSIFIERS = (SVC, CostSensitiveSVC, DivideConquerSVC, NuSVC)
REGRESSORS = (SVR, NuSVR, QuantileSVR, OneClassSVM)


def rows(n=80, width=4, classes=2, seed=0):
    generator = np.random.default_rng(seed)
    X, y = generator.normal(size=(n, width)), np.arange(n) % classes
    X[:, 0] += y
    return X, y + (np.arange(n) % 7) * 0.1


FIRST = rows()
OTHERS = {
    "more rows": rows(n=120),
    "wider": rows(width=6),
    "other rows": rows(seed=3),
    "sparse": (csr_array(FIRST[0]), FIRST[1]),
    "other targets": (FIRST[0], FIRST[1][::-1]),
}
CHANGES = [
    {}, {"C": 1e-3}, {"C": 1e4}, {"kernel": "linear"}, {"gamma": 3.0}, {"tol": 1e-6},
    {"fit_intercept": False}, {"epsilon": 1.0}, {"nu": 0.2},
]  # fmt: skip


def assert_as_cold(model, X, y):
    """Fit warm and cold; compare the objectives."""
    cold = clone(model).set_params(warm_start=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "warm_start: the number of rows")
        try:
            cold.fit(X, y)
        except ValueError as refused:  # no such classifier at this nu
            with pytest.raises(ValueError, match=re.escape(str(refused))):
                model.fit(X, y)
            return
        model.fit(X, y)
    found, expected = model.certificate_, cold.certificate_
    assert found.status == expected.status
    slack = found.gap + expected.gap
    assert slack <= 2e-2 * (1 + abs(expected.objective))
    assert_allclose(found.objective, expected.objective, rtol=1e-9, atol=slack + 1e-9)


def target(estimator, y):
    return y.astype(int) if estimator in CLASSIFIERS else y


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS)
def test_parameters_changed_since_the_last_fit(estimator, change):
    model = estimator(warm_start=True)
    if not set(change) <= set(model.get_params()):
        pytest.skip("not a parameter of it")
    X, y = FIRST
    model.fit(X, target(estimator, y))
    assert_as_cold(model.set_params(**change), X, target(estimator, y))


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("estimator", CLASSIFIERS + REGRESSORS)
def test_rows_changed_since_the_last_fit(estimator, other):
    model = estimator(warm_start=True).fit(FIRST[0], target(estimator, FIRST[1]))
    X, y = OTHERS[other]
    assert_as_cold(model, X, target(estimator, y))


@pytest.mark.parametrize("n", [80, 700, 3000])
def test_targets_that_a_wider_tube_holds_lose_nothing(n):
    X, y = rows(n)
    model = SVR(warm_start=True).fit(X, y).set_params(epsilon=1.0).fit(X, y)
    assert np.abs(model.predict(X) - y).max() <= 1.0 + 1e-9
    assert model.certificate_.gap <= 1e-9


@pytest.mark.parametrize("classes", [3, 2])
def test_other_classes_start_cold_with_a_warning(classes):
    X, y = rows(classes=5 - classes)
    model = SVC(warm_start=True).fit(X, y.astype(int) * 7)
    X, y = rows(classes=classes)
    with pytest.warns(UserWarning, match="the classes or the kernel changed"):
        model.fit(X, y.astype(int))
    expected = SVC().fit(X, y.astype(int))
    assert_allclose(model.decision_function(X), expected.decision_function(X))


def test_labels_renamed_since_the_last_fit():
    X, y = FIRST
    labels = y.astype(int)
    model = SVC(warm_start=True).fit(X, labels)
    with pytest.warns(UserWarning, match="the classes or the kernel changed"):
        model.fit(X, np.where(labels > 0, "yes", "no"))
    assert set(model.predict(X)) == {"yes", "no"}


@pytest.mark.parametrize("before", [None, "first"])
def test_rows_without_weight_are_others_than_before(before):
    X, y = FIRST
    weights = np.ones(80)
    weights[::3] = 0.0
    for estimator in (SVC, SVR, OneClassSVM):
        model = estimator(gamma=0.5, warm_start=True)
        fit = partial(model.fit, X, target(estimator, y))
        fit(sample_weight=None if before is None else np.roll(weights, 1))
        fit(sample_weight=weights)
        cold = estimator(gamma=0.5).fit(X, target(estimator, y), sample_weight=weights)
        assert_allclose(
            model.certificate_.objective, cold.certificate_.objective, rtol=1e-3
        )


def test_updates_go_on_from_a_warm_start():
    X, y = FIRST
    labels = y.astype(int)
    model = SVC(gamma=0.5, warm_start=True, keep_rows=True).fit(X, labels)
    model.set_params(C=5.0).fit(X, labels)
    model.partial_fit(X[:7] + 0.1, labels[:7])
    expected = SVC(gamma=0.5, C=5.0).fit(
        np.vstack([X, X[:7] + 0.1]), np.concatenate([labels, labels[:7]])
    )
    assert_allclose(
        model.decision_function(X), expected.decision_function(X), atol=2e-3
    )

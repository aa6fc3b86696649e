"""Bad input and Ctrl-C leave the model bit-identical; errors say what to do."""

from __future__ import annotations

import os
import pickle
import signal
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

from widemargin import (
    SVC,
    ChanceConstrainedSVC,
    CostSensitiveSVC,
    DivideConquerSVC,
    DPWSSClassifier,
    PrivateSVC,
    RampSVC,
)
from widemargin.estimators.incremental import Refused

X, y = make_moons(120, noise=0.25, random_state=0)
CALLS = {"left": None}


def assert_unchanged(model, action, error, match):
    """Assert that the action raises and that the model is what it was, to the bit."""
    before = pickle.dumps(model)
    with pytest.raises(error, match=match):
        action(model)
    assert pickle.dumps(model) == before
    return model


def bad(change):
    """Return a chunk in which one thing is wrong."""
    samples, labels = X[100:].copy(), y[100:].copy()
    if change == "NaN":
        samples[3, 1] = np.nan
    elif change == "features":
        samples = samples[:, :1]
    elif change == "class":
        labels[4] = 7
    elif change == "lengths":
        labels = labels[:-1]
    return samples, labels


@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
@pytest.mark.parametrize(
    ("change", "match"),
    [
        ("NaN", "NaN"),
        ("features", "features"),
        ("class", "not among the classes"),
        ("lengths", "inconsistent"),
    ],
)
def test_bad_chunks(estimator, change, match):
    model = estimator(gamma=1.0).partial_fit(X[:100], y[:100], classes=[0, 1])
    assert_unchanged(model, lambda m: m.partial_fit(*bad(change)), ValueError, match)


@pytest.mark.parametrize(
    ("ids", "match"),
    [
        ([5000], "not live"),
        ([3, 3], "more than once"),
        (["3"], "not live"),
        ([1.5], "integers or all strings"),
        ([True], "integers or all strings"),
        ([2**63], "64 bits"),
        (["q\0"], "NUL"),
        (None, "not a list"),
        (2.5, "not a list"),
        (b"3", "not a list"),
    ],
)
@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_bad_ids_to_forget(estimator, ids, match):
    model = estimator(keep_rows=True, gamma=1.0).fit(X, y)
    assert_unchanged(model, lambda m: m.forget(ids), ValueError, match)


@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_bad_ids_to_add(estimator):
    chunk = (X[100:], y[100:])
    named = estimator(gamma=1.0).fit(X[:100], y[:100], ids=np.arange(100))
    assert_unchanged(
        named, lambda m: m.partial_fit(*chunk), ValueError, "every call or in"
    )
    cases = {
        "already in use": np.arange(90, 110),
        "more than once": np.zeros(20, int),
        "one each": np.arange(100, 110),
        "all integers or all strings": [str(i) for i in range(20)],
    }
    for match, ids in cases.items():
        assert_unchanged(
            named, lambda m, i=ids: m.partial_fit(*chunk, ids=i), ValueError, match
        )
    running = estimator(keep_rows=True, gamma=1.0).fit(X[:100], y[:100])
    ids = np.arange(100, 120)
    assert_unchanged(
        running,
        lambda m: m.partial_fit(*chunk, ids=ids),
        ValueError,
        "every call or in",
    )
    with pytest.raises(ValueError, match="one each"):
        estimator().fit(X, y, ids=[1, 2])
    with pytest.raises(ValueError, match="NUL"):  # "q" and "q\\0" would be one
        estimator().fit(X[:2], [0, 1], ids=["q", "q\0"])
    named.forget([5]).partial_fit(X[:1], y[:1], ids=[5])  # a free id may be used again
    assert named.ids_[-1] == 5


def test_ids_of_every_integer_type_are_the_same_ids():
    model = SVC(gamma=1.0).fit(X, y, ids=np.arange(120, dtype=np.uint8))
    model.forget(model.ids_[0]).forget(list(model.ids_[:2])).forget(np.uint64(3))
    model.forget({4, 5}).forget(range(6, 8)).forget(np.array([8], dtype=object))
    assert_array_equal(model.ids_, np.arange(9, 120))
    model.partial_fit(X[:2], y[:2], ids=[np.int32(0), 1])
    assert_array_equal(model.ids_[-2:], [0, 1])


@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_a_fit_that_fails_leaves_the_old_model(estimator):
    model = estimator(keep_rows=True, gamma=1.0).fit(X, y)
    broken = X.copy()
    broken[3, 1] = np.nan
    cases = {
        "one each": lambda m: m.fit(X, y, ids=[1, 2]),
        "more than once": lambda m: m.fit(X, y, ids=np.zeros(120, int)),
        "NaN": lambda m: m.fit(broken, y),
        "inconsistent": lambda m: m.fit(X, y[:-1]),
        "negative weights": lambda m: m.fit(X @ X.T, y, -np.ones(120)),
        "greater than one": lambda m: m.fit(pd.DataFrame({"a": y}), np.ones(120)),
    }
    for match, action in cases.items():
        assert_unchanged(model, action, ValueError, match)


def test_ctrl_c_in_a_fit_leaves_the_old_model():
    model = CostSensitiveSVC(kernel=interrupting).fit(X, y)
    before = pickle.dumps(model.set_params(cost_positive=3.0))
    CALLS["left"] = 2
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(np.c_[X, X], y)
    finally:
        CALLS["left"] = None
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("named", [True, False])
def test_rows_without_weight_keep_their_ids_to_themselves(named):
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    ids = np.array(list("abcdef")) if named else np.arange(6)
    weight = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 0.0])
    model = SVC(keep_rows=True, gamma=0.3).fit(X, y, weight, ids=ids if named else None)
    assert_array_equal(model.ids_, ids[weight > 0])


def test_running_ids_are_never_used_twice():
    model = SVC(keep_rows=True, gamma=1.0).fit(X[:100], y[:100])
    model.forget([99]).partial_fit(X[100:], y[100:])
    assert_array_equal(model.ids_, np.r_[0:99, 100:120])
    model.forget([119]).partial_fit(X[:2], y[:2])
    assert_array_equal(model.ids_[-3:], [118, 120, 121])
    model.fit(X, y)
    assert_array_equal(model.ids_, np.arange(120))


@pytest.mark.parametrize(
    "params",
    [
        {"gamma": 2.0},
        {"gamma": "auto"},
        {"kernel": "linear"},
        {"fit_intercept": False},
        {"C": -1.0},
        {"nonsense": 3},
    ],
    ids=str,
)
def test_updates_that_cannot_be(params):
    model = SVC(keep_rows=True, gamma="scale").fit(X, y)
    match = "parameter" if "C" in params or "nonsense" in params else "Call fit"
    assert_unchanged(model, lambda m: m.update(C=2.0, **params) if "C" not in params
              else m.update(**params), ValueError, match)  # fmt: skip
    assert model.C == 1.0


@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
@pytest.mark.parametrize("params", [{"degree": 3}, {"coef0": 0.5}], ids=str)
def test_parameters_of_the_polynomial_kernel_need_a_fit(estimator, params):
    model = estimator(
        keep_rows=True, kernel="poly", degree=2, gamma=1.0, coef0=1.0
    ).fit(X, y)
    assert_unchanged(model, lambda m: m.update(C=2.0, **params), ValueError, "Call fit")


def test_prices_that_cannot_be():
    model = CostSensitiveSVC(keep_rows=True, gamma=1.0).fit(X, y)
    match = r"cost_negative > 0\.5"
    assert_unchanged(model, lambda m: m.update(cost_negative=0.4), ValueError, match)
    assert model.cost_negative == 1.0
    assert_unchanged(model, lambda m: m.update(pos_label=7), ValueError, "pos_label")


def test_kernel_changed_by_set_params_is_refused_until_fit():
    model = SVC(keep_rows=True, gamma=1.0).fit(X, y).set_params(gamma=2.0)
    assert_unchanged(model, lambda m: m.partial_fit(X, y), ValueError, "Call fit")
    assert_unchanged(model, lambda m: m.forget([0]), ValueError, "Call fit")
    model.fit(X, y).forget([0])
    estimated = SVC(keep_rows=True, gamma="scale").fit(X, y)
    number = estimated.gamma_
    estimated.set_params(gamma=number).partial_fit(X[:1], y[:1])  # the same number


def test_probability_is_refused_as_by_fit():
    match = "CalibratedClassifierCV"
    given = SVC(probability=True)
    begin = {"classes": [0, 1]}
    assert_unchanged(given, lambda m: m.partial_fit(X, y, **begin), ValueError, match)
    model = SVC(keep_rows=True, gamma=1.0).fit(X, y)
    assert_unchanged(model, lambda m: m.update(probability=True), ValueError, match)


def test_before_any_fit():
    for action in (lambda m: m.forget([0]), lambda m: m.update(C=2.0)):
        assert_unchanged(SVC(), action, NotFittedError, "not fitted")
    assert_unchanged(
        SVC(), lambda m: m.partial_fit(X[:1], y[:1]), ValueError, "pass classes"
    )
    assert_unchanged(
        SVC(),
        lambda m: m.partial_fit(X, y, classes=[0]),
        ValueError,
        "greater than one",
    )
    model = SVC(gamma=1.0).partial_fit(X, y, classes=[0, 1])
    assert_unchanged(
        model, lambda m: m.partial_fit(X, y, classes=[0, 2]), ValueError, "not the same"
    )
    assert_unchanged(
        SVC(class_weight="balanced"),
        lambda m: m.partial_fit(X, y, classes=[0, 1]),
        ValueError,
        "balanced",
    )


@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_precomputed_kernels_have_no_rows_to_keep(estimator):
    model = estimator(kernel="precomputed").fit(X @ X.T, y)
    for action in (lambda m: m.forget([0]), lambda m: m.partial_fit(X @ X.T, y)):
        assert_unchanged(model, action, AttributeError, "precomputed")


def interrupting(A, B):
    """Be a Gaussian kernel that sends Ctrl-C once the counter has run down."""
    if CALLS["left"] is not None:
        CALLS["left"] -= 1
        if CALLS["left"] == 0:
            CALLS["left"] = None
            os.kill(os.getpid(), signal.SIGINT)
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(-1))


@pytest.mark.parametrize(
    ("estimator", "after"),
    [(SVC, 1), (SVC, 2), (SVC, 3), (SVC, 5), (CostSensitiveSVC, 2)],
)
@pytest.mark.parametrize("what", ["add", "forget", "update"])
def test_ctrl_c_changes_nothing(what, estimator, after):
    model = estimator(keep_rows=True, kernel=interrupting, C=5.0).fit(X[:90], y[:90])
    before = pickle.dumps(model)
    action = {
        "add": lambda: model.partial_fit(X[90:], y[90:]),
        "forget": lambda: model.forget(model.support_[:30]),
        "update": lambda: model.update(C=0.2),
    }[what]
    CALLS["left"] = after
    try:
        with pytest.raises(KeyboardInterrupt):
            action()
    finally:
        CALLS["left"] = None
    assert pickle.dumps(model) == before
    action()  # and afterwards it can be done
    assert model.certificate_.kkt_violation <= 1e-8


@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_ctrl_c_in_the_first_chunk_draws_no_random_number(estimator):
    """The solve of a first chunk draws a seed; what was drawn is given back."""
    generator = np.random.RandomState(3)
    model = estimator(kernel=interrupting, random_state=generator)
    before = pickle.dumps(model)
    CALLS["left"] = 2
    try:
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X, y, classes=[0, 1])
    finally:
        CALLS["left"] = None
    assert pickle.dumps(model) == before
    model.partial_fit(X, y, classes=[0, 1])
    assert model.certificate_.kkt_violation <= 1e-8
    assert model.random_state is generator  # and has been drawn from
    assert generator.randint(2**31 - 1) != np.random.RandomState(3).randint(2**31 - 1)


def test_ctrl_c_at_any_moment():
    """A timer goes off anywhere, in compiled code too: everything or nothing."""
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((400, 4))
    labels = (samples[:, 0] + rng.standard_normal(400) > 0).astype(int)
    fitted = pickle.dumps(
        SVC(keep_rows=True, gamma=0.3, C=5.0).fit(samples[:300], labels[:300])
    )
    actions = (
        lambda m: m.partial_fit(samples[300:], labels[300:]),
        lambda m: m.forget(np.arange(150)),
        lambda m: m.update(C=0.1),
    )

    armed = False  # cleared inside the try: a late alarm must not stop the test run

    def interrupt(*_):
        if armed:
            raise KeyboardInterrupt

    former = signal.signal(signal.SIGALRM, interrupt)
    ends = {"untouched": 0, "whole": 0}
    try:
        for turn in range(90):
            action = actions[turn % 3]
            model, whole = pickle.loads(fitted), pickle.loads(fitted)
            before = pickle.dumps(model)
            begun = time.perf_counter()
            action(whole)
            limit = time.perf_counter() - begun
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 1.2 * limit))
                action(model)
                armed = False
            except KeyboardInterrupt:
                armed = False
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            if pickle.dumps(model) == before:
                ends["untouched"] += 1
            else:
                ends["whole"] += 1
                assert_array_equal(model.ids_, whole.ids_)
                assert_array_equal(
                    model.decision_function(samples), whole.decision_function(samples)
                )
    finally:
        signal.signal(signal.SIGALRM, former)
    assert min(ends.values()) >= 3, ends


@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (DivideConquerSVC, ("partial_fit", "forget", "update")),
        (RampSVC, ("partial_fit", "forget", "update")),
        (DPWSSClassifier, ("partial_fit", "forget", "update")),
        (PrivateSVC, ("partial_fit", "forget", "update")),
        (ChanceConstrainedSVC, ("forget", "update")),
    ],
)
def test_the_others_refuse_and_say_why(estimator, names):
    for name in names:
        model = estimator()
        assert not hasattr(model, name)
        assert isinstance(getattr(estimator, name), Refused)
        with pytest.raises(AttributeError, match=f"{name}: .*[a-z]+.*\\.$"):
            getattr(model, name)

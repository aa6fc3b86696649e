"""A sliding window: rows enter and leave in one update, all of it or nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, SVR, CostSensitiveSVC, OneClassSVM, QuantileSVR

from tests.estimators.incremental.the_fit import (
    assert_is_the_fit,
    assert_outputs_are_the_fit,
)

X, y = make_moons(160, noise=0.25, random_state=0)
iris, species = load_iris(return_X_y=True)
shuffled = np.random.default_rng(0).permutation(150)
iris, species = iris[shuffled], species[shuffled]
heights = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]

CLASSIFIERS = {
    "svc": SVC(gamma=1.0, C=3.0),
    "cost": CostSensitiveSVC(gamma=1.0, cost_positive=4.0),
    "linear": SVC(kernel="linear", C=0.5),
    "without intercept": SVC(gamma=1.0, fit_intercept=False),
}
OUTPUTS = {
    "tube": SVR(epsilon=0.15, C=2.0, gamma=0.6),
    "quantile": QuantileSVR(quantile=0.3, C=2.0, gamma=0.6, calibrate=False),
    "quantiles": QuantileSVR(quantile=[0.2, 0.8], gamma=0.6, calibrate=False),
    "one class": OneClassSVM(nu=0.2, gamma=0.6),
}


def slid(model, samples, targets, chunk, window, **first):
    """Return the model after all rows, chunk by chunk, at most `window` of them."""
    for start in range(0, len(targets), chunk):
        rows = slice(start, start + chunk)
        model.partial_fit(samples[rows], targets[rows], window=window, **first)
        first = {}
    return model


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("chunk", [1, 7, 40])
def test_a_window_is_the_fit_on_its_rows(name, chunk):
    last = X.shape[0] if chunk > 1 else 70
    model = slid(
        clone(CLASSIFIERS[name]), X[:last], y[:last], chunk, 50, classes=[0, 1]
    )
    assert_array_equal(model.ids_, np.arange(last - 50, last))
    assert_is_the_fit(model, X[last - 50 : last], y[last - 50 : last])


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_window_of_regressors_and_one_class_models(name):
    model = slid(clone(OUTPUTS[name]), X, heights, 23, 60)
    assert_array_equal(model.ids_, np.arange(100, 160))
    assert_outputs_are_the_fit(model, X[100:], heights[100:])


def test_several_classes_weights_and_sparse_rows():
    weight = np.random.default_rng(1).uniform(0.2, 2.0, 150)
    rows = sparse.csr_matrix(iris)
    model = SVC(gamma=0.5).partial_fit(rows[:70], species[:70], [0, 1, 2], weight[:70])
    model.partial_fit(rows[70:], species[70:], None, weight[70:], window=90)
    assert_array_equal(model.ids_, np.arange(60, 150))
    assert_is_the_fit(model, rows[60:], species[60:], weight[60:])


def test_rows_that_are_named_leave_before_the_oldest_do():
    names = np.array([f"n{i}" for i in range(160)])
    model = SVC(gamma=1.0).fit(X[:100], y[:100], ids=names[:100])
    model.partial_fit(X[100:110], y[100:110], ids=names[100:110], forget_ids=["n50"])
    live = np.delete(np.arange(110), 50)
    assert_array_equal(model.ids_, names[live])
    assert_is_the_fit(model, X[live], y[live])
    settings = {"forget_ids": names[[0, 70]], "window": 112}
    model.partial_fit(X[110:120], y[110:120], ids=names[110:120], **settings)
    live = np.setdiff1d(np.arange(1, 120), [1, 2, 3, 50, 70])
    live = np.r_[[1, 2, 3], live][-112:]
    assert_array_equal(model.ids_, names[live])
    assert_is_the_fit(model, X[live], y[live])


def test_it_is_one_update_along_one_path():
    model = SVC(gamma=1.0, keep_rows=True).fit(X[:100], y[:100])
    before = len(model.history_)
    model.partial_fit(X[100:102], y[100:102], window=100)
    record = model.history_[-1]
    assert len(model.history_) == before + 1
    kind = record["stage"], record["route"], record["chunk"], record["forgotten"]
    assert kind == ("add", "path", 2, 2) and record["size"] == 100


def test_a_whole_window_is_replaced():
    model = SVC(gamma=1.0, keep_rows=True).fit(X[:60], y[:60])
    model.partial_fit(X[60:120], y[60:120], window=60)
    assert_array_equal(model.ids_, np.arange(60, 120))
    assert_is_the_fit(model, X[60:120], y[60:120])


def test_the_way_to_a_window_does_not_matter():
    """Chunks of other sizes, and adding before forgetting, lead to the same model."""
    one = slid(SVC(gamma=1.0), X, y, 9, 70, classes=[0, 1])
    other = slid(SVC(gamma=1.0), X, y, 31, 70, classes=[0, 1])
    apart = SVC(gamma=1.0).partial_fit(X, y, classes=[0, 1]).forget(np.arange(90))
    backwards = SVC(gamma=1.0).partial_fit(X[:89:-1], y[:89:-1], classes=[0, 1])
    for model in (other, apart, backwards):
        assert_allclose(
            model.decision_function(X), one.decision_function(X), rtol=0, atol=1e-8
        )


def far_rows(n, seed=0):
    """Return rows far beyond a margin around 0, and their classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    return np.c_[(2 * labels - 1) * rng.uniform(2, 3, n), rng.normal(size=n)], labels


MARGIN = np.array([[-0.5, -1], [-0.5, 1], [0.5, -1], [0.5, 1]]), np.array([0, 0, 1, 1])


def test_rows_that_change_nothing_come_and_go_in_a_window():
    far, sides = far_rows(30)
    model = SVC(kernel="linear", C=5.0, keep_rows=True)
    model.fit(np.r_[far[:20], MARGIN[0]], np.r_[sides[:20], MARGIN[1]])
    coefficients = model.dual_coef_
    model.partial_fit(far[20:25], sides[20:25], window=24)
    assert model.history_[-1]["route"] == "settled"
    assert model.history_[-1]["forgotten"] == 5
    assert model.dual_coef_ is coefficients
    live = np.r_[far[5:20], MARGIN[0], far[20:25]]
    assert_array_equal(live[model.support_], model.support_vectors_)
    assert_is_the_fit(model, live, np.r_[sides[5:20], MARGIN[1], sides[20:25]])
    # these enter without change, but the margin's own rows leave
    model.partial_fit(far[25:], sides[25:], forget_ids=[20, 21])
    assert model.history_[-1]["route"] != "settled"
    live = np.r_[far[5:20], MARGIN[0][2:], far[20:]]
    assert_is_the_fit(model, live, np.r_[sides[5:20], MARGIN[1][2:], sides[20:]])


def stored(state):
    """Count the bytes that an update state holds, with the room behind its columns."""
    columns = [state.live.X, state.live.targets, state.live.ids, state.gone]
    for task in state.tasks:
        columns += [task.members, task.beta, task.values, task.errors, task.linear]
        columns += [task.lower, task.upper]
    whole = {}
    for column in columns:
        if column is not None:
            base = column if column.base is None else column.base
            whole[id(base)] = base.nbytes
    return sum(whole.values()) + 100 * len(state.index._places)


@pytest.mark.parametrize("named", [False, True])
def test_memory_follows_the_window_not_the_stream(named):
    """Three hundred thousand rows come and go; what is stored is counted."""
    chunk, window = 5000, 10000
    n_chunks = 20 if named else 60
    far, sides = far_rows(chunk)
    model = SVC(kernel="linear", C=5.0, keep_rows=True)
    given = {"ids": [-4, -3, -2, -1]} if named else {}
    model.fit(*MARGIN, **given)
    held = []
    for number in range(n_chunks):
        ids = np.arange(number * chunk, (number + 1) * chunk)
        given = {"ids": ids} if named else {}
        live = model.ids_[4:]  # the margin's own rows stay
        gone = live[: max(0, live.size + chunk - window)]
        model.partial_fit(far, sides, forget_ids=gone, **given)
        held.append(stored(model._updates))
    assert model.ids_.size == window + 4
    assert max(held[10:]) <= max(held[:10])
    rows = 2 * 2 * 2 * (window + chunk)  # places left, room to grow, and two of each
    assert max(held) <= rows * (2 * 8 + 8 + 8 + 7 * 8) + 100 * rows
    assert len(model.history_) == (1 + n_chunks if n_chunks < 999 else 1000)


def broken(change):
    """Return a chunk and how it is given, with one thing wrong, and what is said."""
    samples, labels = X[100:110].copy(), y[100:110]
    if change == "width":
        return samples[:, :1], labels, {"window": 50}, "features"
    if change == "complex":
        return samples + 1j, labels, {"window": 50}, "[Cc]omplex"
    if change == "words":
        return samples.astype(str) + "x", labels, {"window": 50}, "could not convert"
    if change == "NaN":
        return samples * np.nan, labels, {"window": 50}, "NaN"
    return samples, labels, *WRONG[change]


WRONG = {
    "unknown": (
        {"forget_ids": [5, 5000]},
        r"forget_ids contains \[5000\], .* not live",
    ),
    "twice": ({"forget_ids": [3, 3]}, r"forget_ids contains \[3\] more than once"),
    "no ids": ({"forget_ids": 2.5}, r"forget_ids=2.5 is not a list"),
    "fractions": ({"forget_ids": [2.5]}, "forget_ids must be all integers"),
    "names": ({"forget_ids": ["3"]}, "forget_ids contains .* not live"),
    "none": ({"window": 0}, "window=0 keeps no row; give an integer >= 1"),
    "negative": ({"window": -3}, "window=-3 keeps no row"),
    "half": ({"window": 50.5}, "window=50.5 is not a number of rows"),
    "yes": ({"window": True}, "window=True is not a number of rows"),
    "short": ({"window": 9}, "window=9 is smaller than the chunk, which has 10 rows"),
    "new rows": ({"forget_ids": [105], "window": 50}, "not live"),
}


@pytest.mark.parametrize("change", [*WRONG, "width", "complex", "words", "NaN"])
def test_what_cannot_be_leaves_the_model_as_it_was(change):
    model = SVC(gamma=1.0, keep_rows=True).fit(X[:100], y[:100])
    model.partial_fit(X[110:115], y[110:115], window=100)
    before = pickle.dumps(model)
    samples, labels, given, match = broken(change)
    with pytest.raises(ValueError, match=match):
        model.partial_fit(samples, labels, **given)
    assert pickle.dumps(model) == before
    model.partial_fit(X[100:110], y[100:110], window=100)  # goes on as if nothing was
    live = np.r_[15:100, 110:115, 100:110]
    assert_is_the_fit(model, X[live], y[live])


def test_a_first_chunk_has_nothing_to_forget():
    with pytest.raises(ValueError, match="forget_ids contains"):
        SVC(gamma=1.0).partial_fit(X, y, classes=[0, 1], forget_ids=[0])


def test_rows_of_other_precision_join_in_the_wider_one():
    model = SVC(gamma=1.0, keep_rows=True).fit(X[:100].astype(np.float32), y[:100])
    model.partial_fit(X[100:], y[100:], window=100)
    rows = np.r_[X[:100].astype(np.float32).astype(float), X[100:]][60:]
    assert model.support_vectors_.dtype == np.float64
    assert_is_the_fit(model, rows, y[60:])


def test_too_late_neither_lets_in_nor_out():
    hasty = SVC(gamma=1.0, max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        hasty.partial_fit(X[:100], y[:100], classes=[0, 1])
    before = hasty.__dict__
    with pytest.raises(TimeoutError, match="stays as it was"):
        hasty.partial_fit(X[100:], y[100:], window=100)
    assert hasty.__dict__ is before
    hasty.set_params(max_time=None).partial_fit(X[100:], y[100:], window=100)
    assert_is_the_fit(hasty, X[60:], y[60:])


def test_what_a_window_let_go_is_overwritten():
    secret = np.array([[-3.14159, -2.71828]])
    far, sides = far_rows(12)
    model = SVC(kernel="linear", C=5.0, keep_rows=True)
    model.fit(np.r_[secret, far, MARGIN[0]], np.r_[0, sides, MARGIN[1]])
    model.partial_fit(far[:1] * 1.1, sides[:1], window=17)
    assert model.history_[-1]["route"] == "settled"
    array = model._updates.live.X
    assert not np.isin(secret, array if array.base is None else array.base).any()
    assert secret.tobytes() not in pickle.dumps(model)


def test_an_estimated_gamma_is_warned_of_where_the_call_is():
    model = SVC(keep_rows=True).fit(X[:100], y[:100])
    model.partial_fit(X[100:110], y[100:110], window=110)  # nothing leaves
    with pytest.warns(UserWarning, match="gamma") as found:
        model.partial_fit(X[110:], y[110:], window=110)
    assert found[0].filename == __file__

"""Regressors and one-class models that learn and forget equal fit on the live rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from widemargin import SVR, OneClassSVM, QuantileSVR, load, save

from tests.estimators.incremental.the_fit import (
    assert_outputs_are_the_fit as assert_is_the_fit,
)
from tests.estimators.incremental.the_fit import outputs

rng = np.random.default_rng(5)
X = rng.normal(size=(160, 3))
y = np.sin(2 * X[:, 0]) + 0.4 * rng.normal(size=160)

MODELS = {
    "one class": OneClassSVM(nu=0.2, gamma=0.6, keep_rows=True),
    "quantile": QuantileSVR(quantile=0.3, C=2.0, gamma=0.6, keep_rows=True),
    "quantiles": QuantileSVR(quantile=[0.1, 0.5, 0.9], gamma=0.6, keep_rows=True),
}
MODELS["tube"] = SVR(epsilon=0.15, C=2.0, gamma=0.6, keep_rows=True)
OTHERS = {  # other prices
    "one class": {"nu": 0.6},
    "tube": {"C": 0.4, "epsilon": 0.3},
    "quantile": {"C": 0.3, "quantile": 0.7},
    "quantiles": {"C": 5.0, "quantile": [0.2, 0.3, 0.8]},
}
every_model = pytest.mark.parametrize("name", MODELS)


@every_model
def test_chunks_forgetting_and_other_prices(name):
    model = clone(MODELS[name]).fit(X[:60], y[:60])
    model.partial_fit(X[60:], y[60:])
    assert_is_the_fit(model, X, y)
    assert model.history_[-1]["route"] in ("path", "warm", "refit")
    model.forget(np.arange(40))
    assert_is_the_fit(model, X[40:], y[40:])
    model.update(**OTHERS[name])
    assert_is_the_fit(model, X[40:], y[40:])
    assert [record["stage"] for record in model.history_[-3:]] == [
        "add", "forget", "update"
    ]  # fmt: skip


@every_model
@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian"])
def test_kernels(name, kernel):
    model = clone(MODELS[name]).set_params(kernel=kernel, degree=2, coef0=1.0)
    model.partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert_is_the_fit(model, X, y)
    model.forget(model.ids_[::3])
    keep = np.arange(160) % 3 != 0
    assert_is_the_fit(model, X[keep], y[keep])


@every_model
def test_weights_and_sparse_rows(name):
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 160)
    weight[::9] = 0.0
    samples = sparse.csr_matrix(X)
    model = clone(MODELS[name])
    model.partial_fit(samples[:70], y[:70], sample_weight=weight[:70])
    model.partial_fit(samples[70:], y[70:], sample_weight=weight[70:])
    live = weight > 0
    assert_array_equal(model.ids_, np.flatnonzero(live))
    assert sparse.issparse(model.support_vectors_)
    assert_is_the_fit(model, samples[live], y[live], weight[live])


@every_model
def test_duplicates_and_constant_rows(name):
    model = clone(MODELS[name]).fit(X[:40], y[:40])
    model.partial_fit(X[:40], y[:40])
    assert_is_the_fit(model, np.r_[X[:40], X[:40]], np.r_[y[:40], y[:40]])
    flat = np.ones((30, 3))
    model = clone(MODELS[name]).fit(flat[:10], y[:10])
    model.partial_fit(flat[10:], y[10:30]).forget([0, 12])
    keep = np.setdiff1d(np.arange(30), [0, 12])
    assert_is_the_fit(model, flat[keep], y[keep])


@every_model
def test_down_to_nothing_and_begin_again(name, tmp_path):
    model = clone(MODELS[name]).fit(X[:30], y[:30], ids=[f"r{i}" for i in range(30)])
    model.forget([f"r{i}" for i in range(29)])
    assert_is_the_fit(model, X[29:30], y[29:30])
    model.forget("r29")
    save(model, tmp_path / "empty")
    for emptied in (model, load(tmp_path / "empty")):
        with pytest.raises(NotFittedError, match="all rows were forgotten"):
            emptied.predict(X)
        emptied.partial_fit(X, y, ids=np.arange(160).astype(str))
        assert_is_the_fit(emptied, X, y)


@every_model
def test_a_model_file_goes_on(name, tmp_path):
    model = clone(MODELS[name]).fit(X[:80], y[:80])
    save(model, tmp_path / "model")
    twin = load(tmp_path / "model")
    for one in (model, twin):
        one.partial_fit(X[80:], y[80:]).forget([3])
    # a path from a file finds its intercept anew, to the last digits
    assert_allclose(outputs(twin, X), outputs(model, X), rtol=0, atol=1e-12)


@every_model
def test_what_cannot_be_done_changes_nothing(name):
    model = clone(MODELS[name]).fit(X[:80], y[:80], ids=np.arange(80))
    before, values = model.__dict__, outputs(model, X)
    tries = [
        (lambda: model.partial_fit(X[:5], y[:5], ids=[80, 81, 82, 82, 83]), "once"),
        (lambda: model.partial_fit(X[:2], y[:2], ids=[79, 80]), "already in use"),
        (lambda: model.partial_fit(X[:2], y[:2]), "every call or in none"),
        (lambda: model.partial_fit(X[:2, :2], y[:2], ids=[80, 81]), "features"),
        (lambda: model.partial_fit([["a"] * 3], y[:1], ids=[80]), "convert"),
        (lambda: model.partial_fit(X[:1] / 0.0, y[:1], ids=[80]), "NaN|inf"),
        (lambda: model.forget([5, 100]), "not live"),
        (lambda: model.forget([5, 5]), "once"),
        (lambda: model.update(gamma=0.1), "Call fit"),
    ]
    with np.errstate(all="ignore"):
        for action, words in tries:
            with pytest.raises(ValueError, match=words):
                action()
            assert model.__dict__ is before
    assert_array_equal(outputs(model, X), values)
    model.partial_fit(X[80:], y[80:], ids=np.arange(80, 160))  # and goes on
    assert_is_the_fit(model, X, y)


@every_model
def test_order_of_chunks_does_not_matter(name):
    forwards = clone(MODELS[name]).partial_fit(X[:70], y[:70])
    forwards.partial_fit(X[70:], y[70:])
    backwards = clone(MODELS[name]).partial_fit(X[:69:-1], y[:69:-1])
    backwards.partial_fit(X[69::-1], y[69::-1])
    assert_allclose(outputs(forwards, X), outputs(backwards, X), rtol=0, atol=1e-8)


def test_a_model_without_its_rows_says_so():
    for name in MODELS:
        model = clone(MODELS[name]).set_params(keep_rows=False).fit(X, y)
        with pytest.raises(AttributeError, match="keep_rows=True"):
            model.forget([0])
        kept = clone(MODELS[name]).fit(X, y).compact()
        assert not hasattr(kept, "forget") and not hasattr(kept, "ids_")


operation = st.tuples(
    st.sampled_from(["add", "add", "forget", "price"]), st.integers(0)
)


@pytest.mark.parametrize("name", ["one class", "quantile", "tube"])
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**6), operations=st.lists(operation, max_size=5))
@example(  # every member at a bound to within rounding: an interval of intercepts
    seed=1806, operations=[("add", 31335), ("add", 162407), ("price", 2179238902441394)]
)
def test_random_sequences(name, seed, operations):
    draw = np.random.default_rng(seed)
    kernel = str(draw.choice(["rbf", "linear"]))
    order = draw.permutation(160)[: draw.integers(4, 40)]
    samples = np.round(X, int(draw.integers(0, 3))) + 2.0  # with ties
    live, waiting = list(order[:3]), list(order[3:])
    model = clone(MODELS[name]).set_params(kernel=kernel)
    model.partial_fit(samples[live], y[live], ids=[int(i) for i in live])
    for what, number in operations:
        draw = np.random.default_rng(number)
        if what == "add" and waiting:
            new = [waiting.pop() for _ in range(draw.integers(1, len(waiting) + 1))]
            model.partial_fit(samples[new], y[new], ids=[int(i) for i in new])
            live += new
        elif what == "forget" and len(live) > 1:
            gone = draw.permutation(live)[: draw.integers(1, len(live))]
            model.forget(gone)
            live = [i for i in live if i not in gone]
        elif name == "one class":
            model.update(nu=float(draw.uniform(0.05, 1.0)))
        else:
            model.update(C=float(10 ** draw.uniform(-1, 1)))
    assert_array_equal(model.ids_, live)
    assert_is_the_fit(model, samples[live], y[live])

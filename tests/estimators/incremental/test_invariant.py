"""The model always equals fit with get_params() on the live rows."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from widemargin import SVC, CostSensitiveSVC, load, save
from widemargin.engine import updates
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.problem import DualProblem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.update_routes import Route

from tests.estimators.incremental.the_fit import assert_is_the_fit, certificates

X, y = make_moons(160, noise=0.25, random_state=0)
iris, species = load_iris(return_X_y=True)
shuffled = np.random.default_rng(0).permutation(150)
iris, species = iris[shuffled], species[shuffled]


def gaussian(A, B):
    """Return a kernel matrix by a function of ours."""
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(-1))


@pytest.mark.parametrize(
    "kernel", ["linear", "poly", "rbf", "laplacian", "sigmoid", "callable"]
)
@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_chunks_equal_fit_for_every_kernel(estimator, kernel):
    chosen = gaussian if kernel == "callable" else kernel
    model = estimator(kernel=chosen, gamma=0.7, coef0=0.5, degree=2)
    model.partial_fit(X[:40], y[:40], classes=[0, 1])
    for start in (40, 80, 120):
        model.partial_fit(X[start : start + 40], y[start : start + 40])
        # tanh is not positive definite: fit itself only finds some stationary point
        if kernel != "sigmoid":
            assert_is_the_fit(model, X[: start + 40], y[: start + 40])
    if kernel == "sigmoid":
        fresh = clone(model).fit(X, y)
        assert_allclose(model.decision_function(X), fresh.decision_function(X))


@pytest.mark.parametrize("form", ["dense64", "dense32", "csr"])
def test_forms_of_data(form):
    convert = {
        "dense64": np.asarray,
        "dense32": lambda A: A.astype(np.float32),
        "csr": sparse.csr_matrix,
    }[form]
    data = convert(X)
    model = SVC(keep_rows=True, gamma=0.5).fit(data[:100], y[:100])
    model.partial_fit(data[100:], y[100:]).forget(np.arange(0, 160, 4))
    keep = np.arange(160) % 4 != 0
    assert_is_the_fit(model, data[keep], y[keep], atol=1e-6)
    assert model.support_vectors_.dtype == data.dtype
    assert sparse.issparse(model.support_vectors_) == (form == "csr")


def test_a_dense_chunk_joins_sparse_rows_and_the_other_way_round():
    first = SVC(keep_rows=True, gamma=0.5).fit(sparse.csr_matrix(X[:80]), y[:80])
    first.partial_fit(X[80:], y[80:])
    second = SVC(keep_rows=True, gamma=0.5).fit(X[:80], y[:80])
    second.partial_fit(sparse.csr_matrix(X[80:]), y[80:])
    assert_allclose(
        first.decision_function(X), second.decision_function(X), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_multiclass(estimator):
    model = estimator(gamma=0.5).partial_fit(iris[:20], species[:20], classes=[0, 1, 2])
    model.partial_fit(iris[20:120], species[20:120])
    model.partial_fit(iris[120:], species[120:])
    assert_is_the_fit(model, iris, species)
    model.forget(np.arange(30, 90))
    keep = np.r_[0:30, 90:150]
    assert_is_the_fit(model, iris[keep], species[keep])


def test_sample_weights_and_class_weights():
    weight = np.random.default_rng(1).uniform(0.1, 3.0, 160)
    weight[::10] = 0.0
    model = SVC(keep_rows=True, gamma=0.5, class_weight={0: 2.0, 1: 0.5})
    model.partial_fit(X[:70], y[:70], classes=[0, 1], sample_weight=weight[:70])
    model.partial_fit(X[70:], y[70:], sample_weight=weight[70:])
    live = weight > 0
    assert_array_equal(model.ids_, np.flatnonzero(live))
    assert_is_the_fit(model, X[live], y[live], weight[live])
    model.partial_fit(X[:5], y[:5])  # without weights: 1 each
    rows = np.r_[np.flatnonzero(live), 0:5]
    everything = np.r_[weight[live], np.ones(5)]
    assert_is_the_fit(model, X[rows], y[rows], everything)


def test_without_intercept():
    model = SVC(keep_rows=True, gamma=0.5, fit_intercept=False).fit(X[:100], y[:100])
    model.partial_fit(X[100:], y[100:]).forget([0, 1, 2]).update(C=3.0)
    assert_array_equal(model.intercept_, [0.0])
    assert_is_the_fit(model, X[3:], y[3:])


def test_order_of_chunks_and_of_rows_does_not_matter():
    forwards = SVC(gamma=1.0).partial_fit(X[:80], y[:80], classes=[0, 1])
    forwards.partial_fit(X[80:], y[80:])
    backwards = SVC(gamma=1.0).partial_fit(X[:79:-1], y[:79:-1], classes=[0, 1])
    backwards.partial_fit(X[79::-1], y[79::-1])
    assert_allclose(
        forwards.decision_function(X), backwards.decision_function(X), rtol=0, atol=1e-9
    )


def test_add_then_forget_is_the_identity():
    settings = {"gamma": 0.5, "cost_positive": 8, "cost_negative": 2}
    model = CostSensitiveSVC(keep_rows=True, **settings).fit(X[:120], y[:120])
    before = model.decision_function(X)
    model.partial_fit(X[120:], y[120:]).forget(np.arange(120, 160))
    assert_allclose(model.decision_function(X), before, rtol=0, atol=1e-8)


def test_chunks_of_one_row():
    model = SVC(gamma=1.0).partial_fit(X[:1], y[:1], classes=[0, 1])
    assert_array_equal(model.predict(X), y[0])
    for row in range(1, 30):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    assert_is_the_fit(model, X[:30], y[:30])


def test_one_class_first_and_one_class_chunks():
    zeros, ones = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    model = SVC(gamma=1.0).partial_fit(X[zeros], y[zeros], classes=[0, 1])
    assert_array_equal(model.predict(X), 0)
    model.partial_fit(X[ones[:40]], y[ones[:40]]).partial_fit(
        X[ones[40:]], y[ones[40:]]
    )
    rows = np.r_[zeros, ones]
    assert_is_the_fit(model, X[rows], y[rows])


def test_forget_down_to_one_class_and_to_nothing_and_begin_again():
    model = SVC(keep_rows=True, gamma=1.0).fit(X, y)
    model.forget(np.flatnonzero(y == 1))
    assert_array_equal(model.predict(X), 0)
    assert model.support_.size == 0
    model.forget(model.ids_)
    assert model.ids_.size == 0
    for action in (model.predict, model.decision_function, model.forget):
        with pytest.raises(NotFittedError, match="all rows were forgotten; call"):
            action(X)
    with pytest.raises(NotFittedError, match="all rows were forgotten; call"):
        model.update(C=2.0)
    model.partial_fit(X, y)  # the classes are still known
    assert_array_equal(model.ids_, np.arange(160, 320))
    assert_is_the_fit(model, X, y)


def test_multiclass_down_to_one_class_and_back():
    model = SVC(keep_rows=True, gamma=0.5).fit(iris, species)
    model.forget(np.flatnonzero(species == 1))
    assert not (model.predict(iris) == 1).any()
    two = SVC(gamma=0.5).fit(iris[species != 1], species[species != 1])
    assert_array_equal(model.predict(iris), two.predict(iris))
    model.forget(np.flatnonzero(species == 0))
    assert_array_equal(model.predict(iris), 2)
    rows = np.r_[np.flatnonzero(species == 2), np.flatnonzero(species != 2)]
    model.partial_fit(iris[species != 2], species[species != 2])
    assert_is_the_fit(model, iris[rows], species[rows])


@pytest.mark.parametrize("opposite", [False, True])
def test_duplicates(opposite):
    model = SVC(keep_rows=True, gamma=1.0, C=2.0).fit(X[:80], y[:80])
    model.partial_fit(X[:80], 1 - y[:80] if opposite else y[:80])
    labels = np.r_[y[:80], 1 - y[:80] if opposite else y[:80]]
    assert_is_the_fit(model, np.r_[X[:80], X[:80]], labels)


def test_constant_features():
    flat = np.ones((60, 3))
    labels = np.arange(60) % 3 // 2
    model = SVC(keep_rows=True, gamma=1.0).fit(flat[:30], labels[:30])
    model.partial_fit(flat[30:], labels[30:]).forget([0, 5, 58])
    rows = np.setdiff1d(np.arange(60), [0, 5, 58])
    assert_is_the_fit(model, flat[rows], labels[rows])


def test_linear_kernel_with_many_more_rows_than_features():
    rng = np.random.default_rng(0)
    points = np.round(rng.standard_normal((1200, 2)), 1)
    labels = (points[:, 0] + rng.standard_normal(1200) > 0).astype(int)
    model = SVC(keep_rows=True, kernel="linear", C=0.5).fit(
        points[:1000], labels[:1000]
    )
    model.partial_fit(points[1000:], labels[1000:])
    assert_is_the_fit(model, points, labels)


def test_update_moves_the_model_and_equals_set_params_before_a_chunk():
    model = CostSensitiveSVC(keep_rows=True, gamma=1.0).fit(X[:120], y[:120])
    model.update(C=5.0, cost_positive=7.0, cost_negative=2.0)
    assert_is_the_fit(model, X[:120], y[:120])
    model.update(C=0.7)
    assert_is_the_fit(model, X[:120], y[:120])
    model.set_params(C=0.3, class_weight={0: 1.0, 1: 4.0})
    model.partial_fit(X[120:], y[120:])
    assert_is_the_fit(model, X, y)
    model.set_params(C=2.0).forget(np.arange(20))
    assert_is_the_fit(model, X[20:], y[20:])
    model.update(tol=1e-4)
    assert model.history_[-1]["route"] == "unchanged"


def test_balanced_weights_follow_what_is_left():
    model = SVC(keep_rows=True, gamma=1.0, class_weight="balanced").fit(X, y)
    model.forget(np.flatnonzero(y == 1)[:50])
    keep = np.setdiff1d(np.arange(160), np.flatnonzero(y == 1)[:50])
    assert_is_the_fit(model, X[keep], y[keep])
    model.forget(model.ids_[y[model.ids_] == 1])
    assert_array_equal(model.predict(X), 0)
    with pytest.raises(ValueError, match="balanced"):
        model.partial_fit(X, y)


def test_gamma_is_resolved_once_and_forget_warns():
    model = SVC().partial_fit(X[:40], y[:40], classes=[0, 1])
    first = model.gamma_
    model.partial_fit(10 * X[40:], y[40:])
    assert model.gamma_ == first
    assert_is_the_fit(model, np.r_[X[:40], 10 * X[40:]], y)
    with pytest.warns(UserWarning, match="gamma"):
        model.forget([0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC(keep_rows=True, gamma=1.0).fit(X, y).forget([0])
        SVC(keep_rows=True, kernel="linear").fit(X, y).forget([0])


def test_pickle_and_model_file_in_mid_stream(tmp_path):
    model = CostSensitiveSVC(keep_rows=True, gamma=1.0, cost_positive=3.0).fit(
        X[:80], y[:80], ids=[f"row {i}" for i in range(80)]
    )
    model.forget(["row 3", "row 7"])
    save(model, tmp_path / "model")
    copies = [pickle.loads(pickle.dumps(model)), load(tmp_path / "model")]
    for twin in (model, *copies):
        twin.partial_fit(X[80:], y[80:], ids=[f"late {i}" for i in range(80)])
        twin.forget("late 4")
    for twin in copies:
        assert_array_equal(twin.ids_, model.ids_)
        assert_array_equal(twin.decision_function(X), model.decision_function(X))


def test_history_of_every_call():
    model = SVC(keep_rows=True, gamma=1.0).fit(X[:100], y[:100])
    model.partial_fit(X[100:], y[100:]).forget([1, 2]).update(C=3.0)
    stages = [record["stage"] for record in model.history_]
    assert stages[-3:] == ["add", "forget", "update"]
    names = {"chunk", "steps", "margin", "refactorisations", "kkt_violation"}
    names |= {"exchanges", "shifts", "perturbations", "route"}
    for record, chunk, size in zip(
        model.history_[-3:], (60, 2, 0), (160, 158, 158), strict=True
    ):
        assert names | {"gap", "seconds", "objective", "size"} <= set(record)
        assert record["chunk"] == chunk and record["size"] == size
        assert record["kkt_violation"] <= 1e-8 and record["seconds"] > 0


@pytest.mark.parametrize("route", ["direct", "path", "warm", "refit", "unchanged"])
def test_history_counts_the_margin_set_on_every_route(route, monkeypatch):
    """Rows strictly inside their boxes, also where no step of a path counted them."""
    model = SVC(keep_rows=True, gamma=1.0)
    if route == "direct":  # one class: the box leaves a single point
        model.partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    else:
        model.fit(X[:100], y[:100])
    if route in ("path", "warm", "refit"):
        chosen = Route(route), 10**9
        monkeypatch.setattr(updates, "cheapest", lambda *_, **__: chosen)
    if route in ("path", "warm", "refit"):
        model.partial_fit(X[100:], y[100:])
    elif route == "unchanged":
        model.update(tol=1e-4)
    record = model.history_[-1]
    assert record["route"] == route
    coefficients = np.abs(model.dual_coef_[0])
    assert record["margin"] == np.count_nonzero(coefficients < 1.0)
    assert (record["margin"] > 0) == (route != "direct")


def test_above_2000_rows_fit_stops_at_tol_and_updates_are_exact():
    """The equality is then with the exact solution, as the documentation says."""
    samples, labels = make_moons(2500, noise=0.2, random_state=1)
    model = SVC(keep_rows=True, gamma=1.0, exact_updates=True).fit(
        samples[:2450], labels[:2450]
    )
    assert 1e-8 < model.certificate_.kkt_violation <= model.tol
    model.partial_fit(samples[2450:], labels[2450:])
    assert model.certificate_.kkt_violation <= 1e-8
    gram = Gram(samples, Gaussian(1.0))
    ends = np.where(labels == 1, 1.0, -1.0)
    dual = DualProblem(gram, ends, np.minimum(ends, 0), np.maximum(ends, 0), 0.0)
    exact = solve(dual, SolveOptions(exact=True))
    assert exact.certificate.kkt_violation <= 1e-8
    assert_allclose(
        model.certificate_.objective, exact.certificate.objective, rtol=1e-9
    )
    assert_allclose(
        model.decision_function(samples),
        exact.values + exact.intercept,
        rtol=0,
        atol=1e-7,
    )


def test_values_are_refreshed_now_and_then(monkeypatch):
    from widemargin.estimators.incremental import task_state as tasks

    monkeypatch.setattr(tasks, "REFRESH", 3)
    model = SVC(keep_rows=True, gamma=1.0).fit(X[:60], y[:60])
    ages = []
    for row in range(60, 75):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
        ages.append(model._updates.tasks[0].age)
    assert max(ages) <= 4
    assert_is_the_fit(model, X[:75], y[:75])


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 10**6),
    multiclass=st.booleans(),
    operations=st.lists(st.sampled_from(["add", "forget", "cost"]), max_size=6),
)
def test_random_sequences(seed, multiclass, operations):
    rng = np.random.default_rng(seed)
    samples, labels = (iris, species) if multiclass else (X, y)
    order = rng.permutation(len(labels))
    live, waiting = list(order[:20]), list(order[20:])
    matrix = 1.0 + np.arange(9.0).reshape(3, 3)
    np.fill_diagonal(matrix, 0.0)
    model = CostSensitiveSVC(
        keep_rows=True, gamma=0.5, cost_matrix=matrix if multiclass else None
    )
    model.partial_fit(
        samples[live],
        labels[live],
        classes=np.unique(labels),
        ids=[int(i) for i in live],
    )
    for operation in operations:
        if operation == "add" and waiting:
            new = [waiting.pop() for _ in range(min(len(waiting), rng.integers(1, 30)))]
            model.partial_fit(samples[new], labels[new], ids=[int(i) for i in new])
            live += new
        elif operation == "forget" and len(live) > 12:
            count = int(rng.integers(1, len(live) // 2))
            gone = {int(i) for i in rng.permutation(live)[:count]}
            model.forget(sorted(gone))
            live = [i for i in live if int(i) not in gone]
        else:
            prices = {} if multiclass else {"cost_positive": float(rng.uniform(3, 9))}
            C = float(10 ** rng.uniform(-1, 2))
            model.update(C=C, cost_negative=2.0, **prices)
        assert max(c.kkt_violation for c in certificates(model)) <= 1e-8
    assert_array_equal(model.ids_, live)
    if np.unique(labels[live]).size == np.unique(labels).size:
        assert_is_the_fit(model, samples[live], labels[live])


def test_an_update_says_polished_only_where_that_is_proved():
    """At C=1e9 rounding alone leaves more than a tolerance of 1e-10."""
    model = SVC(keep_rows=True, gamma=0.1, C=1e9, tol=1e-10)
    with pytest.warns(ConvergenceWarning):
        model.fit(X[:100], y[:100])
    with pytest.warns(ConvergenceWarning, match="stalled"):
        model.partial_fit(X[100:], y[100:])
    assert model.fit_status_ == 1 and model.certificate_.status == "stalled"
    assert model.certificate_.kkt_violation > 1e-10

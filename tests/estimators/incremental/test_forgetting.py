"""Nothing of a forgotten row is left: not a number, not a longer array."""

from __future__ import annotations

import gc
import pickle
from types import FunctionType, ModuleType

import numpy as np
import pytest
from scipy import sparse

from widemargin import SVC, CostSensitiveSVC, load, save
from widemargin._core import kept_slab_bytes
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian

SKIPPED = (type, ModuleType, FunctionType, str, bytes)


def reachable(thing):
    """Yield every object reachable from `thing`, arrays that own a view included."""
    seen, waiting = set(), [thing]
    while waiting:
        current = waiting.pop()
        if id(current) in seen or isinstance(current, SKIPPED):
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, np.ndarray):
            if current.base is not None:
                waiting.append(current.base)
            if current.dtype.kind == "O":
                waiting.extend(current.ravel().tolist())
            continue
        waiting.extend(gc.get_referents(current))
        waiting.extend(getattr(current, "__dict__", {}).values())


def numbers(thing):
    """Return all floating-point numbers reachable from `thing`, as float64."""
    found = [np.zeros(0)]
    for current in reachable(thing):
        if isinstance(current, np.ndarray) and current.dtype.kind == "f":
            found.append(np.ravel(current).astype(np.float64))
        elif isinstance(current, float | np.floating):
            found.append(np.array([float(current)]))
    return np.concatenate(found)


def traces(model, secrets):
    """Return which secrets are still there: raw or scaled, float64 or float32."""
    gamma, C = model.gamma_, model.C
    folded = np.sqrt(2 * gamma * np.log2(np.e)) if gamma else 1.0
    scales = np.array([1.0, gamma, np.sqrt(gamma), folded, 1 / model.n_features_in_, C])
    scales = np.concatenate([scales, -scales])
    wanted = np.outer(scales, secrets).ravel()
    wanted = np.concatenate([wanted, wanted.astype(np.float32).astype(np.float64)])
    return np.intersect1d(wanted[wanted != 0], numbers(model))


def handles(thing):
    """Return what could hold samples beyond NumPy's reach: kernels' own objects."""
    return [
        current
        for current in reachable(thing)
        if isinstance(current, Gram) or type(current).__module__ == "widemargin._core"
    ]


def kept_bytes(model, rows):
    """Return which rows the pickled model holds as they lie in memory."""
    pickled = pickle.dumps(model)
    forms = [row.astype(kind) for row in rows for kind in (np.float64, np.float32)]
    return [form for form in forms if form.tobytes() in pickled]


def scene(seed=0, n=90):
    """Return samples, labels and the numbers that occur in the rows 10 to 29 only."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = (X[:, 0] + 0.5 * rng.standard_normal(n) > 0).astype(int)
    X[10:30] += 1e-3 * np.pi * np.arange(1, 81).reshape(20, 4)
    return X, y, X[10:30].ravel()


def forgetful(kind):
    """Return an estimator whose rows could linger in a place of its own."""
    if kind == "SVC":
        return SVC(keep_rows=True, gamma=0.3, C=50.0)
    if kind == "warm start":
        return SVC(keep_rows=True, gamma=0.3, C=50.0, warm_start=True)
    return CostSensitiveSVC(keep_rows=True, gamma=0.3, C=50.0)


@pytest.mark.parametrize("kind", ["SVC", "warm start", "multiclass", "several costs"])
def test_no_weight_no_row_and_no_handle_is_left(kind):
    """Sentinel rows with sentinel weights, in two classes and in three."""
    X, y, secrets = scene()
    y = np.arange(90) % 3 if kind == "multiclass" else y
    weight = 1.0 + 1e-3 * np.e * np.arange(1, 91)
    gone = np.arange(10, 30)
    model = forgetful(kind).fit(X[:60], y[:60], sample_weight=weight[:60])
    model.partial_fit(X[60:], y[60:], sample_weight=weight[60:])
    if kind == "several costs":
        model.update(cost_matrix=[[0, 1], [1, 0]], cost_negative=1.0)
    assert traces(model, weight[gone]).size >= 20  # found while they live
    assert len(kept_bytes(model, X[gone])) == 20
    model.forget(gone)
    for twin in (model, pickle.loads(pickle.dumps(model))):
        assert traces(twin, secrets).size == 0
        assert traces(twin, weight[gone]).size == 0
        assert not handles(twin)
        assert not kept_bytes(twin, X[gone])
        assert len(kept_bytes(twin, X[60:])) == 30


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("form", ["dense", "float32", "csr"])
@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
def test_no_number_of_a_forgotten_row_is_left(kernel, form, begin):
    X, y, secrets = scene()
    X = X.astype(np.float32) if form == "float32" else X
    secrets = np.r_[secrets, secrets.astype(np.float32).astype(float)]
    data = sparse.csr_matrix(X) if form == "csr" else X
    model = CostSensitiveSVC(
        keep_rows=True, kernel=kernel, gamma=0.3, C=50.0, cost_positive=3.0
    )
    if begin == "fit":
        model.fit(data[:60], y[:60])
    else:
        model.partial_fit(data[:60], y[:60], classes=[0, 1])
    model.partial_fit(data[60:], y[60:])
    assert traces(model, secrets).size >= 80  # the search finds them while they live
    model.forget(np.arange(10, 30))
    assert traces(model, secrets).size == 0
    assert traces(pickle.loads(pickle.dumps(model)), secrets).size == 0


@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
@pytest.mark.parametrize("who", ["a class", "everybody"])
def test_nothing_is_left_of_a_class_or_of_everybody(who, begin):
    X, y, _ = scene()
    gone = np.flatnonzero(y == 1) if who == "a class" else np.arange(90)
    model = CostSensitiveSVC(keep_rows=True, gamma=0.3, C=50.0, cost_positive=3.0)
    if begin == "fit":
        model.fit(X, y)
    else:
        model.partial_fit(X, y, classes=[0, 1])
    assert traces(model, X[gone].ravel()).size >= X[gone].size
    model.forget(gone)
    for twin in (model, pickle.loads(pickle.dumps(model))):
        assert traces(twin, X[gone].ravel()).size == 0
        assert not handles(twin)
        assert not kept_bytes(twin, X[gone])
        arrays = [a for a in reachable(twin) if isinstance(a, np.ndarray) and a.ndim]
        assert {90, gone.size}.isdisjoint(len(a) for a in arrays)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_nothing_is_left_in_a_model_from_a_file_nor_in_its_next_file(form, tmp_path):
    X, y, secrets = scene()
    data = sparse.csr_matrix(X) if form == "csr" else X
    save(SVC(keep_rows=True, gamma=0.3, C=50.0).fit(data, y), tmp_path / "before")
    model = load(tmp_path / "before")
    assert traces(model, secrets).size >= 80
    save(model.forget(np.arange(10, 30)), tmp_path / "after")
    for twin in (model, load(tmp_path / "after")):
        assert traces(twin, secrets).size == 0 and not handles(twin)
    written = (tmp_path / "after").read_bytes()
    assert not any(row.tobytes() in written for row in X[10:30])
    assert all(row.tobytes() in written for row in X[30:])


def test_every_array_has_the_live_length():
    X, y, _ = scene()
    weight = np.linspace(0.5, 2.0, 90)
    model = SVC(gamma=0.3).fit(X, y, sample_weight=weight, ids=np.arange(500, 590))
    model.forget(np.arange(510, 530))
    for state in model._updates.tasks:
        for name in ("beta", "values", "linear", "lower", "upper"):
            assert getattr(state, name).shape == (70,), name
    for name in ("targets", "weights", "ids"):
        assert getattr(model._updates.live, name).shape == (70,), name
    assert model._updates.live.X.shape == (70, 4)
    assert model.ids_.shape == (70,) and model.shape_fit_ == (70, 4)
    assert model.support_.max() < 70
    lengths = {len(a) for a in reachable(model) if isinstance(a, np.ndarray) and a.ndim}
    assert not lengths & {20, 60, 90}


def test_the_search_finds_a_planted_handle():
    X, y, _ = scene()
    model = SVC(keep_rows=True, gamma=0.3).fit(X, y).forget(np.arange(10, 30))
    assert not handles(model)
    model._left = {"gram": Gram(X, Gaussian(0.3))}
    assert handles(model)
    model._left = [Gram(X, Gaussian(0.3))._core]
    assert handles(model)


@pytest.mark.parametrize(
    "where", ["attribute", "list", "view", "object array", "float32"]
)
def test_the_search_finds_a_planted_copy(where):
    X, y, secrets = scene()
    model = SVC(keep_rows=True, gamma=0.3).fit(X, y).forget(np.arange(10, 30))
    assert traces(model, secrets).size == 0
    row = X[12].copy()
    if where == "attribute":
        model._left = row * np.sqrt(0.3)
    elif where == "list":
        model.history_[-1]["left"] = [row.tolist()]
    elif where == "view":
        model._left = np.concatenate([row, np.zeros(3)])[4:]
    elif where == "object array":
        model._left = np.array([row, None], dtype=object)
    else:
        model._left = row.astype(np.float32)
    assert traces(model, secrets).size >= 1


def test_the_callers_array_is_not_kept():
    X, y, _ = scene()
    model = SVC(keep_rows=True, gamma=0.3).fit(X, y)
    before = model.decision_function(X)
    data = X.copy()
    X[:] = 0.0
    model.partial_fit(data[:1], y[:1]).forget([90])
    np.testing.assert_allclose(model.decision_function(data), before, rtol=0, atol=1e-8)


def test_wide_string_ids_do_not_leave_their_width():
    X, y, _ = scene()
    ids = [f"{i}" for i in range(90)]
    ids[40] = "a very long name of somebody"
    model = SVC(gamma=0.3).fit(X, y, ids=ids)
    model.forget("a very long name of somebody")
    assert model.ids_.dtype == np.dtype("<U2")


def test_memory_kept_for_the_next_fit_is_given_back():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(2500) < 0.5, 1, -1)
    X = rng.standard_normal((2500, 3)) + 0.9 * y[:, None]
    SVC(gamma=0.3).fit(X, y)
    model = SVC(gamma=0.3).partial_fit(X[:60], y[:60], classes=[-1, 1])
    assert kept_slab_bytes() > 0
    model.forget(model.ids_[:3])
    assert kept_slab_bytes() == 0

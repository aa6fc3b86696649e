"""dask collections on a real cluster of two worker processes, one of them mortal.

Exact fits in rounds are tested without workers in blockwise/.
"""

import contextlib
import itertools
import os
import signal
import time

import numpy as np
import pytest
from cloudpickle import dumps
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, DivideConquerSVC

from tests.oracles.rebuilt import assert_honest

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


def data(n=4000, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X, y


def early(**parameters):
    common = {"prediction": "early", "early_level": 2, "random_state": 0, "gamma": 2.0}
    return DivideConquerSVC(**(common | parameters))


def chunked(X, y, rows=500):
    return da.from_array(X, chunks=(rows, -1)), da.from_array(y, chunks=rows)


def test_early_fit_is_a_fit_of_every_cluster(client):
    X, y = data()
    model = early(tol=1e-7).fit(*chunked(X, y))
    assert 2 <= model.early_.n_clusters <= 16
    assert model.certificate_.status == "early"
    assert model.certificate_.kkt_violation <= 1.5e-7
    home = model.early_.assign(X)
    for cluster in np.unique(home):
        own = home == cluster
        if len(np.unique(y[own])) < 2:
            continue
        local = SVC(gamma=2.0, tol=1e-7).fit(X[own], y[own])
        assert_allclose(
            model.decision_function(X[own]), local.decision_function(X[own]), atol=1e-4
        )
    assert model.history_[0]["sizes"] == np.bincount(home).tolist()
    assert model.history_[0]["size"] == len(X)
    assert model.shape_fit_ == X.shape
    assert np.isin(model.support_, model.early_.support).all()  # others were borrowed
    assert_array_equal(X[model.support_], model.support_vectors_)


def test_prediction_is_lazy_and_equals_prediction_in_memory(client):
    X, y = data()
    model = early().fit(*chunked(X, y))
    Z = da.from_array(X, chunks=(700, 1))  # columns split too
    lazy = model.predict(Z)
    assert isinstance(lazy, da.Array) and lazy.chunks[0][0] == 700
    assert_array_equal(lazy.compute(), model.predict(X))
    values = model.decision_function(Z)
    assert isinstance(values, da.Array)
    assert_array_equal(values.compute(), model.decision_function(X))


def test_a_graph_of_predictions_holds_the_model_once():
    X, y = data(2000)
    model = early(C=100.0, gamma=50.0).fit(X, y)
    lazy = model.predict(da.from_array(X, chunks=(100, -1)))
    sizes = sorted(len(dumps(task)) for task in dict(lazy.__dask_graph__()).values())
    assert len(sizes) > 20
    whole = len(dumps(model))
    assert sizes[-1] < whole - model.support_vectors_.nbytes  # no support vector twice
    assert sizes[-2] < sizes[-1] / 4
    assert hasattr(model, "support_vectors_")  # the model itself keeps everything


def test_a_model_fitted_in_memory_predicts_on_collections(client):
    X, y = data(1000)
    model = SVC(gamma=2.0).fit(X, y)
    divided = DivideConquerSVC(gamma=2.0).fit(X, y)
    lazy = divided.predict(da.from_array(X, chunks=(300, -1)))
    assert_array_equal(lazy.compute(), model.predict(X))


def fitted_as_a_worker_dies(model, X, y, client, folder):
    """Fit to blocks of which one kills the worker that reads it; return that, too."""
    blocks = da.from_array(X, chunks=(500, -1))
    mortal = da.map_blocks(_once_deadly, blocks, folder=str(folder), dtype=X.dtype)
    before = set(client.run(os.getpid).values())
    model.fit(mortal, da.from_array(y, chunks=500))
    victim = int((folder / "victim").read_text())
    assert victim in before  # a worker, and it died while rows were still being read
    return model, victim


def test_one_worker_killed_during_fit_gives_the_same_model(client, tmp_path):
    X, y = data(6000)
    expected = early().fit(*chunked(X, y))
    model, victim = fitted_as_a_worker_dies(early(), X, y, client, tmp_path)
    client.wait_for_workers(2)
    assert victim not in client.run(os.getpid).values()
    assert_array_equal(model.support_, expected.support_)
    assert_array_equal(model.dual_coef_, expected.dual_coef_)
    assert_array_equal(model.early_.intercepts, expected.early_.intercepts)


def _once_deadly(block, folder):
    """Return the block; the 15th call of all kills its process, with no warning.

    There are 12 blocks: they have been surveyed, and are being sent to their clusters.
    """
    if block.size == 0:  # dask asks for the shape
        return block
    for ticket in itertools.count(1):
        with contextlib.suppress(FileExistsError):
            os.close(os.open(f"{folder}/{ticket}", os.O_CREAT | os.O_EXCL))
            break
    if ticket == 15:
        with open(f"{folder}/victim", "w") as file:
            file.write(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_dataframes_with_names_and_text_labels(client):
    X, y = data(2000)
    frame = pd.DataFrame(X, columns=["east", "north"])
    frame["label"] = np.array(["lower", "upper"])[y]
    table = dd.from_pandas(frame, npartitions=4)
    model = early().fit(table[["east", "north"]], table["label"])
    assert list(model.feature_names_in_) == ["east", "north"]
    assert list(model.classes_) == ["lower", "upper"]
    lazy = model.predict(table[["east", "north"]])
    assert np.mean(lazy.compute() == frame["label"]) > 0.9


def test_several_classes_and_weights(client):
    X, y = data(2000)
    y = y + 2 * (X[:, 0] > 0.5)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    weights[::50] = 0
    A, b = chunked(X, y)
    model = early(early_level=1, decision_function_shape="ovo")
    model.fit(A, b, sample_weight=da.from_array(weights, chunks=500))
    assert len(model.certificate_) == 6
    assert model.score(X, y) > 0.85
    assert not np.isin(np.arange(0, 2000, 50), model.support_).any()
    assert model.decision_function(A).compute().shape == (2000, 6)
    ovr = clone(model).set_params(decision_function_shape="ovr").fit(A, b)
    assert ovr.decision_function(A).compute().shape == (2000, 4)


def test_gamma_scale_and_balanced_classes_are_those_of_all_rows(client):
    X, y = data(1500)
    keep = np.flatnonzero((y == 0) | (np.arange(1500) % 5 == 0))
    X, y = X[keep], y[keep]
    parameters = {"gamma": "scale", "class_weight": "balanced"}
    model = early(**parameters).fit(*chunked(X, y, 200))
    plain = SVC(**parameters).fit(X, y)
    assert_allclose(model.gamma_, plain.gamma_, rtol=1e-9)
    assert_allclose(model.class_weight_, plain.class_weight_, rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_gamma_scale_keeps_its_digits_beside_an_offset(client, offset):
    X, y = data(1500)
    X, weights = X + offset, np.arange(1500) % 3 / 2.0
    model = early(gamma="scale").fit(*chunked(X, y, 200), sample_weight=weights)
    kept = weights > 0
    mean = np.average(X[kept] - offset, axis=0, weights=weights[kept]).mean()
    squares = (((X[kept] - offset) - mean) ** 2).mean(axis=1)
    variance = np.average(squares, weights=weights[kept])
    assert_allclose(model.gamma_, 1 / (X.shape[1] * variance), rtol=1e-9)


def exact(**parameters):
    return DivideConquerSVC(**({"C": 2.0, "gamma": 2.0, "tol": 1e-5} | parameters))


def test_exact_fit_is_the_solution_of_all_rows(client):
    X, y = data(3000)
    model = exact().fit(*chunked(X, y))
    plain = SVC(C=2.0, gamma=2.0, tol=1e-5).fit(X, y)
    assert model.early_ is None and model.fit_status_ == 0
    assert model.certificate_.kkt_violation <= 1e-5
    assert_allclose(
        model.certificate_.objective, plain.certificate_.objective, rtol=1e-6
    )
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-3)
    first, *rounds = model.history_
    assert first["stage"] == "survey" and first["blocks"] == 6
    assert len(rounds) >= 3 and rounds[-1]["violators"] == 0
    assert rounds[-1]["size"] < 2500  # the others never left their workers
    assert_array_equal(X[model.support_], model.support_vectors_)


def test_one_worker_killed_during_an_exact_fit_gives_the_same_model(client, tmp_path):
    X, y = data(6000)
    expected = exact().fit(*chunked(X, y))
    model, _ = fitted_as_a_worker_dies(exact(), X, y, client, tmp_path)
    assert model.fit_status_ == 0
    assert_array_equal(model.support_, expected.support_)
    assert_array_equal(model.dual_coef_, expected.dual_coef_)


def test_sparse_blocks_are_never_made_dense(client):
    rng = np.random.default_rng(0)
    X = sparse.random_array((1000, 100), density=0.05, format="csr", rng=rng)
    y = X[:, :50].sum(axis=1) > 1.25
    dense = da.from_array(X.toarray(), chunks=(200, -1))
    blocks = dense.map_blocks(sparse.csr_array, meta=sparse.csr_array((0, 0)))
    plain = SVC(gamma=2.0, tol=1e-5).fit(X, y)
    model = exact(C=1.0).fit(blocks, da.from_array(y, chunks=200))
    assert sparse.issparse(model.support_vectors_)
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-3)
    assert_array_equal(model.predict(blocks).compute(), plain.predict(X))
    with pytest.raises(ValueError, match="blocks of X are sparse"):
        early().fit(blocks, da.from_array(y, chunks=200))


def test_time_that_ends_between_groups_of_blocks(client):
    X, y = data(3000)
    slow = da.from_array(X, chunks=(100, -1)).map_blocks(_slowly, dtype=X.dtype)
    model = exact(max_time=1e-3)
    with pytest.warns(ConvergenceWarning, match="proved over all rows"):
        model.fit(slow, da.from_array(y, chunks=100))
    assert model.certificate_.status == "max_time" and model.fit_status_ == 1
    assert_honest(model, X, y)


def _slowly(block):
    time.sleep(0.002)
    return block


def test_joblib_on_dask_gives_the_same_model(client):
    X, y = data(2000)
    model = DivideConquerSVC(prediction="early", early_level=2, random_state=0)
    here = clone(model).fit(X, y)
    with parallel_config(backend="dask"):
        there = clone(model).fit(X, y)
    assert_array_equal(here.dual_coef_, there.dual_coef_)


def test_unknown_chunks_are_refused():
    X, y = data(100)
    A, b = chunked(X, y, 50)
    with pytest.raises(ValueError, match=r"X\.compute_chunk_sizes"):
        early().fit(A[A[:, 0] > 0], b)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "precomputed"}, "precomputed"),
        ({"checkpoint": "there"}, "checkpoint= with prediction='early'"),
        ({"max_time": 1.0}, "max_time= with prediction='early'"),
        ({"n_levels": 1, "early_level": 2}, "lower early_level"),
        ({"n_levels": 2, "prediction": "exact"}, "leave n_levels='auto'"),
    ],
)
def test_what_needs_memory_is_refused(parameters, message):
    X, y = data(100)
    with pytest.raises(ValueError, match=message):
        early(**parameters).fit(*chunked(X, y, 50))


def test_bad_rows_are_refused(client):
    X, y = data(200)
    with pytest.raises(ValueError, match="200 rows"):
        early().fit(da.from_array(X, chunks=(50, -1)), da.from_array(y[:-1], chunks=50))
    with pytest.raises(ValueError, match="greater than one"):
        early().fit(*chunked(X, np.zeros(200), 50))
    A, b = chunked(X, y, 50)
    weights = np.where(np.arange(200) == 7, np.nan, 1.0)
    with pytest.raises(ValueError, match="Input sample_weight contains NaN"):
        early().fit(A, b, sample_weight=da.from_array(weights, chunks=50))
    with pytest.raises(ValueError, match=r"Input y contains NaN"):
        early().fit(*chunked(X, weights * y, 50))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        early().fit(*chunked(X, X[:, 0], 50))
    X[7, 0] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        early().fit(*chunked(X, y, 50))


@pytest.mark.parametrize("centres", [[(1, 1), (-30, -30)], [(1, 1), (1, -1), (-30, 0)]])
def test_a_class_without_support_vectors_takes_part_in_the_finish(client, centres):
    rng = np.random.default_rng(0)
    y = np.arange(300) % len(centres)
    # Without an intercept the class far from the origin is beyond its margin.
    X = rng.normal(0.0, 0.1, (300, 2)) + np.array(centres)[y]
    plain = {"kernel": "linear", "fit_intercept": False, "tol": 1e-6}
    model = DivideConquerSVC(**plain).fit(*chunked(X, y, rows=60))
    local = SVC(**plain).fit(X, y)
    assert model.n_support_[-1] == 0
    assert_allclose(model.decision_function(X), local.decision_function(X), atol=1e-4)

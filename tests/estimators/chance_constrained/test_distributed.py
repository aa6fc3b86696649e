"""Dask arrays: the averaged method on chunks, on threads and on worker processes."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin import ChanceConstrainedSVC

dask = pytest.importorskip("dask")
array = pytest.importorskip("dask.array")


def cloud_elsewhere(zeros, *, here, fatal=None):
    """Make a chunk of means; never in the process ``here``; the first kills its own."""
    if os.getpid() == here:
        raise AssertionError("this chunk was to be made by a worker process")
    if fatal is not None and not os.path.exists(fatal):
        open(fatal, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    signs = np.where(np.arange(len(zeros)) % 2, 1.0, -1.0)
    noise = np.random.default_rng(len(zeros)).normal(size=zeros.shape)
    return noise + 0.8 * signs[:, None]


def test_dask_chunks_reach_the_optimum():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=4000)
    X = rng.normal(size=(4000, 4)) + 0.8 * y[:, None]
    exact = ChanceConstrainedSVC().fit(X, y)
    assert exact.certificate_.gap <= 1e-9 * exact.certificate_.objective
    model = ChanceConstrainedSVC(solver="ssgd", epochs=30, random_state=0)
    model.fit(array.from_array(X, chunks=(1000, 2)), array.from_array(y, chunks=1500))
    best = exact.certificate_.objective
    assert best <= model.certificate_.objective <= 1.02 * best
    assert_allclose(model.covariances_, exact.covariances_, rtol=1e-9)
    weighted = ChanceConstrainedSVC(solver="ssgd", epochs=2, random_state=0)
    weighted.fit(
        array.from_array(X, chunks=(1000, 4)),
        y,
        covariance=array.from_array(np.full(X.shape, 0.01), chunks=(1000, 4)),
        sample_weight=np.ones(4000),
    )
    assert np.isfinite(weighted.certificate_.objective)


def test_an_epoch_is_the_average_over_the_chunks():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=60)
    X = rng.normal(size=(60, 2)) + y[:, None]
    options = {"solver": "ssgd", "refine": False, "epochs": 1, "random_state": 0}
    model = ChanceConstrainedSVC(covariance=np.zeros((2, 2)), **options)
    model.fit(array.from_array(X, chunks=(20, 2)), y)
    draws = model._generator()
    seed = int(draws.integers(np.iinfo(np.int32).max))
    parts = []
    for rows in np.split(np.arange(60), 3):
        order = np.random.default_rng([seed, rows[0]]).permutation(20)
        w, b = np.zeros(2), 0.0
        for t, i in enumerate(rows[order], start=1):
            sign = 1.0 if y[i] == 1 else -1.0
            violated = sign * (w @ X[i] + b) < 1.0
            w = (1.0 - 1.0 / t) * w + (60.0 / t) * violated * sign * X[i]
            b += (60.0 / t) * violated * sign
        parts.append((*w, b))
    mean = np.mean(parts, axis=0)
    assert_allclose(model.coef_[0], mean[:2], rtol=1e-9)
    assert_allclose(model.intercept_[0], mean[2], rtol=1e-9)


def test_other_solvers_refuse_dask():
    X = array.zeros((10, 2), chunks=(5, 2))
    with pytest.raises(ValueError, match="dask arrays need solver='ssgd'"):
        ChanceConstrainedSVC().fit(X, np.arange(10) % 2)


def test_worker_processes_give_what_threads_give(client, tmp_path):
    """The chunks are made and worked on by two processes; one dies on the way."""
    sizes = (500, 501, 502, 503)
    n, y = sum(sizes), np.concatenate([np.arange(size) % 2 for size in sizes])
    zeros = array.zeros((n, 4), chunks=(sizes, (4,)))

    def fitted(X):
        model = ChanceConstrainedSVC(solver="ssgd", epochs=5, random_state=0)
        return model.fit(X, array.from_array(y, chunks=(sizes,)))

    made = zeros.map_blocks(
        cloud_elsewhere, here=os.getpid(), fatal=str(tmp_path / "died"), dtype=float
    )
    on_cluster = fitted(made)
    assert (tmp_path / "died").exists()
    assert len(client.scheduler_info()["workers"]) >= 1
    X = np.concatenate([cloud_elsewhere(np.zeros((k, 4)), here=-1) for k in sizes])
    exact = ChanceConstrainedSVC().fit(X, y)
    assert exact.certificate_.gap <= 1e-9 * exact.certificate_.objective
    best = exact.certificate_.objective
    assert best <= on_cluster.certificate_.objective <= 1.05 * best
    with dask.config.set(scheduler="threads"):
        on_threads = fitted(array.from_array(X, chunks=(sizes, (4,))))
    assert_allclose(on_cluster.coef_, on_threads.coef_, rtol=1e-12)
    assert_allclose(on_cluster.intercept_, on_threads.intercept_, rtol=1e-12)

"""Blocks whose rows bring covariances: from disk, from functions, from dask."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from widemargin import ChanceConstrainedSVC

N, D, BAD = 3000, 3, 2500


def on_disk(path, array):
    """Return the array as a read-only memory map."""
    stored = np.memmap(path, dtype=array.dtype, mode="w+", shape=array.shape)
    stored[:] = array
    stored.flush()
    return np.memmap(path, dtype=array.dtype, mode="r", shape=array.shape)


def cloud(n, d, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 0.7 * y[:, None], y


def extras_of(kind, n, scale):
    """Return covariances of single samples, in these units, as `fit` takes them."""
    rng, scale = np.random.default_rng(1), np.asarray(scale)
    if kind == "variances":
        return {"covariance": 0.05 * rng.random((n, len(scale))) * np.square(scale)}
    factors = 0.2 * rng.normal(size=(n, len(scale), 2)) * scale[:, None]
    if kind == "factors":
        return {"covariance_factor": factors}
    return {"covariance": factors @ factors.transpose(0, 2, 1)}


def fit_from(source, X, y, extras, folder, **options):
    """Fit to the same rows as they come from a file, from blocks, or from dask."""
    model = ChanceConstrainedSVC(solver="ssgd", random_state=0, **options)
    if source == "memmap":
        return model.fit(on_disk(folder / "means.dat", X), y, **extras)
    if source == "dask":
        array = pytest.importorskip("dask.array")
        return model.fit(array.from_array(X, chunks=(N // 4, D)), y, **extras)

    def blocks():
        for start in range(0, len(X), 700):
            rows = slice(start, start + 700)
            yield X[rows], y[rows], {name: part[rows] for name, part in extras.items()}

    return model.fit_blocks(blocks)


def spoilt(problem):
    """Return covariances of which one, that of row BAD, is none; and the message."""
    if problem == "infinite factor":
        factors = np.ones((N, D, 1))
        factors[BAD] = np.inf
        return {"covariance_factor": factors}, f"first in entry {BAD}"
    if problem == "negative variance":
        variances = np.ones((N, D))
        variances[BAD] = -1.0
        return {"covariance": variances}, f"sample {BAD} has a negative variance"
    matrices = np.tile(np.eye(D), (N, 1, 1))
    if problem == "asymmetric":
        matrices[BAD, 0, 1] = 0.5
        return {"covariance": matrices}, f"sample {BAD} is not symmetric"
    if problem == "NaN":
        matrices[BAD, 1, 1] = np.nan
        return {"covariance": matrices}, f"first in entry {BAD}"
    matrices[BAD] *= -2.0
    message = (
        f"sample {BAD} is not positive semidefinite: its smallest eigenvalue is -2"
    )
    return {"covariance": matrices}, message


@pytest.mark.parametrize("source", ["memmap", "blocks", "dask"])
@pytest.mark.parametrize(
    "problem",
    ["negative variance", "asymmetric", "indefinite", "NaN", "infinite factor"],
)
def test_the_bad_sample_is_named_by_its_number_among_all_rows(
    source, problem, tmp_path
):
    X, y = cloud(N, D)
    extras, message = spoilt(problem)
    with pytest.raises(ValueError, match=message):
        fit_from(source, X, y, extras, tmp_path, memory_mb=0.0352)


@pytest.mark.parametrize("source", ["memmap", "dask"])
@pytest.mark.parametrize(
    "name", ["y", "covariance", "covariance_factor", "sample_weight"]
)
@pytest.mark.parametrize("length", [N - 1, 2 * N])
def test_arrays_of_another_length_are_refused(source, name, length, tmp_path):
    X, y = cloud(N, D)
    shapes = {"covariance": (length, D), "covariance_factor": (length, D, 1)}
    extras = {name: np.ones(shapes.get(name, (length,)))}
    if name == "y":
        y, extras = np.arange(length) % 2, {}
    message = rf"^{name} has shape \({length}.*\), but X has {N} rows"
    with pytest.raises(ValueError, match=message):
        fit_from(source, X, y, extras, tmp_path, memory_mb=0.0352)


def test_chunks_of_unknown_length_are_counted():
    array = pytest.importorskip("dask.array")
    X, y = cloud(N, D)
    extras, message = spoilt("negative variance")
    kept = array.from_array(np.arange(N) >= 0, chunks=N // 4)
    model = ChanceConstrainedSVC(solver="ssgd")
    given = [
        array.from_array(part, chunks=(N // 4, *part.shape[1:]))[kept]
        for part in (X, y, extras["covariance"])
    ]
    with pytest.raises(ValueError, match=message):
        model.fit(*given)


@pytest.mark.parametrize("source", ["memmap", "blocks", "dask"])
@pytest.mark.parametrize("kind", ["variances", "factors", "matrices"])
def test_covariances_of_single_samples_reach_what_memory_reaches(
    source, kind, tmp_path
):
    X, y = cloud(N, D)
    units = [1.0, 20.0, 0.05]
    X, extras = X * units, extras_of(kind, N, units)
    exact = ChanceConstrainedSVC(standardize=True).fit(X, y, **extras)
    best = exact.certificate_.objective
    assert exact.certificate_.gap <= 1e-9 * best
    model = fit_from(source, X, y, extras, tmp_path, epochs=5, standardize=True)
    assert best <= model.certificate_.objective <= 1.02 * best
    assert model.covariances_ is None


@pytest.mark.parametrize(
    ("kind", "n"), [("variances", 18_000), ("factors", 12_000), ("matrices", 2_000)]
)
def test_covariances_on_disk_stay_within_the_budget(kind, n, tmp_path):
    d, budget, options = 20, 4.0, {"C": 1e-2, "random_state": 0}
    X, y = cloud(n, d)
    (name, covariances), *_ = extras_of(kind, n, np.ones(d)).items()
    extras = {name: on_disk(tmp_path / "covariances.dat", covariances)}
    means = on_disk(tmp_path / "means.dat", X)
    assert means.nbytes + extras[name].nbytes > budget * 1e6
    model = ChanceConstrainedSVC(solver="ssgd", epochs=1, memory_mb=budget, **options)
    tracemalloc.start()
    try:
        model.fit(means, y, **extras)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= budget * 1e6
    same = ChanceConstrainedSVC(solver="ssgd", epochs=2, **options).fit(X, y, **extras)
    value = same.certificate_.objective
    assert 0.99 * value <= model.certificate_.objective <= 1.03 * value

"""Training on blocks is training in memory: dense or sparse, weighted, in chunks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from widemargin import ChanceConstrainedSVC
from widemargin.estimators.chance_constrained import stochastic as solver
from widemargin.estimators.chance_constrained.block_sources import (
    Block,
    in_memory,
    user_blocks,
)
from widemargin.estimators.chance_constrained.first_pass import Scaling, first_pass
from widemargin.uncertainty.covariance_tables import FactorTable

N, D = 600, 4
UNITS, OFFSETS = np.array([1.0, 20.0, 0.05, 3.0]), np.array([0.0, 50.0, 1.0, -2.0])


def cloud():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=N)
    X = rng.normal(size=(N, D)) + 0.9 * y[:, None]
    return X * UNITS + OFFSETS, y


def model(**options):
    return ChanceConstrainedSVC(
        solver="ssgd", **{"epochs": 5, "random_state": 0, **options}
    )


def assert_same_model(ours, theirs):
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
    assert_allclose(ours.bounded_share_, theirs.bounded_share_, rtol=1e-12)
    assert ours.n_iter_ == theirs.n_iter_
    values = ours.certificate_.objective, theirs.certificate_.objective
    assert_allclose(*values, rtol=1e-9)


@pytest.mark.parametrize("form", ["dense", "sparse", "float32", "float32 sparse"])
@pytest.mark.parametrize("standardize", [True, False])
def test_one_block_of_all_rows_is_the_fit_in_memory(form, standardize):
    X, y = cloud()
    X = X.astype(np.float32) if "float32" in form else X
    X = sparse.csr_matrix(X) if "sparse" in form else X
    in_memory = model(standardize=standardize).fit(X, y)
    assert_same_model(model(standardize=standardize).fit_blocks([(X, y)]), in_memory)


def test_one_block_is_the_fit_in_memory_with_several_classes():
    """All classes are solved at once wherever the rows are, and have their history."""
    X, y = cloud()
    y = y + (X[:, 0] > 1.0)
    ours, theirs = model().fit_blocks([(X, y)]), model().fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9)
    epochs = [(stage["stage"], stage["size"]) for stage in ours.history_]
    assert epochs == 3 * [*(("epoch", k) for k in range(1, 6)), ("refit", 5)]
    last = [
        stage["objective"] for stage in theirs.history_ if stage["stage"] == "refit"
    ]
    assert_allclose(last, [part.objective for part in theirs.certificate_], rtol=1e-9)


@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_blocks_are_dense_blocks(standardize):
    """The defect: the mean was taken from the intercept, but never from sparse rows.

    One sparse block suffices that none is centred: then all have the same steps.
    """
    X, y = cloud()
    parts = [(X[rows], y[rows]) for rows in np.split(np.arange(N), 3)]
    thin = [(sparse.csr_array(rows), labels) for rows, labels in parts]
    ours = model(standardize=standardize).fit_blocks(thin)
    assert_same_model(
        model(standardize=standardize).fit_blocks([*parts[:2], thin[2]]), ours
    )
    dense = model(standardize=standardize, epochs=30).fit_blocks(parts)
    exact = ChanceConstrainedSVC(standardize=True).fit(X, y)
    assert exact.certificate_.gap <= 1e-9 * exact.certificate_.objective
    if standardize:
        longer = model(standardize=True, epochs=30).fit_blocks(thin)
        for trained in (longer, dense):
            assert abs(trained.score(X, y) - exact.score(X, y)) <= 0.02


def test_singular_class_covariances_are_factors_in_blocks_too():
    """A second pass keeps the centred rows, as in memory, where features depend."""
    X, y = cloud()
    X = np.column_stack([X, X[:, 0] + X[:, 2]])
    parts = [(X[rows], y[rows]) for rows in np.split(np.arange(N), 3)]
    tables = [
        first_pass(source, model()).table
        for source in (in_memory([Block(X, y)]), user_blocks(parts))
    ]
    null = np.array([1.0, 0.0, 1.0, 0.0, -1.0])
    for table in tables:
        assert isinstance(table, FactorTable)
        assert np.abs(table.images(null)).max() <= 1e-14
    assert_allclose(tables[1].dense(), tables[0].dense(), rtol=1e-9, atol=1e-15)
    assert_same_model(model().fit_blocks([(X, y)]), model().fit(X, y))


def test_a_scaling_that_centres_refuses_sparse_rows():
    scaling = Scaling(np.ones(D), np.ones(D))
    with pytest.raises(TypeError, match="cannot be applied to sparse rows"):
        scaling.apply(sparse.csr_array(np.eye(D)))


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("sampling", ["permutation", "replacement"])
def test_rows_without_weight_are_absent_from_blocks(own, sampling):
    """Also where they are a whole block, or bring a label that nobody else has."""
    X, y = cloud()
    weights = np.random.default_rng(1).integers(1, 3, size=N).astype(float)
    absent = np.zeros(N, dtype=bool)
    absent[::5] = absent[200:400] = True
    weights[absent] = 0.0
    y = np.where(absent, 7 - 10 * (np.arange(N) % 2), y)  # above and below the others
    extras = {"covariance": np.full(X.shape, 0.02) * UNITS**2} if own else {}
    extras["sample_weight"] = weights

    def blocks(kept):
        parts = []
        for rows in np.split(np.arange(N), 3):
            rows = rows[kept[rows]]
            more = {name: values[rows] for name, values in extras.items()}
            parts.append((X[rows], y[rows], more))
        return [part for part in parts if len(part[1])]

    options = {"standardize": True, "sampling": sampling}
    with_them = model(**options).fit_blocks(blocks(np.ones(N, dtype=bool)))
    without = model(**options).fit_blocks(blocks(~absent))
    assert_array_equal(with_them.classes_, [0, 1])
    assert_same_model(with_them, without)
    in_memory = model(**options).fit(X, y, **extras)
    assert_same_model(model(**options).fit_blocks([(X, y, extras)]), in_memory)


def test_a_single_class_with_weight_is_refused_in_blocks():
    X, y = cloud()
    extras = {"sample_weight": (y == 0).astype(float)}
    with pytest.raises(ValueError, match=r"got 1 class \(rows with zero sample_weight"):
        model().fit_blocks([(X, y, extras)])


def test_equal_chunks_are_visited_in_different_orders(monkeypatch):
    array = pytest.importorskip("dask.array")
    X, y = cloud()
    visit, orders = solver.visited, []

    def watched(problem, order, rule, descent):
        orders.append(order)
        return visit(problem, order, rule, descent)

    monkeypatch.setattr(solver, "visited", watched)
    chunks = array.from_array(X, chunks=(N // 4, D))
    models = [model(epochs=2).fit(chunks, y) for _ in range(2)]
    drawn = {tuple(order.tolist()) for order in orders}
    assert len(orders) == 16 and len(drawn) == 8  # 4 chunks, 2 epochs, 2 equal fits
    assert_array_equal(models[0].coef_, models[1].coef_)

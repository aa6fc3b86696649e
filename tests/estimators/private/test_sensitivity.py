"""One record's reach: the bound is attained, never exceeded; clipping makes it true."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from widemargin.estimators.private.hinge import minimise_hinge
from widemargin.estimators.private.sensitivity import (
    clip_rows,
    coordinate_sensitivity,
    gradient_sensitivity,
    inflated_sensitivity,
    row_bound,
    weight_sensitivity,
)

GAP = 1e-10  # in units of C^2 R^2


def minimiser(X, y, cost):
    reach = cost * np.linalg.norm(X, axis=1).max()
    return minimise_hinge(X, y, np.full(len(y), cost), GAP * reach**2)


def neighbour_pairs(rng, count, adjacency):
    """Adversarial neighbours: rows on the sphere, opposite labels, aligned records."""
    for _ in range(count):
        n, d = int(rng.integers(1, 12)), int(rng.integers(1, 5))
        radius, cost = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-2, 0.5)
        X = rng.normal(size=(n, d))
        X *= radius / np.linalg.norm(X, axis=1, keepdims=True)
        y = rng.choice([-1.0, 1.0], size=n)
        record = rng.normal(size=d) if rng.random() < 0.5 else X[0] * y[0]
        record *= radius / np.linalg.norm(record)
        label = rng.choice([-1.0, 1.0])
        if adjacency == "replace":
            other_X, other_y = X.copy(), y.copy()
            other_X[0], other_y[0] = record, label
        else:
            other_X, other_y = np.vstack([X, record]), np.append(y, label)
        yield X, y, other_X, other_y, cost, radius


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_the_bound_is_attained_and_never_exceeded(adjacency, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    ratios = []
    for X, y, other_X, other_y, cost, radius in neighbour_pairs(rng, 600, adjacency):
        move = minimiser(X, y, cost) - minimiser(other_X, other_y, cost)
        exact = weight_sensitivity(cost, radius, adjacency)
        bound = inflated_sensitivity(exact, GAP * (cost * radius) ** 2)
        ratios.append(np.linalg.norm(move) / bound)
    assert max(ratios) <= 1.0
    assert max(ratios) > 0.999


def test_replacing_one_record_can_move_the_weights_by_2CR():
    # Far inside the margin both records pull with their full weight, one each way.
    X, cost, radius = np.array([[1.0, 0.0]]), 0.1, 1.0
    move = minimiser(X, np.array([1.0]), cost) - minimiser(X, np.array([-1.0]), cost)
    assert_allclose(move, [2 * cost * radius, 0.0], atol=1e-6)


def test_class_weights_scale_the_bound():
    X = np.array([[1.0]])
    heavy = minimise_hinge(X, np.array([1.0]), np.array([0.3]), 1e-13)
    light = minimise_hinge(X, np.array([-1.0]), np.array([0.1]), 1e-13)
    assert_allclose(heavy - light, [0.4], atol=1e-6)
    assert abs(float((heavy - light)[0])) <= weight_sensitivity(0.3, 1.0, "replace")


def test_scales_by_hand():
    assert weight_sensitivity(0.1, 3.0, "replace") == pytest.approx(0.6)
    assert weight_sensitivity(0.1, 3.0, "add-remove") == pytest.approx(0.3)
    assert inflated_sensitivity(0.6, 0.02) == pytest.approx(1.0)
    assert coordinate_sensitivity(0.5, 16) == pytest.approx(2.0)
    assert gradient_sensitivity(2.0, 3.0, 100) == pytest.approx(0.12)
    assert row_bound(3.0, 4.0) == pytest.approx(5.0)
    with pytest.raises(ValueError, match="adjacency must be one of"):
        weight_sensitivity(0.1, 3.0, "swap")


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_clipping_really_bounds_rows(form, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(500, 7)) * 10 ** rng.uniform(-8, 8, size=(500, 1))
    X[0] = 0.0
    X[1, 0], X[2, 0] = 1e300, 1e-300
    given = sparse.csr_array(X) if form == "sparse" else X
    clipped = clip_rows(given, 1.3)
    clipped = clipped.toarray() if form == "sparse" else clipped
    lengths = np.linalg.norm(clipped, axis=1)
    assert lengths.max() <= 1.3
    assert lengths.max() > 1.3 * (1 - 1e-9)
    with np.errstate(over="ignore"):
        short = np.linalg.norm(X, axis=1) <= 1.3
    assert_array_equal(clipped[short], X[short])


def test_float32_rows_are_bounded_in_float64():
    X = np.full((1, 3), 1e10, dtype=np.float32)
    clipped = clip_rows(X, 1.0)
    assert clipped.dtype == np.float64
    assert np.linalg.norm(clipped) <= 1.0

"""Ties between the votes of pairs, with and without costs."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from widemargin import CostSensitiveSVC

COSTS = np.array([[0, 1, 5], [10, 0, 1], [2, 20, 0]], dtype=float)
CENTRES = [[0, 0], [1.5, 0], [0.5, 1.5]]


def fitted(kind):
    """Fit labels that overlap much, so that there are ties; return it and new rows."""
    rng = np.random.default_rng(2)
    X, _ = make_blobs(90, 2, centers=CENTRES, cluster_std=0.9, random_state=0)
    rows, y = rng.uniform(-3, 3, (400, 2)), rng.integers(0, 3, len(X))
    model = CostSensitiveSVC(gamma=0.5, decision_function_shape="ovo")
    if kind == "a matrix":
        return model.set_params(cost_matrix=COSTS).fit(X, y), rows
    return model.fit(X, y, sample_costs=COSTS[y] if kind == "by row" else None), rows


@pytest.mark.parametrize("kind", ["a matrix", "by row", "none"])
def test_ties_go_to_the_largest_sum_where_costs_are_reduced_to_pairs(kind):
    model, rows = fitted(kind)
    values = model.decision_function(rows)
    votes, sums = np.zeros((len(rows), 3)), np.zeros((len(rows), 3))
    for column, (first, second) in enumerate(combinations(range(3), 2)):
        votes[:, first] += values[:, column] > 0
        votes[:, second] += values[:, column] <= 0
        sums[:, first] += values[:, column]
        sums[:, second] -= values[:, column]
    most = votes == votes.max(axis=1, keepdims=True)
    plainly = votes.argmax(axis=1)
    broken = np.where(most, sums, -np.inf).argmax(axis=1)
    assert (broken != plainly).any()
    assert_array_equal(model.predict(rows), plainly if kind == "none" else broken)
    assert_array_equal(model.set_params(break_ties=False).predict(rows), plainly)
    model.set_params(break_ties=True, decision_function_shape="ovr")
    assert_array_equal(model.predict(rows), broken)

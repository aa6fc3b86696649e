"""Votes of pairs of classes, and the rounding of several sets of coefficients."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.estimators.base.multiclass import vote


@pytest.mark.parametrize("n_classes", [3, 4, 7])
def test_the_class_with_most_votes_wins_and_the_lowest_of_several(n_classes):
    pairs = list(combinations(range(n_classes), 2))
    decisions = np.random.default_rng(0).standard_normal((200, len(pairs)))
    decisions[0] = 0.0  # a tie of a pair is a vote for its second class
    votes = np.zeros((200, n_classes))
    for column, (first, second) in enumerate(pairs):
        for row, value in enumerate(decisions[:, column]):
            votes[row, first if value > 0 else second] += 1
    assert_array_equal(vote(decisions, n_classes), votes.argmax(axis=1))


@pytest.mark.parametrize("layout", [np.asarray, sparse.csc_array])
def test_errors_of_a_table_are_those_of_its_columns(layout):
    rng = np.random.default_rng(1)
    gram, table = Gram(rng.standard_normal((30, 3)), Gaussian(0.5)), rng.random((30, 4))
    expected = [gram.float32_error(column) for column in table.T]
    assert_allclose(gram.float32_errors(layout(table)), expected, rtol=1e-12)

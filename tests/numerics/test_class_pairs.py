"""Rows of pairs of classes and the table of their coefficients, against slow twins."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from widemargin import _core
from widemargin.estimators.base.multiclass import class_pairs
from widemargin.numerics.class_pairs import rows_of_pairs, stacked_pairs


def labels_of(n_classes, n=60, seed=0):
    return np.random.default_rng(seed).integers(n_classes, size=n)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("dtype", [np.int64, np.int8])
def test_a_pair_has_the_rows_of_its_classes(n_classes, dtype):
    labels = labels_of(n_classes).astype(dtype)
    labels[labels == 1] = 0  # a class without rows, as after forgetting them
    pairs = np.array(class_pairs(n_classes))
    offsets, rows, signs = rows_of_pairs(labels, pairs, n_classes)
    assert len(offsets) == len(pairs) + 1 and offsets[-1] == rows.size
    for number, (first, second) in enumerate(pairs):
        part = slice(offsets[number], offsets[number + 1])
        expected = np.flatnonzero((labels == first) | (labels == second))
        assert_array_equal(rows[part], expected)
        assert_array_equal(signs[part], np.where(labels[expected] == first, 1.0, -1.0))


def slow_table(labels, pairs, offsets, rows, coefficients, places, table_rows):
    used = sorted(set(rows[coefficients != 0]), key=lambda row: (labels[row], row))
    table = np.zeros((table_rows, len(used)))
    for number in range(len(pairs)):
        for k in range(offsets[number], offsets[number + 1]):
            if coefficients[k] != 0:
                place = places[number, labels[rows[k]]]
                table[place, used.index(rows[k])] = coefficients[k]
    return used, table


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_the_table_of_all_pairs(n_classes):
    labels, rng = labels_of(n_classes), np.random.default_rng(1)
    pairs = np.array(class_pairs(n_classes))
    offsets, rows, signs = rows_of_pairs(labels, pairs, n_classes)
    coefficients = np.where(rng.random(rows.size) < 0.1, signs * rng.random(), 0.0)
    places = rng.integers(4, size=(len(pairs), n_classes))
    given = np.array(offsets), rows, coefficients, places, 4
    support, n_support, table = stacked_pairs(labels, *given)
    used, expected = slow_table(labels, pairs, *given)
    assert_array_equal(support, used)
    assert_array_equal(table, expected)
    assert_array_equal(n_support, np.bincount(labels[used], minlength=n_classes))
    assert n_support.dtype == np.int32


def test_without_a_support_vector_the_table_is_empty():
    labels, places = np.array([0, 1, 0]), np.zeros((1, 2), dtype=np.int64)
    offsets, rows, _ = rows_of_pairs(labels, np.array([[1, 0]]), 2)
    found = stacked_pairs(labels, np.array(offsets), rows, np.zeros(3), places, 1)
    assert [part.shape for part in found] == [(0,), (2,), (1, 0)]


LABELS, ROWS = np.array([0, 1, 2]), np.array([0, 1, 0, 2, 1, 2])
PAIRS, OFFSETS = np.array([[0, 1], [0, 2], [1, 2]]), np.array([0, 2, 4, 6])
PLACES = np.zeros((3, 3), dtype=np.int64)


@pytest.mark.parametrize(
    ("labels", "pairs", "refusal"),
    [
        (np.array([0, 1, 3]), PAIRS, "class numbers"),
        (np.array([0, -1, 2]), PAIRS, "class numbers"),
        (LABELS, np.array([[0, 1], [0, 3], [1, 2]]), "class numbers"),
        (LABELS, PAIRS[:2], "all pairs"),
        (LABELS, np.array([[0, 1], [0, 1], [1, 2]]), "all pairs"),
    ],
)
def test_what_are_no_pairs_of_these_classes_is_refused(labels, pairs, refusal):
    with pytest.raises((ValueError, IndexError), match=refusal):
        rows_of_pairs(labels, pairs, 3)


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"rows": np.array([0, 1, 0, 2, 1, 3])}, "not there"),
        ({"coefficients": np.ones(5)}, "a coefficient"),
        ({"offsets": np.array([0, 2, 4, 5])}, "offsets must run"),
        ({"offsets": np.array([0, 4, 2, 6])}, "offsets must rise"),
        ({"places": PLACES + 2}, "a row that is not there"),
        ({"places": PLACES - 1}, "rows of a third"),
        ({"support": np.array([0, 1, 7])}, "no sample"),
        ({"support": np.array([0, 1])}, "has a column"),
    ],
)
def test_compiled_code_trusts_no_number(change, refusal):
    given = {
        "labels": LABELS, "rows": ROWS, "coefficients": np.ones(6),
        "offsets": OFFSETS, "places": PLACES, "support": LABELS,
        "table": np.zeros((2, 3)),
    }  # fmt: skip
    _core.pair_table(**given)
    with pytest.raises((ValueError, IndexError), match=refusal):
        _core.pair_table(**given | change)

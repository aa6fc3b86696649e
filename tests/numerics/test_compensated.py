"""Sums that round once, against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from widemargin.numerics.compensated import (
    sums_of_products,
    two_product,
    two_sum,
)


def wild(rng, size):
    """Floats over forty orders of magnitude, so that sums cancel and digits drop."""
    return rng.normal(size=size) * 10.0 ** rng.uniform(-20, 20, size=size)


def test_a_sum_and_a_product_are_two_floats_exactly(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    a, b = wild(rng, 500), wild(rng, 500)
    for exact, parts in (
        (lambda x, y: x + y, two_sum(a, b)),
        (lambda x, y: x * y, two_product(a, b)),
    ):
        for x, y, high, low in zip(a, b, *parts, strict=True):
            assert Fraction(high) + Fraction(low) == exact(Fraction(x), Fraction(y))
            assert high + low == high


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_sums_of_products_round_once(form, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    matrix = wild(rng, (30, 6)) * (rng.random((30, 6)) < 0.7)
    vectors, terms = wild(rng, (2, 6)), wild(rng, (3, 30))
    # The first products cancel to the last digit but one: plain floats keep none.
    terms[0] = -(matrix @ vectors[0])
    expected = [
        float(
            sum(map(Fraction, own), Fraction(0))
            + sum(
                (
                    Fraction(entry) * Fraction(x)
                    for vector in vectors
                    for entry, x in zip(row, vector, strict=True)
                ),
                Fraction(0),
            )
        )
        for row, own in zip(matrix, terms.T, strict=True)
    ]
    assert_array_equal(sums_of_products(form(matrix), vectors, terms), expected)
    plain = terms.sum(axis=0) + matrix @ vectors[0] + matrix @ vectors[1]
    assert (plain != expected).any()


def test_no_rows_no_sums():
    assert sums_of_products(np.empty((0, 3)), [np.ones(3)], [np.empty(0)]).shape == (0,)

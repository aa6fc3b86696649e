"""Tables of stored records."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from suites.record_tables import exponent


def test_exponents():
    n = np.array([1e3, 1e4, 1e5])
    assert_allclose(exponent(n, 1e-6 * n**1.7), 1.7)

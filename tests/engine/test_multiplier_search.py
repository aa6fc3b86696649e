"""The search for the multiplier of a nu problem."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from widemargin.engine.nu.multiplier_search import Search
from widemargin.engine.solve_options import SolveOptions


def test_trials_whose_logarithms_are_one_leave_the_slope_as_it_was():
    gram = SimpleNamespace(diagonal=lambda: np.ones(2))
    origin = SimpleNamespace(has_margin=True, budget=1.0, gram=gram)
    search = Search(origin, SolveOptions(), None, lambda _: None)
    tiny = 1e-150
    search.floor, search.slope = 0.0, 2.0
    search.before = SimpleNamespace(multiplier=tiny, miss=-0.5)
    search.last = SimpleNamespace(multiplier=np.nextafter(tiny, 1.0), miss=-0.25)
    found = search.next_multiplier()  # divided by zero once
    assert search.slope == 2.0 and tiny < found <= 4.0 * tiny

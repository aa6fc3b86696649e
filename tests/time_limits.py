"""One time limit for a whole fit, however many class pairs it solves."""

import time
from dataclasses import replace
from itertools import pairwise

from widemargin.engine.solve import solve
from widemargin.runtime.deadline import NEVER


def assert_one_limit_for_all_pairs(monkeypatch, module, fit):
    """Fit three classes with 60 seconds; each pair is given what the others left.

    ``module`` is where the estimator finds ``solve``.
    """
    limits = []

    def slow(problem, options, **start):
        limits.append(options.deadline.seconds_left)
        time.sleep(0.002)
        return solve(problem, replace(options, deadline=NEVER), **start)

    monkeypatch.setattr(module, "solve", slow)
    fit()
    assert len(limits) == 3 and limits[0] <= 60.0
    assert all(later <= first - 0.002 for first, later in pairwise(limits))

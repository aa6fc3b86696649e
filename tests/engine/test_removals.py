"""Removals that share their start end where a path of each row's own does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin.engine import removals
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Linear
from widemargin.engine.problem import DualProblem
from widemargin.engine.removals import closed, without_each
from widemargin.engine.updates import exact, fresh, move

from tests.certified import assert_certified


def certified(solution):
    gram = solution.problem.gram
    assert_certified(solution, gram.rows(np.arange(gram.n)), tol=1e-8)
    return solution


def solved(n=150, kernel=None, C=2.0, seed=0, equality=True, twice=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    X[:twice], y[:twice] = X[twice : 2 * twice], y[twice : 2 * twice]
    gram = Gram(X, kernel or Gaussian(0.5))
    lower, upper = np.minimum(0.0, C * y), np.maximum(0.0, C * y)
    problem = DualProblem(gram, y, lower, upper, 0.0 if equality else None)
    return certified(exact(fresh(problem)[0])[0])


def single_paths(monkeypatch):
    """Count the removals that go their own way."""
    taken = []
    own_way = removals._by_a_path

    def counted(solution, row):
        taken.append(row)
        return own_way(solution, row)

    monkeypatch.setattr(removals, "_by_a_path", counted)
    return taken


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"C": 0.1},
        {"C": 100.0},
        {"equality": False},
        {"kernel": Linear(), "C": 0.5},
        {"n": 700, "kernel": Gaussian(0.1), "C": 20.0},
        {"twice": 40, "C": 10.0},
    ],
    ids=["plain", "bounded", "free", "no intercept", "linear", "watched", "duplicates"],
)
def test_the_end_is_that_of_a_single_path(options, monkeypatch):
    solution = solved(**options)
    taken = single_paths(monkeypatch)
    rows = np.flatnonzero(solution.beta)[:90]
    found = list(without_each(solution, rows, threads=2))
    assert [one.row for one in found] == rows.tolist()
    if "twice" not in options:  # else the margin set is dependent
        assert len(taken) <= 5
    for one in found[:: max(1, rows.size // 12)]:
        moved = certified(move(solution, closed(solution.problem, one.row))[0])
        assert_allclose(one.decisions, moved.values + moved.intercept, atol=1e-8)
        assert one.violation <= 1e-9


def test_what_does_not_solve_the_smaller_problem_goes_its_own_way(monkeypatch):
    solution = solved()
    taken = single_paths(monkeypatch)
    monkeypatch.setattr(removals, "ACCEPTED", -1.0)
    rows = np.flatnonzero(solution.beta)[:3]
    found = list(without_each(solution, rows, threads=1))
    assert taken == rows.tolist() and all(one.violation < 1e-9 for one in found)


def test_without_memory_each_is_a_path(monkeypatch):
    solution = solved()
    taken = single_paths(monkeypatch)
    rows = np.flatnonzero(solution.beta)[:3]
    assert len(list(without_each(solution, rows, threads=1, budget=1e4))) == 3
    assert taken == rows.tolist()


def test_threads_change_nothing():
    solution = solved()
    rows = np.flatnonzero(solution.beta)
    one, two = (list(without_each(solution, rows, threads=t)) for t in (1, 2))
    for a, b in zip(one, two, strict=True):
        assert_allclose(a.decisions, b.decisions, rtol=0.0, atol=0.0)

"""max_time and Ctrl-C are those of the whole fit, however many classes there are."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from widemargin import ChanceConstrainedSVC
from widemargin.chance_constrained import solvers

FUNCTIONS = {
    "newton": "newton",
    "ssgd": "stochastic",
    "socp": "shared_cones",
    "sdp": "semidefinite",
}


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X)[::5], y[::5]


@pytest.mark.parametrize("solver", FUNCTIONS)
def test_one_time_limit_for_all_classes(monkeypatch, solver):
    if solver in ("socp", "sdp"):
        pytest.importorskip("clarabel")
    whole, limits = getattr(solvers, FUNCTIONS[solver]), []

    def slow(problem, *, max_time, **options):
        limits.append(max_time)
        time.sleep(0.002)
        return whole(problem, **options)

    monkeypatch.setattr(solvers, FUNCTIONS[solver], slow)
    ChanceConstrainedSVC(solver=solver, max_time=60.0, random_state=0).fit(*iris())
    assert len(limits) == 3 and limits[0] <= 60.0
    assert all(later <= first - 0.002 for first, later in pairwise(limits))


def test_ctrl_c_ends_all_the_classes(monkeypatch):
    """One Ctrl-C, one end: it was that of one class, and the next one began."""
    whole, calls = solvers.newton, []

    def interrupted(problem, **options):
        calls.append(problem)
        return replace(whole(problem, **options), status="interrupted")

    monkeypatch.setattr(solvers, "newton", interrupted)
    X, y = iris()
    with pytest.raises(KeyboardInterrupt):
        ChanceConstrainedSVC().fit(X, y)
    assert len(calls) == 1
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = ChanceConstrainedSVC().fit(X[y < 2], y[y < 2])
    assert model.score(X[y < 2], y[y < 2]) > 0.9

"""Fits that share a matrix are those of the estimator itself, or are left to it."""

from __future__ import annotations

import gc
import threading
import weakref
from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import GridSearchCV

from widemargin import SVC, SVR, SharedGridSearchCV
from widemargin.engine.status import Status
from widemargin.tuning import chain_precision, shared_fits
from widemargin.tuning.shared_fits import Request
from widemargin.tuning.sharing import Fold, sheets


def test_what_pair_steps_do_not_solve_is_fitted_by_itself():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(25, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=25)
    model = SVR(kernel="poly", degree=2, coef0=1.0, gamma=6.0, epsilon=0.01)
    searches = [
        search(model, {"C": [1.0, 200.0]}, cv=3).fit(X, y)
        for search in (SharedGridSearchCV, GridSearchCV)
    ]
    found, expected = (search.cv_results_["mean_test_score"] for search in searches)
    assert_allclose(found, expected, atol=1e-4)


def test_rows_of_a_pair_of_classes_lie_together(monkeypatch):
    X, y = load_digits(return_X_y=True)
    longest = []
    plain = chain_precision.solve_chain

    def watched(matrix, members, *rest):
        longest.append(1 + np.count_nonzero(np.diff(np.sort(members)) > 1))
        return plain(matrix, members, *rest)

    monkeypatch.setattr(chain_precision, "solve_chain", watched)
    search = SharedGridSearchCV(SVC(gamma=0.02), {"C": [1.0, 10.0]}, cv=3, refit=False)
    search.fit(X[:300] / 16.0, y[:300])
    assert len(longest) == 3 * 45
    assert max(longest) <= 4  # two classes, each around the rows that are held out


def test_the_chains_of_the_last_sheet_take_the_threads_of_those_that_are_done(
    monkeypatch,
):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200] / 16.0, y[:200] % 2
    together = threading.Barrier(2, timeout=20.0)
    plain = chain_precision.solve_chain

    def watched(matrix, *rest):
        if matrix[0, 1] < last:  # of the wider kernel, which is the last one
            together.wait()  # for another chain of it
        return plain(matrix, *rest)

    monkeypatch.setattr(chain_precision, "solve_chain", watched)
    gammas = [0.01, 0.1]
    last = np.exp(-0.05 * ((X[0] - X[1]) ** 2).sum())
    grid = {"C": [1.0, 10.0], "gamma": gammas}
    SharedGridSearchCV(SVC(), grid, cv=4, refit=False, n_jobs=2).fit(X, y)
    assert together.n_waiting == 0


def test_no_more_matrices_at_once_than_the_cache_has_room_for():
    X = np.zeros((5000, 2))
    held = {
        size: shared_fits._matrices(
            Request([SVC(cache_size=size)], X, None, None, threads=4)
        )
        for size in (50, 120, 250, 1000)
    }
    assert held == {50: 1, 120: 1, 250: 2, 1000: 4}  # one takes 100 MB


def test_both_precisions_are_held_only_where_the_cache_has_room_on_every_thread():
    X = np.random.default_rng(0).random((600, 2))
    folds = [Fold(0, np.arange(500), np.arange(500, 600))]
    room = {}
    for size in (8, 9, "auto"):  # two threads with 12 bytes an entry take 8.64 MB
        settings = [SVR(gamma=1.0, cache_size=size)]
        request = Request(settings, X, X[:, 0], None, threads=2)
        begun = shared_fits._Begun(request, sheets(settings, folds)[0], 1)
        room[size] = begun.room >= 12.0 * 600**2
    assert room == {8: False, 9: True, "auto": True}


def test_the_fits_of_a_gamma_are_given_up_once_they_are_scored():
    """Kept to the end they took a sixth of the memory of a search."""
    X, y = make_moons(60, random_state=0)
    rows = np.arange(60)
    folds = [Fold(0, rows[20:], rows[:20]), Fold(1, rows[:40], rows[40:])]
    settings = [SVC(gamma=gamma) for gamma in (0.01, 0.1, 1.0)]
    scored = []
    for fits in shared_fits.shared_fits(
        Request(settings, X, y, None, 1), sheets(settings, folds)
    ):
        gc.collect()
        assert all(fit() is None for fit in scored)
        scored += [weakref.ref(fit) for fit in fits]
    assert len(scored) == 6


def test_only_what_stalls_in_single_precision_is_solved_on_in_double(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=90)
    plain = chain_precision.solve_chain
    calls = []

    def watched(matrix, members, others, problems, *rest):
        found = plain(matrix, members, others, problems, *rest)
        steps = [one.n_iter for one in found]
        calls.append((matrix.dtype, [p.upper.max() for p in problems], steps))
        if matrix.dtype == np.float32:  # as if it had stalled
            found[-1] = replace(found[-1], status=Status.STALLED)
        return found

    monkeypatch.setattr(chain_precision, "solve_chain", watched)
    grid = {"C": [1.0, 10.0, 50.0]}
    given = SVR(gamma=0.5, epsilon=0.05), grid
    ours = SharedGridSearchCV(*given, cv=2, refit=False, n_jobs=1).fit(X, y)
    theirs = GridSearchCV(*given, cv=2, refit=False).fit(X, y)
    assert_allclose(
        ours.cv_results_["mean_test_score"],
        theirs.cv_results_["mean_test_score"],
        atol=1e-3,
    )
    assert [(kind, costs) for kind, costs, _ in calls] == 2 * [
        (np.float32, [1.0, 10.0, 50.0]), (np.float64, [50.0]),
    ]  # fmt: skip
    for (_, _, first), (_, _, again) in zip(calls[::2], calls[1::2], strict=True):
        assert first[-1] > 100
        assert again[0] <= 0.05 * first[-1]  # it goes on from where it stood

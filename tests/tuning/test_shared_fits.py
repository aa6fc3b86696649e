"""Fits that share a matrix are those of the estimator itself, or are left to it."""

from __future__ import annotations

import threading

import numpy as np
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from widemargin import SVC, SVR, SharedGridSearchCV
from widemargin.tuning import shared_fits


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
    plain = shared_fits.solve_chain

    def watched(matrix, members, *rest):
        longest.append(1 + np.count_nonzero(np.diff(np.sort(members)) > 1))
        return plain(matrix, members, *rest)

    monkeypatch.setattr(shared_fits, "solve_chain", watched)
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
    plain = shared_fits.solve_chain

    def watched(matrix, *rest):
        if matrix[0, 1] < last:  # of the wider kernel, which is the last one
            together.wait()  # for another chain of it
        return plain(matrix, *rest)

    monkeypatch.setattr(shared_fits, "solve_chain", watched)
    gammas = [0.01, 0.1]
    last = np.exp(-0.05 * ((X[0] - X[1]) ** 2).sum())
    grid = {"C": [1.0, 10.0], "gamma": gammas}
    SharedGridSearchCV(SVC(), grid, cv=4, refit=False, n_jobs=2).fit(X, y)
    assert together.n_waiting == 0

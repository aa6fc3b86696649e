"""Kernel columns that one path leaves to the next."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin import SVC
from widemargin.engine import updates
from widemargin.engine.gram import Gram
from widemargin.engine.held_columns import HeldColumns, worth_holding
from widemargin.engine.kernels import Gaussian, Polynomial
from widemargin.engine.update_routes import Route

from tests.estimators.incremental.the_fit import assert_is_the_fit
from tests.refits import weigh_every_way

rng = np.random.default_rng(5)
X = rng.uniform(-1, 1, (900, 4))
NEW = -1


def begun(kernel, n=300, columns=range(40)):
    """Return columns of the first rows, and the handle over these."""
    gram = Gram(X[:n], kernel, cache_mb=10)
    held = HeldColumns()
    held.slots = np.full(n, NEW)
    held.begin(np.arange(n))
    held.admit(gram)
    held.hold(gram, np.array(columns, dtype=np.intp))
    return held, gram


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Gaussian(0.01)])
def test_sums_over_held_columns_are_within_their_bounds(kernel):
    held, gram = begun(kernel)
    change = np.zeros(300)
    change[10:60] = rng.normal(size=50)  # some are held, some are not
    before = held.evaluated
    sums, errors = held.bounded_times(gram, change)
    assert held.evaluated - before == 20 * 300
    apart = X[:300, None].astype(np.longdouble) - X[:300]
    extended = np.exp(-kernel.gamma * np.square(apart).sum(axis=2)) @ change
    plain, bound = gram.bounded_times(change, np.arange(300))
    assert (np.abs(sums - extended) <= errors).all() and errors.max() < 1e-11
    assert (np.abs(sums - plain) <= errors + bound).all()


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Gaussian(1e-6)])
def test_sums_over_held_columns_alone_have_bounds_too(kernel):
    """Of entries that are all but 1 the sum itself is what rounds."""
    held, gram = begun(kernel)
    change = np.zeros(300)
    change[:40] = rng.normal(size=40)
    sums, errors = held.bounded_times(gram, change)
    apart = X[:300, None].astype(np.longdouble) - X[:300]
    extended = np.exp(-kernel.gamma * np.square(apart).sum(axis=2)) @ change
    off = np.abs(sums - extended)
    assert (off <= errors).all() and (off > 2**-53 * np.abs(sums)).any()


def test_nothing_stays_of_rows_that_leave_and_of_columns_that_are_not_needed():
    held, gram = begun(Gaussian(2.0), columns=range(200))
    held.begin(np.arange(50, 300))
    held.join(np.arange(50))  # on their way out: their entries are still there
    entries = held.block(np.arange(150), np.arange(250, 300))
    expected = gram.rows(np.arange(50, 200), columns=np.arange(50))
    assert_allclose(entries, expected, rtol=1e-13)
    held.finish(250, np.arange(5))
    assert np.count_nonzero(held.held(np.arange(250))) == 5  # of 150
    assert np.count_nonzero(held._entries) == 5 * 250


def test_columns_are_held_where_their_bounds_are_true():
    assert worth_holding(Gram(X[:50], Gaussian(2.0)))
    assert not worth_holding(Gram(X[:50], Polynomial(2, 5.0, 5.0)))
    far = np.r_[X[:50], [[1e9] * 4]]
    assert not worth_holding(Gram(far, Gaussian(2.0)))


def test_rows_that_come_and_go_cost_their_own_entries():
    held, _ = begun(Gaussian(2.0))
    before = held.evaluated
    rows = np.r_[5:300, 300:310]  # five leave, ten enter
    gram = Gram(X[rows], Gaussian(2.0), cache_mb=10)
    held.begin(np.r_[5:300, np.full(10, NEW)])
    held.admit(gram)
    assert held.evaluated - before == 35 * 10  # columns that are left, rows that enter
    known = np.flatnonzero(held.held(np.arange(rows.size)))
    assert_array_equal(known, np.arange(35))
    all_rows = np.arange(rows.size)
    assert_allclose(held.block(known, all_rows), gram.rows(known), rtol=1e-13)
    held.finish(rows.size, known)
    assert np.count_nonzero(held._entries) == 35 * rows.size  # nothing of the leavers


def test_bounds_remember_where_the_centre_was():
    """Entries are differences of norms about a centre that moves with the rows."""
    near, away = X[:300], X[300:] + 40.0
    kernel = Gaussian(0.002)
    held, _ = begun(kernel)
    gram = Gram(np.r_[near, away], kernel, cache_mb=10)
    held.begin(np.r_[:300, np.full(600, NEW)])
    held.admit(gram)  # measured from far away
    gram = Gram(near, kernel, cache_mb=10)
    held.finish(300, np.arange(40))
    held.begin(np.arange(300))
    held.admit(gram)
    norms = held._norms[held.slots]
    assert (norms > 5 * 0.002 * np.square(near - near.mean(axis=0)).sum(axis=1)).all()


def test_columns_stay_within_their_limit():
    held, gram = begun(Gaussian(2.0), columns=range(0))
    held.limit = 8 * held._entries.shape[1] * 25
    held.hold(gram, np.arange(100))
    assert np.count_nonzero(held.held(np.arange(300))) == 25
    change = rng.normal(size=300)
    sums, _ = held.bounded_times(gram, change)
    assert_allclose(sums, gram.times(change), atol=1e-12)


def test_columns_are_of_one_update_only():
    held, _ = begun(Gaussian(2.0))
    assert held.claim(0, held.slots)
    assert not held.claim(0, held.slots)  # one that failed, or one beside this


def test_a_window_evaluates_what_is_new(monkeypatch):
    """A path evaluates the columns that join the margin set, not all of it again."""
    weigh_every_way(monkeypatch)
    monkeypatch.setattr(updates, "cheapest", lambda *_, **__: (Route.PATH, 1 << 30))
    rows, n = rng.uniform(-1, 1, (1540, 4)), 1500
    labels = np.where(np.sin(4 * rows[:, 0]) + rows[:, 1] * rows[:, 2] > 0, 1, -1)
    labels[::9] *= -1
    model = SVC(C=30.0, gamma=2.0, n_jobs=1).fit(rows[:n], labels[:n], ids=range(n))
    spent, margins = [], []
    for first in range(n, n + 40, 5):
        new = slice(first, first + 5)
        numbers = range(first, first + 5)
        model.partial_fit(rows[new], labels[new], ids=numbers, window=n)
        if model.history_[-1]["route"] == "settled":  # nothing to evaluate
            continue
        assert model.history_[-1]["route"] == "path"
        held = model._updates.tasks[0].columns.held
        spent.append(held.evaluated)
        margins.append(model.history_[-1]["margin"])
    assert len(spent) >= 4 and held.version == len(spent) - 1  # one and the same
    assert min(spent) >= 0.5 * n * margins[0]  # the first path evaluates them all
    assert np.median(np.diff(spent)) < 0.35 * n * min(margins)
    assert_is_the_fit(model, rows[40:], labels[40:], atol=1e-6)
    monkeypatch.undo()
    twin = copy.copy(model)  # has no columns, and evaluates them anew
    assert twin._updates.tasks[0].columns is None


def test_a_row_that_is_erased_leaves_its_column_and_its_entries():
    """As of rows that leave without a path, between two updates."""
    held, _ = begun(Gaussian(2.0))
    gone = held.slots[[3, 7, 200]]  # two have columns
    before = held._entries.copy()
    held.erase(gone)
    assert not np.isin(held._owners, gone).any()
    assert np.count_nonzero(held._owners >= 0) == 38
    left = np.flatnonzero(held._owners < 0)
    assert not held._entries[left].any() and not held._entries[:, gone].any()
    assert not held._norms[gone].any() and held._norms[held.slots[0]] > 0.0
    held.begin(np.arange(300))
    assert not held.held(np.array([3, 7])).any() and held.held(np.array([0, 39])).all()
    kept = np.setdiff1d(np.arange(300), [3, 7, 200])
    rows = np.setdiff1d(np.arange(40), [3, 7])
    assert_array_equal(held.block(rows, kept), before[np.ix_(rows, held.slots[kept])])

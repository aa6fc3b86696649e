"""The choice between path, warm solve and refit, and that it pays: work is counted."""

from __future__ import annotations

import cProfile
from copy import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_moons

from widemargin import SVC, SVR, OneClassSVM
from widemargin.engine import update_routes, updates
from widemargin.engine.gram import Gram
from widemargin.engine.path import cost
from widemargin.engine.update_routes import (
    CREDIT,
    Route,
    cheapest,
    prices,
    worth_testing,
)
from widemargin.estimators.incremental import incremental_machine

from tests.refits import weigh_every_way

STREAMS = {
    "little overlap": (0.15, {"gamma": 2.0}),
    "much overlap": (0.6, {"gamma": 2.0, "C": 10.0}),
    "large margin set": (0.4, {"gamma": 60.0, "C": 5.0}),
}


def chosen(*sizes, warm=False, to_come=0.0, credit=CREDIT, **settings):
    """Return the route for these sizes, and the events that a path may take."""
    costs = prices(*sizes, **settings)
    given = {name: settings[name] for name in ("exact", "compiled") if name in settings}
    return cheapest(*sizes, costs, **given, warm=warm, to_come=to_come, credit=credit)


def test_small_changes_follow_the_path_and_large_ones_are_solved():
    few = chosen(5000, 800, 2, 100, exact=False, warm=True)
    assert few[0] == Route.PATH
    assert chosen(5000, 2500, 40, 970, exact=False, warm=True)[0] == Route.WARM
    assert chosen(5000, 2500, 40, 970, exact=False)[0] == Route.REFIT
    assert few[1] > 100  # events before the path has cost as much as a refit
    compiled = {"exact": True, "summed": False, "compiled": True, "features": 122}
    assert chosen(1210, 601, 8, 210, **compiled)[0] == Route.REFIT  # a5a
    assert chosen(1900, 600, 2, 10, **compiled)[0] == Route.PATH


def test_updates_in_a_row_begin_with_a_path_that_the_next_ones_gain_by():
    settings = {"exact": False, "summed": False}
    for margin, later in ((140, Route.PATH), (1200, Route.REFIT)):
        sizes = 5000, 261 + margin, 2, margin
        assert chosen(*sizes, **settings)[0] == Route.REFIT
        assert chosen(*sizes, **settings, to_come=1.0)[0] == later
        assert chosen(*sizes, **settings, to_come=1.0, credit=0.0)[0] == Route.REFIT


def test_a_stream_costs_little_more_than_refits_where_every_path_is_begun(
    entries, monkeypatch
):
    """Paths that look short and are long are given up, and then not begun for a while.

    Entries are counted beside those of refits, whatever the account says.
    """
    monkeypatch.setattr(cost, "EVENTS", 0)
    monkeypatch.setattr(cost, "BASE", 0.0)
    monkeypatch.setattr(update_routes, "CROSSING", 0.0)
    X, y = make_moons(3000, noise=0.5, random_state=0)
    X = np.hstack([X, 0.3 * np.random.default_rng(0).normal(size=(3000, 4))])
    model = SVC(keep_rows=True, gamma=1.0, C=30.0, n_jobs=1).fit(X[:2400], y[:2400])
    model.partial_fit(X[2400:2430], y[2400:2430], window=2400)
    spent = anew = 0
    for number, first in enumerate(range(2430, 2790, 30), 1):
        chunk, kept = slice(first, first + 30), slice(first - 2370, first + 30)
        entries()
        model.partial_fit(X[chunk], y[chunk], window=2400)
        spent += entries()
        clone(model).fit(X[kept], y[kept])
        anew += entries()
        assert spent <= (1.2 + CREDIT / number) * anew
    routes = [record["route"] for record in model.history_[2:]]
    assert routes.count("refit") >= 6
    assert model._updates.tasks[0].credit <= CREDIT


def test_a_stream_takes_the_path_from_its_second_update_on():
    X, y = make_moons(3100, noise=0.3, random_state=0)
    X = np.hstack([X, 0.1 * np.random.default_rng(0).normal(size=(3100, 3))])
    model = SVC(keep_rows=True, gamma=3.0, C=1.0).fit(X[:3000], y[:3000])
    for first in range(3000, 3060, 20):
        model.partial_fit(X[first : first + 20], y[first : first + 20])
    routes = [record["route"] for record in model.history_[-3:]]
    assert routes == ["refit", "path", "path"]


def test_updates_that_change_nothing_speak_for_a_path():
    """An exact model stays as it is; a refit to `tol` would come for each of them."""
    sizes, settings = (4000, 120, 2, 70), {"held": 70}
    for exact, few in ((False, Route.PATH), (True, Route.REFIT)):
        every = chosen(*sizes, **settings, exact=exact, to_come=1.0)
        assert every[0] == Route.REFIT
        assert chosen(*sizes, **settings, exact=exact, to_come=0.6)[0] == few


def test_a_stream_of_rows_that_mostly_change_nothing_is_seldom_refitted(entries):
    X, y = make_moons(4100, noise=0.1, random_state=0)
    X = np.hstack([X, 0.3 * np.random.default_rng(0).normal(size=(4100, 1))])
    model = SVC(keep_rows=True, gamma=5.0, C=10.0, n_jobs=1).fit(X[:4000], y[:4000])
    entries(), clone(model).fit(X[:4000], y[:4000])
    anew, spent, moves = entries(), 0, 20
    for first in range(4000, 4100, 5):
        chunk = slice(first, first + 5)
        model.partial_fit(X[chunk], y[chunk], window=4000)
        spent += entries()
    routes = [record["route"] for record in model.history_[1:]]
    assert routes.count("refit") <= 5 and routes.count("settled") >= 10
    assert spent < moves // 2 * anew
    model.update(C=11.0).update(C=12.0)  # prices, of all rows
    assert model._updates.tasks[0].moving_share(np.arange(4000)) == 1.0


@pytest.mark.parametrize(("entering", "share", "tested"), [
    (1, 0.3, True), (10, 0.01, True), (10, 0.3, False), (1, 0.9, False),
])  # fmt: skip
def test_rows_are_tested_where_that_is_likely_to_save_a_refit(entering, share, tested):
    assert worth_testing(4e-3, entering, share) == tested
    assert not worth_testing(1e-3, entering, share)


@pytest.fixture
def entries(monkeypatch):
    """Count the kernel entries that all handles evaluate."""
    handles, begin, subset = [], Gram.__init__, Gram.subset

    def noted(self, *arguments, **options):
        begin(self, *arguments, **options)
        handles.append(self)

    def viewed(self, *arguments, **options):
        view = subset(self, *arguments, **options)
        handles.append(view)
        return view

    monkeypatch.setattr(Gram, "__init__", noted)
    monkeypatch.setattr(Gram, "subset", viewed)

    def spent():
        total = sum(handle.evaluated for handle in handles)
        handles.clear()
        return total

    return spent


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("rows", [600, 1200, 2400])
def test_no_update_evaluates_more_than_a_refit(name, rows, entries):
    """By more than a fifth; 2,400 rows are beyond the size of exact fits.

    Rows that enter, leave, and do both in one update.
    """
    noise, settings = STREAMS[name]
    X, y = make_moons(rows + 300, noise=noise, random_state=0)
    model = SVC(keep_rows=True, cache_size=200, n_jobs=1, **settings)
    model.fit(X[:rows], y[:rows])
    n = rows
    for chunk in (1, 10, 50, 150):
        entries()
        model.partial_fit(X[n : n + chunk], y[n : n + chunk])
        added, n = entries(), n + chunk
        clone(model).fit(X[:n], y[:n])
        anew = entries()
        assert added <= 1.2 * anew + 5000, (chunk, model.history_[-1]["route"])
    for chunk in (1, 10, 100):
        model.forget(model.ids_[:chunk])
        forgotten = entries()
        clone(model).fit(X[model.ids_], y[model.ids_])
        anew = entries()
        assert forgotten <= 1.2 * anew + 5000, (chunk, model.history_[-1]["route"])
    for chunk in (1, 10, 50):
        chosen = slice(n, n + chunk)
        model.partial_fit(X[chosen], y[chosen], window=model.ids_.size)
        slid, live = entries(), model._updates.closed_up().live
        clone(model).fit(live.X, live.targets)
        anew = entries()
        assert slid <= 1.2 * anew + 5000, (chunk, model.history_[-1]["route"])


@pytest.fixture
def handles(monkeypatch):
    """Count the kernel handles that are made."""
    made, begin = [], Gram.__init__

    def noted(self, *arguments, **options):
        begin(self, *arguments, **options)
        made.append(self)

    monkeypatch.setattr(Gram, "__init__", noted)
    return made


def ways(model, X, y, n):
    """Yield each kind of update, made."""
    yield model.partial_fit(X[n : n + 3], y[n : n + 3])
    yield model.forget(model.ids_[:5])
    yield model.partial_fit(X[n + 3 : n + 9], y[n + 3 : n + 9], window=n)
    yield model.update(C=1.3 * model.C)


@pytest.mark.parametrize("exact", ["auto", True, False])
@pytest.mark.parametrize("n", [40, 150, 300])
def test_few_rows_are_refitted_at_once(n, exact, handles, entries, monkeypatch):
    """No path is weighed, nothing is evaluated but what a fit does: bitwise a fit."""
    monkeypatch.setattr(updates, "change", None)
    X, y = make_moons(n + 20, noise=0.3, random_state=0)
    model = SVC(keep_rows=True, gamma=2.0, exact_updates=exact)
    model.fit(X[:n], y[:n])
    entries(), handles.clear()
    for updated in ways(model, X, y, n):
        spent, made = entries(), len(handles)
        assert updated.history_[-1]["route"] == "refit"
        live = updated._updates.live
        fresh = clone(model).set_params(polish=exact is not False)
        fresh.fit(live.X, live.targets)
        assert made == 1 and spent <= entries()
        handles.clear()
        assert_array_equal(updated.dual_coef_, fresh.dual_coef_)
        assert_array_equal(updated.intercept_, fresh.intercept_)


@pytest.mark.parametrize("n", [300, 800])
def test_an_update_that_refits_evaluates_no_more_than_a_fit_that_keeps_nothing(
    n, entries
):
    """K beta of rows far beyond the margin is for paths, which may never come."""
    X, y = make_moons(n + 20, noise=0.2, random_state=0)
    model = SVC(keep_rows=True, gamma=2.0, C=10.0, n_jobs=1).fit(X[:n], y[:n])
    kept = entries()
    clone(model).set_params(keep_rows=False).fit(X[:n], y[:n])
    assert kept == entries()
    model.partial_fit(X[n:], y[n:])
    spent = entries()
    assert model.history_[-1]["route"] == "refit"
    clone(model).set_params(keep_rows=False).fit(X, y)
    assert spent == entries()


@pytest.mark.parametrize("kind", ["add", "slide", "forget"])
def test_an_update_of_few_rows_makes_hardly_more_calls_than_a_fit(kind):
    """Where a fit takes half a millisecond, it is the calls of Python that count."""
    X, y = make_moons(70, noise=0.3, random_state=0)
    model = SVC(keep_rows=True, gamma=2.0).fit(X[:60], y[:60])
    ways = {
        "add": lambda model: model.partial_fit(X[60:], y[60:]),
        "slide": lambda model: model.partial_fit(X[60:], y[60:], window=60),
        "forget": lambda model: model.forget(np.arange(10)),
    }
    ways[kind](copy(model))  # what is made once
    update = calls_of(ways[kind], copy(model))
    assert update <= 1.2 * calls_of(lambda model: model.fit(X, y), clone(model))


def test_a_refit_of_many_wide_rows_is_expected_to_take_longer():
    """The whole matrix is evaluated: a path pays that beside it does not."""
    for features, route in ((2.0, Route.REFIT), (200.0, Route.PATH)):
        way = chosen(1800, 300, 3, 60, exact=True, compiled=True, features=features)
        assert way[0] == route


@pytest.mark.parametrize("kind", ["add", "forget"])
def test_many_rows_are_refitted_before_a_path_is_begun(kind, handles, monkeypatch):
    """K beta of a fit to `tol` is not known, and to sum it takes longer than a fit."""
    monkeypatch.setattr(updates, "change", None)
    X, y = make_moons(2600, noise=0.3, random_state=0)
    X = np.hstack([X, 0.3 * np.random.default_rng(0).normal(size=(2600, 6))])
    model = SVC(keep_rows=True, gamma=2.0, n_jobs=1).fit(X[:2500], y[:2500])
    handles.clear()
    if kind == "add":
        model.partial_fit(X[2500:], y[2500:])
    else:
        model.forget(np.arange(100))
    assert model.history_[-1]["route"] == "refit" and len(handles) == 1
    live = model._updates.live
    fresh = clone(model).fit(live.X, live.targets)
    assert_array_equal(model.dual_coef_, fresh.dual_coef_)
    assert_array_equal(model.intercept_, fresh.intercept_)


def test_rows_are_not_tested_where_one_that_leaves_is_a_support_vector(monkeypatch):
    monkeypatch.setattr(incremental_machine, "leave_quietly", None)
    X, y = make_moons(1500, noise=0.6, random_state=0)
    model = SVC(keep_rows=True, gamma=2.0).fit(X, y)  # two in five are
    assert model.forget(np.arange(10)).ids_.size == 1490


def calls_of(action, model):
    """Return the number of calls, of Python's functions and of C's."""
    profile = cProfile.Profile()
    profile.runcall(action, model)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("model", [SVR(gamma=1.0), OneClassSVM(gamma=1.0, nu=0.3)])
def test_few_rows_of_other_estimators_are_refitted_at_once(model, monkeypatch):
    monkeypatch.setattr(updates, "change", None)
    X, _ = make_moons(120, noise=0.3, random_state=0)
    targets = X[:, 0] * X[:, 1]
    model = clone(model).set_params(keep_rows=True).fit(X[:100], targets[:100])
    model.partial_fit(X[100:110], targets[100:110], window=100)
    assert model.history_[-1]["route"] == "refit"
    fresh = clone(model).fit(X[10:110], targets[10:110])
    assert_array_equal(model.dual_coef_, fresh.dual_coef_)
    assert_array_equal(model.intercept_, fresh.intercept_)


def test_few_rows_of_one_class_are_not_refitted():
    X, y = make_moons(60, noise=0.2, random_state=0)
    for intercept in (True, False):
        model = SVC(gamma=2.0, fit_intercept=intercept)
        model.partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
        assert model.history_[-1]["route"] == "direct"
        assert_array_equal(model.predict(X), 1)
        model.partial_fit(X[y == 0], y[y == 0])
        assert model.history_[-1]["route"] == "refit"
        fresh = clone(model).fit(np.r_[X[y == 1], X[y == 0]], np.sort(y)[::-1])
        assert_array_equal(model.intercept_, fresh.intercept_)
        model.forget(model.ids_[: np.count_nonzero(y == 1)])
        assert_array_equal(model.predict(X), 0)


def test_the_way_of_few_rows_is_weighed_where_a_path_may_be_shorter():
    X, y = make_moons(1910, noise=0.3, random_state=0)
    model = SVC(keep_rows=True, gamma=2.0, C=1.0).fit(X[:1900], y[:1900])
    model.partial_fit(X[[3]], 1 - y[[3]])  # a path would have to sum K beta first
    model.partial_fit(X[[5]], 1 - y[[5]])  # which is worth it for those to come
    assert [record["route"] for record in model.history_[1:]] == ["refit", "path"]


def test_forgetting_after_a_linear_fit_of_many_rows_pays_once():
    """Its K beta is not known in float64; with it later rows leave by being erased."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 8))
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    X[:, 0] += 2 * y - 1
    model = SVC(kernel="linear", keep_rows=True, n_jobs=1).fit(X, y)
    far = np.flatnonzero(model.decision_function(X) * (2 * y - 1) > 3.0)
    for rows in (far[:1], far[1:2], far[2:12]):
        model.forget(rows)
    routes = [record["route"] for record in model.history_[-3:]]
    assert routes == ["path", "settled", "settled"]
    assert model.certificate_.kkt_violation <= 1e-8


def test_a_refit_is_bitwise_the_fit():
    X, y = make_moons(2600, noise=0.4, random_state=0)
    model = SVC(keep_rows=True, gamma=60.0, C=5.0).fit(X, y)
    model.forget(np.arange(300))
    assert model.history_[-1]["route"] == "refit"
    fresh = clone(model).fit(X[300:], y[300:])
    assert_array_equal(model.dual_coef_, fresh.dual_coef_)
    assert_array_equal(model.intercept_, fresh.intercept_)
    assert model.certificate_.status == "converged"


@pytest.mark.parametrize("exact", [True, False, "auto"])
@pytest.mark.parametrize("rows", [300, 2300])
def test_how_exact_updates_are(exact, rows):
    X, y = make_moons(rows + 400, noise=0.3, random_state=0)
    model = SVC(keep_rows=True, gamma=30.0, C=5.0, exact_updates=exact)
    model.fit(X[:rows], y[:rows]).partial_fit(X[rows:], y[rows:])
    assert model.history_[-1]["route"] in ("warm", "refit")
    found = model.certificate_.kkt_violation
    if exact is True:
        assert found <= 1e-8
    else:
        assert 1e-8 < found <= model.tol
    if model.history_[-1]["route"] == "refit" and exact == "auto":  # as fit does
        fresh = clone(model).fit(X, y)
        assert_array_equal(model.dual_coef_, fresh.dual_coef_)
    polished = clone(model).set_params(polish=True).fit(X[:rows], y[:rows])
    polished.partial_fit(X[rows:], y[rows:])
    exactly = exact is not False
    assert (polished.certificate_.kkt_violation <= 1e-8) == exactly


def test_a_path_of_too_many_events_is_given_up(monkeypatch):
    weigh_every_way(monkeypatch)
    hasty = Route.PATH, 3
    monkeypatch.setattr(updates, "cheapest", lambda *_, **__: hasty)
    X, _ = make_moons(200, noise=0.3, random_state=0)
    model = OneClassSVM(keep_rows=True, gamma=1.0, nu=0.3).fit(X[:100])
    model.partial_fit(X[100:])
    assert model.history_[-1]["route"] == "refit"
    fresh = clone(model).fit(X)
    assert_array_equal(model.dual_coef_, fresh.dual_coef_)

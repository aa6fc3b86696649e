"""Rows beyond the margin come and go at the price of their own kernel sums."""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from widemargin import SVC, CostSensitiveSVC, load, save
from widemargin.estimators.incremental.growing import appended

from tests.estimators.incremental.the_fit import assert_is_the_fit
from tests.refits import weigh_every_way

rng = np.random.default_rng(3)
near = rng.uniform(-1, 1, (120, 2))
X = near[np.abs(near[:, 0]) > 0.1]
y = (X[:, 0] > 0).astype(int)
FAR = np.array([[3.0, 0.1], [-3.0, 0.2], [2.5, -0.4], [-2.8, 0.0]])
SIDES = np.array([1, 0, 1, 0])


def begun(form=np.asarray, estimator=SVC, **settings):
    """Return a model of the rows near the margin."""
    model = estimator(keep_rows=True, kernel="linear", C=5.0, **settings)
    return model.fit(form(X), y)


def routes(model):
    """Return the routes of all updates."""
    return [record["route"] for record in model.history_ if "route" in record]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, np.float32])
@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
def test_rows_that_change_nothing_leave_the_model_as_it_is(form, estimator):
    model = begun(form, estimator)
    before = model.dual_coef_
    model.partial_fit(form(FAR), SIDES)
    assert routes(model) == ["settled"] and model.dual_coef_ is before
    everything, labels = np.r_[X, FAR], np.r_[y, SIDES]
    assert_is_the_fit(model, form(everything), labels, atol=1e-6)
    model.forget([len(X), len(X) + 2])
    assert routes(model) == ["settled"] * 2
    assert_array_equal(
        model.ids_, np.delete(np.arange(len(X) + 4), [len(X), len(X) + 2])
    )
    live = np.delete(np.arange(len(labels)), [len(X), len(X) + 2])
    assert_is_the_fit(model, form(everything[live]), labels[live], atol=1e-6)


def test_a_move_closes_the_places_of_rows_that_left():
    model = begun().partial_fit(FAR, SIDES)
    settled = np.setdiff1d(np.arange(len(X)), model.support_)[:20]
    model.forget(settled[:11]).forget(len(X) + 1)
    assert "path" not in routes(model)
    live = np.setdiff1d(np.arange(len(X) + 4), [*settled[:11], len(X) + 1])
    everything, labels = np.r_[X, FAR], np.r_[y, SIDES]
    assert_array_equal(model.ids_, live)
    assert_array_equal(everything[live][model.support_], model.support_vectors_)
    assert_is_the_fit(model, everything[live], labels[live])
    model.update(C=0.3)
    assert_array_equal(model.ids_, live)
    assert_is_the_fit(model, everything[live], labels[live])
    model.forget(model.ids_[model.support_[:2]])
    live = np.setdiff1d(live, np.setdiff1d(live, model.ids_))
    assert_is_the_fit(model, everything[live], labels[live])


def test_what_has_left_is_overwritten():
    secret = np.array([[3.14159, -2.71828]])
    model = begun().partial_fit(np.r_[FAR, secret], [*SIDES, 1])
    model.forget(len(X) + 4)
    assert routes(model)[-1] == "settled"
    stored = [model._updates.live.X, *(t.values for t in model._updates.tasks)]
    for array in stored:
        whole = array if array.base is None else array.base
        assert not np.isin(secret, whole).any()
    assert secret.tobytes() not in pickle.dumps(model)


def test_files_pickles_and_copies_in_mid_stream(tmp_path):
    names = [f"n{i}" for i in range(len(X))]
    model = SVC(kernel="linear", C=5.0).fit(X, y, ids=names)
    model.partial_fit(FAR, SIDES, ids=["a", "b", "c", "d"]).forget("b")
    save(model, tmp_path / "model")
    twins = [
        load(tmp_path / "model"),
        pickle.loads(pickle.dumps(model)),
        copy.copy(model),
    ]
    for number, twin in enumerate(twins):
        twin.partial_fit(FAR[:1] + number, [1], ids=["b"]).forget("c")
        assert_array_equal(twin.ids_, [*names, "a", "d", "b"])
    model.forget("a")
    assert_array_equal(model.ids_, [*names, "c", "d"])
    assert_array_equal(twins[-1]._updates.closed_up().live.X[len(X)], FAR[0])


@pytest.mark.parametrize("names", [np.arange, lambda n: np.arange(n).astype(str)])
def test_a_copy_finds_the_neighbours_of_rows_that_left(names):
    ids = names(len(X) + 4)
    model = SVC(kernel="linear", C=5.0)
    model.fit(np.r_[FAR, X], np.r_[SIDES, y], ids=ids)
    model.forget(ids[[0, 2]])
    assert routes(model) == ["settled"]
    twin = copy.copy(model)
    twin.forget(ids[1])
    with pytest.raises(ValueError, match="not live"):
        twin.forget(ids[2])
    assert_array_equal(twin.ids_, ids[3:])
    assert_array_equal(copy.copy(twin).forget(ids[3]).ids_, ids[4:])


def test_an_update_that_failed_is_tried_again():
    model = begun().partial_fit(FAR[:2], SIDES[:2])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(FAR[:, :1], SIDES)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(FAR * np.nan, SIDES)
    model.partial_fit(FAR[2:], SIDES[2:])
    assert_is_the_fit(model, np.r_[X, FAR], np.r_[y, SIDES])


def test_other_prices_move_everything_before_a_row_can_be_settled():
    model = begun()
    model.set_params(C=0.05).partial_fit(FAR, SIDES)
    assert routes(model) != ["settled"]
    assert_is_the_fit(model, np.r_[X, FAR], np.r_[y, SIDES])
    weights = {0: 1.0, 1: 2.0}
    model.set_params(class_weight=weights).partial_fit(FAR, SIDES)
    weights[1] = 7.0  # changed where it is
    model.partial_fit(FAR, SIDES)
    assert "settled" not in routes(model)
    rows = np.r_[X, FAR, FAR, FAR]
    assert_is_the_fit(model, rows, np.r_[y, SIDES, SIDES, SIDES])


def two_stars(gamma):
    """Return two stars of ten points with one in their middle, far apart.

    At C=0.3 the points are bounded support vectors at .975, the middles are beyond the
    margin at 1.5: nothing is free, and intercepts from -.025 to .025 are optimal.
    """
    star = np.r_[np.sqrt(np.log(2.0) / gamma) * np.eye(10), np.zeros((1, 10))]
    return np.r_[star + 3.0, star - 3.0], np.repeat([1, 0], 11)


def test_rows_leave_quietly_where_a_fit_has_not_summed_their_values(monkeypatch):
    """A fit of few rows proves with float32 that far ones are far; they are summed."""
    weigh_every_way(monkeypatch)
    rows, labels = two_stars(gamma=0.5)
    model = SVC(keep_rows=True, gamma=0.5, C=0.3).fit(rows, labels)
    assert model._updates.tasks[0].values is None
    model.forget([10])
    assert routes(model) == ["settled"]
    assert_is_the_fit(model, np.delete(rows, 10, axis=0), np.delete(labels, 10))
    model.forget([0])
    assert routes(model)[-1] != "settled"
    assert_is_the_fit(
        model, np.delete(rows, [0, 10], axis=0), np.delete(labels, [0, 10])
    )


def test_rows_within_the_interval_of_intercepts_are_not_settled(monkeypatch):
    """Where all that count are bounded, and the values of far rows are not summed."""
    weigh_every_way(monkeypatch)
    rows, labels = two_stars(gamma=0.5)
    model = SVC(keep_rows=True, gamma=0.5, C=0.3).fit(rows, labels)
    assert model._updates.tasks[0].values is None
    assert_allclose(model._updates.tasks[0].interval, [-0.025, 0.025], atol=1e-6)
    along = rows[0] - np.linspace(0.0, 0.5, 400)[:, None] * (rows[0] - rows[10])
    values = model.decision_function(along)
    between = along[[np.argmax(values > 1.01)]]
    model.partial_fit(between, [1])
    assert_is_the_fit(model, np.r_[rows, between], np.r_[labels, 1])
    assert model.intercept_[0] > 0.005


def test_rows_that_decide_the_intercept_are_not_settled():
    """Two rows, both bounded: all intercepts of an interval are optimal."""
    model = SVC(keep_rows=True, kernel="linear", C=0.1).fit([[-1.0], [1.0]], [0, 1])
    model.partial_fit(np.array([[1.5], [-9.0], [20.0]]), np.array([1, 0, 1]))
    assert_is_the_fit(
        model, np.array([[-1.0], [1.0], [1.5], [-9.0], [20.0]]), [0, 1, 1, 0, 1]
    )
    model.forget([2])
    assert_is_the_fit(model, np.array([[-1.0], [1.0], [-9.0], [20.0]]), [0, 1, 0, 1])


def test_a_million_rows_that_come_and_go_take_bounded_memory():
    model = begun()
    chunk = np.tile(FAR, (500, 1))
    labels = np.tile(SIDES, 500)
    most = 0
    for _ in range(500):
        model.partial_fit(chunk, labels)
        model.forget(model.ids_[-2000:])
        live, task = model._updates.live, model._updates.tasks[0]
        columns = (live.X, live.ids, task.beta, task.values, task.linear)
        most = max(most, *(len(c if c.base is None else c.base) for c in columns))
    assert set(routes(model)) == {"settled"} and len(model.history_) == 1000
    assert most <= 4 * (len(X) + 2 * 2000)
    assert_is_the_fit(model, X, y)


def test_what_a_settled_row_takes_does_not_grow_with_the_rows(monkeypatch):
    """Its memory is counted; nor are all coefficients looked at."""
    count, sizes, taken = np.count_nonzero, [0], {}
    for n in (400, 40_000):
        model = begun().partial_fit(np.tile(FAR, (n, 1)), np.tile(SIDES, n))
        model.partial_fit(FAR, SIDES)  # the columns grow once
        with monkeypatch.context() as patch:
            patch.setattr(
                np, "count_nonzero", lambda a: (sizes.append(a.size), count(a))[1]
            )
            tracemalloc.start()
            model.partial_fit(FAR[:1], SIDES[:1]).forget(len(X) + 7)
            taken[n] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert routes(model) == ["settled"] * 4
    assert taken[40_000] <= taken[400] + 2000 and max(sizes) < 400


def test_columns_grow_in_place_and_shorter_views_stay():
    first = appended(np.arange(3.0), np.arange(2.0))
    second = appended(first, np.full(2, 7.0))
    assert second.base.base is first.base.base
    assert_array_equal(first, [0, 1, 2, 0, 1])
    other = appended(first, np.full(2, 9.0))  # the room is taken
    assert_array_equal(second[-2:], 7.0)
    assert_array_equal(other[-2:], 9.0)
    names = appended(np.array(["a"]), np.array(["longer"]))
    assert_array_equal(names, ["a", "longer"])


def test_values_of_settled_rows_are_known_to_later_paths():
    model = begun()
    model.partial_fit(FAR, SIDES)
    assert routes(model) == ["settled"]
    flipped = np.r_[X, FAR, FAR[:1]], np.r_[y, SIDES, 0]
    model.partial_fit(FAR[:1], [0])  # on top of a settled row, which has to move
    assert_is_the_fit(model, *flipped)
    assert_allclose(model.certificate_.gap, 0.0, atol=1e-6)

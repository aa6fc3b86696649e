"""A label that was not there before is a class more, where none were listed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from widemargin import SVC, CostSensitiveSVC, load, save
from widemargin.engine import updates

from tests.estimators.incremental.the_fit import assert_is_the_fit

iris, species = load_iris(return_X_y=True)
shuffled = np.random.default_rng(0).permutation(150)
iris, species = iris[shuffled], species[shuffled]


def without(*late):
    """Return the rows of all species but some, then those of them in order."""
    return np.r_[np.flatnonzero(~np.isin(species, late)),
                 *(np.flatnonzero(species == one) for one in late)]  # fmt: skip


@pytest.mark.parametrize("late", [0, 1, 2])
@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC])
@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}], ids=str)
def test_a_third_class_joins_two(late, estimator, settings):
    rows = without(late)
    model = estimator(gamma=0.5, keep_rows=True, **settings)
    model.fit(iris[rows[:100]], species[rows[:100]])
    model.partial_fit(iris[rows[100:120]], species[rows[100:120]])
    assert_array_equal(model.classes_, [0, 1, 2])
    assert_is_the_fit(model, iris[rows[:120]], species[rows[:120]])
    model.partial_fit(iris[rows[120:]], species[rows[120:]])
    assert_is_the_fit(model, iris[rows], species[rows])


def test_a_chunk_begins_without_classes_and_brings_two_more():
    digits, numbers = load_wine(return_X_y=True)
    digits = scale(digits)
    names = np.array(["c", "a", "dd"])[numbers]
    names[:20] = "b"
    order = np.argsort(np.isin(names, ["b", "dd"]), kind="stable")
    first = np.count_nonzero(~np.isin(names, ["b", "dd"]))
    digits, names = digits[order], names[order]
    model = SVC(gamma=0.05).partial_fit(digits[:first], names[:first])
    assert_array_equal(model.classes_, ["a", "c"])
    model.partial_fit(digits[first:], names[first:])
    assert_array_equal(model.classes_, ["a", "b", "c", "dd"])
    assert_is_the_fit(model, digits, names)


def test_pairs_of_former_classes_are_not_solved_again(monkeypatch):
    rows, solved = without(1), []
    model = SVC(gamma=0.5, keep_rows=True).fit(iris[rows[:100]], species[rows[:100]])
    fresh = updates.fresh

    def counted(problem, *arguments, **options):
        solved.append(problem.n)
        return fresh(problem, *arguments, **options)

    monkeypatch.setattr(updates, "fresh", counted)
    model.partial_fit(iris[rows[100:]], species[rows[100:]])
    assert solved == [100, 100]  # 0 and 1, 1 and 2
    assert model.history_[-1]["route"] == "refit"  # 0 and 2 is what it was
    assert_is_the_fit(model, iris[rows], species[rows])


def test_a_new_class_in_a_window_and_after_a_file(tmp_path):
    rows = without(1)
    model = SVC(gamma=0.5, keep_rows=True).fit(iris[rows[:100]], species[rows[:100]])
    save(model, tmp_path / "model")
    for twin in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), model):
        twin.partial_fit(iris[rows[100:]], species[rows[100:]], window=120)
        assert_is_the_fit(twin, iris[rows[30:]], species[rows[30:]])


def test_rows_without_weight_bring_no_class():
    rows = without(2)
    model = SVC(gamma=0.5, keep_rows=True).fit(iris[rows[:80]], species[rows[:80]])
    weight = (species[rows[80:]] != 2).astype(float)
    model.partial_fit(iris[rows[80:]], species[rows[80:]], sample_weight=weight)
    assert_array_equal(model.classes_, [0, 1])
    assert_is_the_fit(model, iris[rows[:100]], species[rows[:100]])


def test_classes_may_be_listed_later():
    rows = without(2)
    model = SVC(gamma=0.5, keep_rows=True).fit(iris[rows[:80]], species[rows[:80]])
    chunk = iris[rows[80:100]], species[rows[80:100]]
    with pytest.raises(ValueError, match=r"classes=\[1, 2\] lacks \[0\]"):
        model.partial_fit(*chunk, classes=[1, 2])
    model.partial_fit(*chunk, classes=[0, 1, 2])
    assert not (model.predict(iris) == 2).any()
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(iris[:1], [5])
    model.partial_fit(iris[rows[100:]], species[rows[100:]])
    assert_is_the_fit(model, iris[rows], species[rows])


def test_classes_after_all_rows_were_forgotten():
    rows = without(2)
    model = SVC(gamma=0.5, keep_rows=True).fit(iris[rows[:100]], species[rows[:100]])
    model.forget(model.ids_).partial_fit(iris, species)
    assert_is_the_fit(model, iris, species)


def test_a_cost_matrix_grows_with_the_classes():
    rows = without(1)
    model = CostSensitiveSVC(gamma=0.5, keep_rows=True, cost_matrix=[[0, 2], [3, 0]])
    model.fit(iris[rows[:100]], species[rows[:100]])
    before = pickle.dumps(model)
    late = iris[rows[100:]], species[rows[100:]]
    with pytest.raises(ValueError, match="cost_matrix"):
        model.partial_fit(*late)
    assert pickle.dumps(model) == before
    model.set_params(cost_matrix=[[0, 1, 2], [4, 0, 1], [1, 3, 0]]).partial_fit(*late)
    assert_is_the_fit(model, iris[rows], species[rows])


@pytest.mark.parametrize("what", ["words", "costs", "one class", "listed"])
def test_what_cannot_be(what):
    two = species < 2
    X, y = iris[two], species[two]
    if what == "one class":
        with pytest.raises(ValueError, match=r"one class only, \[1\]: pass classes"):
            SVC().partial_fit(X[y == 1], y[y == 1])
        return
    model = CostSensitiveSVC(gamma=0.5)
    given, match = {}, "cannot be ordered with the classes"
    labels = species[~two].astype(str) if what == "words" else species[~two]
    if what == "costs":
        costs = np.ones((100, 2))
        costs[np.arange(100), y] = 0.0
        model.partial_fit(X, y, sample_costs=costs)
        given, match = {"sample_costs": np.ones((50, 3))}, "sample_costs had columns"
    elif what == "listed":
        model.partial_fit(X, y, classes=[0, 1])
        match = r"\[2\], not among the classes \[0, 1\] given before; call fit"
    else:
        model.partial_fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=match):
        model.partial_fit(iris[~two], labels, **given)
    assert pickle.dumps(model) == before

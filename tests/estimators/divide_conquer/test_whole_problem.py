"""The whole problem instead of clusters, where it costs about as much."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import scale

from widemargin import SVC, DivideConquerSVC
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.estimators.divide_conquer import level_evidence
from widemargin.estimators.divide_conquer.whole_problem import ASKED, SupportGrowth
from widemargin.multilevel.partition import divide

N = 12_000


@pytest.fixture(autouse=True)
def rows_that_are_not_few(monkeypatch):
    monkeypatch.setattr(level_evidence, "AT_ONCE", 0.9 * N * N)


def clouds(spread, n=N, n_classes=3):
    rng = np.random.default_rng(3)
    centres, y = rng.normal(size=(n_classes, 6)), rng.integers(n_classes, size=n)
    return scale(spread * centres[y] + rng.normal(size=(n, 6))), y


def early(**keywords):
    return DivideConquerSVC(prediction="early", random_state=0, n_jobs=1, **keywords)


def of_pairs(model, X):
    return model.set_params(decision_function_shape="ovo").decision_function(X)


def stages(model):
    return [stage["stage"] for stage in model.history_]


def test_few_support_vectors_are_solved_at_once_and_exactly():
    X, y = clouds(3.0)
    model = early().fit(X, y)
    assert stages(model) == ["growth of support vectors", "level 0"]
    exact = SVC().fit(X, y)
    assert_allclose(of_pairs(model, X), of_pairs(exact, X), atol=0.05)


def test_many_support_vectors_are_asked_about():
    X, y = clouds(0.3)
    assert "evidence on level 2" in stages(early().fit(X, y))


def test_the_question_costs_little_beside_the_answer(monkeypatch):
    """Counted in kernel entries: at most a tenth more than the exact fit."""
    X, y = clouds(3.0)
    handles, begin = [], Gram.__init__

    def noted(self, *arguments, **options):
        begin(self, *arguments, **options)
        handles.append(self)

    monkeypatch.setattr(Gram, "__init__", noted)
    spent = []
    for model in (early(), early(early_level=0, n_levels=0)):
        handles.clear()
        model.fit(X, y)
        spent.append(sum(handle.evaluated for handle in handles))
    assert 0 < spent[0] - spent[1] <= 3 * ASKED**2


def test_no_more_kernel_entries_are_taken_at_once_than_allowed(monkeypatch):
    X, y = clouds(3.0)
    [found] = [s for s in early().fit(X, y).history_ if "power" in s]
    most = N * found["expected_support_vectors"]
    monkeypatch.setattr(level_evidence, "AT_ONCE", 0.99 * most)
    assert "evidence on level 2" in stages(early().fit(X, y))
    monkeypatch.setattr(level_evidence, "AT_ONCE", 1.01 * most)
    assert "evidence on level 2" not in stages(early().fit(X, y))


def test_it_is_asked_again_where_a_level_is_not_good_enough(monkeypatch):
    asked = []

    def noted(self, rows, clusters, again=False):
        asked.append((rows, clusters, again))
        return again

    monkeypatch.setattr(SupportGrowth, "cheap", noted)
    monkeypatch.setattr(level_evidence, "AT_ONCE", 4e8)
    model = early(early_tolerance=0.0).fit(*clouds(0.3, n=2 * N))
    assert asked == [(2 * N, 16, False), (2 * N, 4, True)]
    assert stages(model)[-2:] == ["evidence on level 2", "level 0"]


@pytest.mark.parametrize("spread", [0.3, 1.0, 2.0])
def test_support_vectors_of_all_rows_are_predicted(spread):
    X, y = clouds(spread)
    [found] = [s for s in early().fit(X, y).history_ if "power" in s]
    draw = np.random.default_rng(early()._seed())
    drawn = np.sort(draw.choice(N, size=ASKED, replace=False))
    kernel = Gaussian(1 / (X.shape[1] * X.var()))
    few = SVC(gamma=kernel.gamma).fit(X[drawn], y[drawn])
    quarters = divide(X[drawn], kernel, 4, clustering="random", seed=early()._seed())
    in_quarters = sum(
        len(SVC(gamma=kernel.gamma).fit(X[own], y[own]).support_)
        for own in (drawn[quarters.members(number)] for number in range(4))
    )
    grown = in_quarters / 4 * 4 ** found["power"]  # from a quarter to all of them
    assert_allclose(grown, len(few.support_), rtol=0.02)
    assert found["rows"] == ASKED
    assert_allclose(found["support_vectors"], len(few.support_), rtol=0.02)
    assert 0.5 * few.n_iter_.sum() <= found["pair_steps"] <= 2 * few.n_iter_.sum()
    of_all = len(SVC().fit(X, y).support_)
    assert of_all / 2 < found["expected_support_vectors"] < 2 * of_all


def test_a_class_of_few_rows_tells_nothing():
    X, y = clouds(3.0, n_classes=2)
    rare = np.flatnonzero(y == 1)[60:]
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    assert not any("growth" in stage for stage in stages(early().fit(X, y)))


def growth(found, power, steps, classes=2):
    return SupportGrowth(1000, found, power, steps, classes, 0.0)


def test_support_vectors_grow_by_their_power_up_to_all_rows():
    assert_allclose(growth(100, 0.5, 1).support(100_000), 1000)
    assert_allclose(growth(900, 1.0, 1).support(10_000), 9000)
    assert_allclose(growth(900, 1.0, 1).support(100), 90)
    assert_allclose(growth(90, 0.0, 1).support(50), 50)


def test_what_is_cheap():
    """More rows, more support vectors, more steps for each of them are more costly."""
    assert growth(100, 0.5, 300).cheap(50_000, 64)
    assert not growth(100, 1.0, 300).cheap(50_000, 64)
    assert not growth(100, 0.5, 6000).cheap(50_000, 64)
    assert not growth(100, 0.5, 300).cheap(50_000_000, 64)
    assert growth(300, 0.7, 900).cheap(50_000, 4)  # a coarse level gains little
    assert not growth(300, 0.7, 900).cheap(50_000, 64)
    assert not growth(300, 0.75, 900).cheap(50_000, 4)
    assert growth(300, 0.75, 900).cheap(50_000, 4, again=True)
    # the same steps in all pairs of four classes: each meets half of the rows
    assert not growth(400, 0.6, 1600).cheap(60_000, 64)
    assert growth(400, 0.6, 1600, classes=4).cheap(60_000, 64)


def test_on_dask_too():
    da = pytest.importorskip("dask.array")
    from dask import config

    X, y = clouds(3.0)
    with config.set(scheduler="synchronous"):
        model = early().fit(da.from_array(X, (3000, 6)), da.from_array(y, 3000))
    assert "evidence on level 2" not in stages(model) and "growth" in stages(model)[0]
    assert model.early_.n_clusters == 1
    assert_array_equal(model.support_, early().fit(X, y).support_)

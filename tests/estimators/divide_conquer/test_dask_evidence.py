"""Early fits on dask choose their level by evidence and borrow, as those in memory."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import scale

from widemargin import SVC, DivideConquerSVC
from widemargin.engine.kernels import Gaussian
from widemargin.estimators.divide_conquer import level_evidence
from widemargin.estimators.divide_conquer.level_quality import EarlyWarning
from widemargin.estimators.divide_conquer.single_class_clusters import LENT

from tests.oracles.rebuilt import assert_honest

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

TEST = 3000


@pytest.fixture(autouse=True)
def ask_of_few_rows_too(monkeypatch):
    monkeypatch.setattr(level_evidence, "AT_ONCE", 0)
    monkeypatch.setattr(level_evidence, "FEW", 0)


@pytest.fixture(autouse=True)
def no_processes():
    """Run the tasks here: what is asked is the same, and workers take seconds."""
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def smooth():
    X, y = make_classification(
        12_000 + TEST, 16, n_informative=12, n_redundant=2, n_clusters_per_class=4,
        class_sep=0.8, random_state=0,
    )  # fmt: skip
    X = scale(X)
    return X[TEST:], y[TEST:], X[:TEST], y[:TEST]


def chunked(*arrays, rows=900):
    return [da.from_array(array, chunks=(rows, *array.shape[1:])) for array in arrays]


def early(**keywords):
    return DivideConquerSVC(prediction="early", random_state=0, **keywords)


def evidence_of(model):
    return [s for s in model.history_ if s["stage"].startswith("evidence")]


def test_a_smooth_boundary_is_not_cut_into_pieces(smooth):
    X, y, Z, labels = smooth

    def balanced(model):
        return balanced_accuracy_score(labels, model.predict(Z))

    exact = balanced(SVC().fit(X, y))
    assert exact - balanced(early(early_level=2).fit(*chunked(X, y))) > 0.02
    model = early().fit(*chunked(X, y))
    assert exact - balanced(model) <= 0.005
    assert [s["stage"][-1] for s in evidence_of(model)] == ["2", "1"]
    first = evidence_of(model)[0]
    assert first["coarser_balanced_accuracy"] > first["finer_balanced_accuracy"]
    assert first["held_out"] >= 1000 and first["size"] == len(X)


def test_pieces_that_lose_nothing_are_taken():
    X, y = make_blobs(4000, 12, cluster_std=0.3, random_state=0)
    model = early(gamma=0.05).fit(*chunked(X, y % 2))
    assert len(evidence_of(model)) == 1 and model.early_.n_clusters == 4


def test_where_a_coarser_level_costs_too_much_both_figures_are_said(
    smooth, monkeypatch
):
    X, y, _, _ = smooth
    monkeypatch.setattr(level_evidence, "MOST_ENTRIES", 1.0)
    with pytest.warns(EarlyWarning, match="held-out rows .* balanced accuracy was"):
        model = early().fit(*chunked(X, y))
    assert model.early_.n_clusters == 16
    [found] = evidence_of(model)
    assert found["sampled_rows"] > 500 and found["sampled_balanced_accuracy"] > 0.5


def test_rows_of_regions_are_the_rows_with_their_weights(smooth, monkeypatch):
    """Of many rows a share, but all of a rare class; without weight none."""
    from widemargin.estimators.divide_conquer.dask import some_rows

    X, y, _, _ = smooth
    y = np.where(np.arange(len(y)) % 100 == 3, 2, y)
    weight = np.linspace(0.5, 2, len(y))
    weight[::50] = 0.0
    monkeypatch.setattr(some_rows, "GATHERED", 2000)
    seen = []
    compare = level_evidence.compare_levels

    def noted(machine, source, *rest):
        seen.append(source)
        return compare(machine, source, *rest)

    monkeypatch.setattr(level_evidence, "compare_levels", noted)
    model = early(class_weight={0: 1, 1: 3, 2: 5}, early_tolerance=1.0)
    model.fit(*chunked(X, y, weight))
    for clusters in (1, 4):
        level = seen[0].divided(clusters)
        rows, members, _ = seen[0].regions(level, np.random.default_rng(0))
        assert_array_equal(rows.samples, X[rows.numbers])
        assert_array_equal(rows.codes, y[rows.numbers])
        factors = np.array([1, 3, 5])[rows.codes]
        stands_for = rows.weights / (weight[rows.numbers] * factors)
        for own, there in enumerate(np.bincount(y[weight > 0])):
            of_class = stands_for[rows.codes == own]
            assert_allclose(of_class, 1.0 if own == 2 else of_class[0], rtol=1e-12)
            if clusters == 1:  # one region: all rows
                assert_allclose(of_class.sum(), there, rtol=0.1)
        assert (rows.weights > 0).all() and len(rows.numbers) < 6000
        everyone = np.sort(np.concatenate(members))
        assert_array_equal(everyone, np.arange(len(rows.numbers)))
        if clusters == 1:
            rare = np.flatnonzero((y == 2) & (weight > 0))
            assert_array_equal(rows.numbers[rows.codes == 2], rare)
    tested = rows.take(np.arange(500))
    others = seen[0].others(tested, 300, np.random.default_rng(0))
    assert not np.isin(others.numbers, tested.numbers).any()
    assert_array_equal(others.samples, X[others.numbers])


def test_nothing_is_asked_of_a_local_kernel_or_of_ones_own_level(smooth):
    Z, blob = make_blobs(4000, 12, centers=4, cluster_std=0.3, random_state=0)
    assert evidence_of(early(gamma=0.5).fit(*chunked(Z, blob % 2))) == []
    X, y, _, _ = smooth
    model = early(early_level=1).fit(*chunked(X, y))
    assert evidence_of(model) == [] and model.early_.n_clusters == 4
    assert model.early_.kernel == Gaussian(model.gamma_)


@pytest.fixture(scope="module")
def rare():
    """Four blobs, of which one has the second class."""
    X, blob = make_blobs(
        1600, 2, centers=[[0, 0], [6, 0], [0, 6], [6, 6]], random_state=0
    )
    return X, (blob == 3).astype(int)


def test_no_cluster_answers_with_a_constant(rare):
    X, y = rare
    settings = {"early_level": 1, "gamma": 0.1, "tol": 1e-8}
    model = early(**settings).fit(*chunked(X, y, rows=300))
    home = model.early_.assign(X)
    lacking = 0
    for cluster in range(model.early_.n_clusters):
        own = np.flatnonzero(home == cluster)
        assert np.ptp(model.decision_function(X[own])) > 0.1
        if len(set(y[own])) == 2:
            continue
        lacking += 1
        others = np.flatnonzero(y != y[own[0]])
        apart = ((X[others][:, None] - X[own]) ** 2).sum(axis=2)
        nearest = others[np.argsort(-np.exp(-0.1 * apart).mean(axis=1))[:LENT]]
        rows = np.concatenate([own, nearest])
        local = SVC(gamma=0.1, tol=1e-8).fit(X[rows], y[rows])
        # a sample of the members stands for all: some of the lenders may differ
        assert_allclose(
            model.decision_function(X[own]), local.decision_function(X[own]), atol=0.05
        )
    [stage] = [s for s in model.history_ if s["stage"] == "borrowing"]
    assert len(stage["loans"]) == lacking >= 2
    level = next(s for s in model.history_ if s["stage"] == "level 1")
    total = level["objective"] + stage["objective"]
    assert_allclose(model.certificate_.objective, total, rtol=1e-9)
    assert_honest(model, X, y)
    lent = np.concatenate([loan["lent"] for loan in stage["loans"]])
    assert (model.support_ < len(X)).all() and (y[lent] == 1).any()
    assert np.unique(model.support_).size == model.support_.size


def test_several_classes_with_weights_borrow_by_pairs(rare):
    X, _ = rare
    y = np.where(X.sum(axis=1) > 13.5, 2, X[:, 0] > 3)
    weight = np.linspace(0.5, 2.0, len(y))
    settings = {"early_level": 1, "gamma": 0.1, "C": 2.0, "class_weight": {2: 3.0}}
    model = early(**settings).fit(*chunked(X, y, weight, rows=300))
    local = early(**settings).fit(X, y, weight)
    assert model.early_.n_pairs == local.early_.n_pairs
    agree = np.mean(model.predict(X) == local.predict(X))
    assert agree > 0.99
    assert_honest(model, X, y, weight)
    without = early(fit_intercept=False, **settings).fit(*chunked(X, y, rows=300))
    assert "borrowing" not in [s["stage"] for s in without.history_]

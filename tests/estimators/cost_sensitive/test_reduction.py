"""Costs of several classes: the reduction to pairs against brute force, and updates."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.model_selection import GridSearchCV

import widemargin
from widemargin import SVC, CostSensitiveSVC, total_cost_scorer
from widemargin.estimators.base.multiclass import pair_start, stack, vote
from widemargin.estimators.cost_sensitive.reduction import cost_samples

X, y = make_blobs(
    90,
    2,
    centers=[[0, 0], [1.5, 0], [0.5, 1.5]],
    cluster_std=0.9,
    random_state=0,
)
ASYMMETRIC = np.array([[0, 1, 5], [10, 0, 1], [2, 20, 0]], dtype=float)
SYMMETRIC = np.array([[0, 3, 8], [3, 0, 1], [8, 1, 0]], dtype=float)
ZEROS = np.array([[0, 0, 4], [0, 0, 2], [1, 1, 0]], dtype=float)  # 0 and 1 alike
FREE = np.array([[0, 0, 0], [3, 0, 1], [2, 5, 0]], dtype=float)  # class 0 may be missed
ONE_SIDED = np.array([[0, 0, 2], [3, 0, 4], [1, 0, 0]], dtype=float)  # 1 beats 0
MATRICES = {
    "asymmetric": ASYMMETRIC,
    "symmetric": SYMMETRIC,
    "zeros": ZEROS,
    "free class": FREE,
    "one-sided": ONE_SIDED,
}
four, of_four = make_blobs(80, 2, centers=4, cluster_std=2.5, random_state=3)


def brute_force(X, y, costs, C, gamma, samples):
    """Train each pair on samples written out one by one; return its decisions.

    A pair without samples answers its first class.
    """
    columns = []
    for i, j in combinations(range(costs.shape[1]), 2):
        rows, signs, weights = [], [], []
        for n in range(len(y)):
            if costs[n, i] != costs[n, j]:
                rows.append(n)
                signs.append(1 if costs[n, i] < costs[n, j] else 0)
                weights.append(abs(costs[n, i] - costs[n, j]))
        if len(set(signs)) < 2:
            columns.append(np.full(len(samples), -1.0 if 0 in signs else 1.0))
            continue
        pair = SVC(C=C, gamma=gamma).fit(X[rows], signs, sample_weight=weights)
        columns.append(pair.decision_function(samples))
    return np.column_stack(columns)


def assert_is_the_fit(model, X, y, weights=None, costs=None):
    """Compare a model that was updated with the fit on the rows it stands on."""
    fresh = clone(model).set_params(decision_function_shape="ovo")
    fresh.fit(X, y, sample_weight=weights, sample_costs=costs)
    own = clone(model)  # the shape of the decisions is not a part of the model
    own.__dict__.update(vars(model), decision_function_shape="ovo")
    assert_allclose(
        own.decision_function(X), fresh.decision_function(X), rtol=0, atol=1e-7
    )
    assert all(record.kkt_violation <= 1e-8 for record in model.certificate_)


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_each_pair_is_that_of_brute_force(matrix):
    model = CostSensitiveSVC(
        gamma=0.5, C=2.0, cost_matrix=matrix, decision_function_shape="ovo"
    ).fit(X, y)
    unit = matrix[matrix > 0].min()
    expected = brute_force(X, y, matrix[y] / unit, 2.0, 0.5, X)
    assert_allclose(model.decision_function(X), expected, rtol=0, atol=1e-8)
    assert all(record.kkt_violation <= 1e-8 for record in model.certificate_)
    assert model.dual_coef_.shape == (3, model.support_.size)


def test_four_classes_and_costs_of_rows():
    rng = np.random.default_rng(0)
    costs = rng.uniform(0.5, 3, (80, 4))
    costs[np.arange(80), of_four] = 0.25
    costs[5] = 0.7  # a row that does not mind
    model = CostSensitiveSVC(gamma=0.2, decision_function_shape="ovo")
    model.fit(four, of_four, sample_costs=costs)
    expected = brute_force(four, of_four, costs, 1.0, 0.2, four)
    assert_allclose(model.decision_function(four), expected, rtol=0, atol=1e-8)
    assert 5 not in model.support_
    shifted = costs + rng.uniform(0, 2, (80, 1))  # only differences in a row count
    again = clone(model).fit(four, of_four, sample_costs=shifted)
    assert_allclose(again.decision_function(four), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("price", [1.0, 7.0])
def test_equal_costs_are_svc(price):
    matrix = price * (1 - np.eye(3))
    plain = SVC(gamma=0.5, C=3.0, break_ties=True).fit(X, y)
    for model in (
        CostSensitiveSVC(gamma=0.5, C=3.0, cost_matrix=matrix).fit(X, y),
        CostSensitiveSVC(gamma=0.5, C=3.0).fit(X, y, sample_costs=(1 - np.eye(3))[y]),
    ):
        assert_allclose(
            model.decision_function(X), plain.decision_function(X), rtol=0, atol=1e-10
        )
        assert_array_equal(model.support_, plain.support_)
        assert_array_equal(model.predict(X), plain.predict(X))


def test_two_classes_stay_the_loss_of_the_paper():
    two = y < 2
    settings = {"gamma": 0.5, "cost_negative": 1.5}
    matrix = CostSensitiveSVC(cost_matrix=[[0, 2], [6, 0]], **settings)
    # C+ is (2 * 1.5 - 1) * 6 / 2; C in units of the geometric mean of 2 and 6
    prices = CostSensitiveSVC(C=3**-0.5, cost_positive=6.0, **settings)
    first, second = matrix.fit(X[two], y[two]), prices.fit(X[two], y[two])
    assert_allclose(first.dual_coef_, second.dual_coef_, rtol=0, atol=1e-12)
    assert_allclose(first.intercept_, second.intercept_, rtol=0, atol=1e-12)
    (ours,), (same,) = first.pair_costs_, second.pair_costs_
    assert (ours.cost_positive, ours.cost_negative, ours.unit) == (6.0, 1.5, 3**0.5)
    assert (same.cost_positive, same.cost_negative, same.unit) == (6.0, 1.5, 1.0)


def test_costs_of_rows_with_two_classes_are_weights():
    two = np.flatnonzero(y < 2)
    weights = np.linspace(0.1, 3, two.size)
    costs = np.zeros((two.size, 2))
    costs[np.arange(two.size), 1 - y[two]] = weights
    model = CostSensitiveSVC(gamma=0.5).fit(X[two], y[two], sample_costs=costs)
    plain = SVC(gamma=0.5).fit(X[two], y[two], sample_weight=weights)
    assert_allclose(
        model.decision_function(X), plain.decision_function(X), rtol=0, atol=1e-9
    )


def test_a_symmetric_matrix_is_no_longer_ignored():
    plain = SVC(gamma=0.5).fit(X, y)
    model = CostSensitiveSVC(gamma=0.5, cost_matrix=SYMMETRIC).fit(X, y)
    cost = SYMMETRIC[y, model.predict(X)].sum(), SYMMETRIC[y, plain.predict(X)].sum()
    assert cost[0] < cost[1]


def test_c_minus_moves_the_margin_of_the_cheaper_class():
    model = CostSensitiveSVC(gamma=0.5, cost_matrix=ASYMMETRIC, cost_negative=2.0)
    model.set_params(decision_function_shape="ovo").fit(X, y)
    prices = {costs.pair: costs for costs in model.pair_costs_}
    assert prices[0, 1].positive == -1  # a miss of class 1 costs 10, of class 0 only 1
    assert prices[0, 1].cost_positive == 3.0 and prices[0, 1].cost_negative == 2.0
    assert prices[0, 2].positive == 1 and prices[1, 2].positive == -1
    weights = np.abs(ASYMMETRIC[y, 1] - ASYMMETRIC[y, 0])
    signs = ASYMMETRIC[y, 0] < ASYMMETRIC[y, 1]
    pair = CostSensitiveSVC(gamma=0.5, cost_positive=3.0, cost_negative=2.0)
    pair.set_params(pos_label=False).fit(X, signs, sample_weight=weights)
    assert_allclose(
        model.decision_function(X)[:, 0], pair.decision_function(X), rtol=0, atol=1e-8
    )


def test_weights_multiply_the_costs():
    weights = np.linspace(0, 2, len(y))
    model = CostSensitiveSVC(
        gamma=0.5,
        cost_matrix=ASYMMETRIC,
        class_weight={1: 0.5},
        decision_function_shape="ovo",
    ).fit(X, y, sample_weight=weights)
    factor = weights * np.where(y == 1, 0.5, 1.0)
    expected = brute_force(
        X[1:], y[1:], (factor[:, None] * ASYMMETRIC[y])[1:], 1.0, 0.5, X
    )
    assert_allclose(model.decision_function(X), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_rows_files_and_the_linear_weights(kernel, tmp_path):
    model = CostSensitiveSVC(kernel=kernel, gamma=0.5, cost_matrix=ASYMMETRIC)
    dense = clone(model).fit(X, y)
    model.fit(sparse.csr_matrix(X), y)
    assert model.dual_coef_.shape == (3, model.support_.size)
    assert_allclose(
        model.decision_function(sparse.csr_matrix(X)),
        dense.decision_function(X),
        rtol=0,
        atol=1e-8,
    )
    if kernel == "linear":
        assert_allclose(
            dense.coef_, dense.dual_coef_ @ dense.support_vectors_, rtol=0, atol=1e-12
        )
    widemargin.save(dense, tmp_path / "model")
    assert_array_equal(
        widemargin.load(tmp_path / "model").decision_function(X),
        dense.decision_function(X),
    )


@pytest.mark.parametrize("solver", ["direct", "divide"])
@pytest.mark.parametrize("matrix", [ASYMMETRIC, ZEROS, ONE_SIDED])
def test_solver_and_warm_start_end_at_the_same_model(matrix, solver):
    model = CostSensitiveSVC(
        gamma=0.5, cost_matrix=matrix, solver=solver, warm_start=True, random_state=0
    )
    first = model.fit(X, y).decision_function(X)
    assert_allclose(model.fit(X, y).decision_function(X), first, rtol=0, atol=1e-8)
    model.set_params(cost_matrix=None).fit(X, y)  # the former table has a row a pair
    plain = SVC(gamma=0.5).fit(X, y).decision_function(X)
    assert_allclose(model.decision_function(X), plain, rtol=0, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_rows_come_and_go(matrix, fit_intercept):
    model = CostSensitiveSVC(
        gamma=0.5, cost_matrix=matrix, fit_intercept=fit_intercept, keep_rows=True
    )
    order = np.random.default_rng(1).permutation(len(y))
    model.partial_fit(X[order[:5]], y[order[:5]], classes=[0, 1, 2])
    model.partial_fit(X[order[5:70]], y[order[5:70]])
    assert_is_the_fit(model, X[order[:70]], y[order[:70]])
    model.forget(np.arange(0, 40, 2)).partial_fit(X[order[70:]], y[order[70:]])
    live = np.r_[order[1:40:2], order[40:]]
    assert_is_the_fit(model, X[live], y[live])
    model.update(cost_matrix=ASYMMETRIC.T, C=2.0)
    assert_is_the_fit(model, X[live], y[live])
    model.update(cost_matrix=SYMMETRIC)  # 1 and 2 are worth the same to 0: rows leave
    assert_is_the_fit(model, X[live], y[live])
    model.update(cost_matrix=None)
    assert_is_the_fit(model, X[live], y[live])


def test_rows_with_costs_of_their_own_come_and_go(tmp_path):
    rng = np.random.default_rng(2)
    costs = rng.uniform(0, 3, (90, 3)) * (1 - np.eye(3))[y]
    costs[::7] = 1.0  # rows that do not mind
    weights = np.where(np.arange(90) % 11 == 3, 0.0, rng.uniform(0.5, 2, 90))
    model = CostSensitiveSVC(gamma=0.5)
    for part in (slice(0, 4), slice(4, 50), slice(50, 90)):
        model.partial_fit(
            X[part],
            y[part],
            classes=[0, 1, 2],
            sample_weight=weights[part],
            sample_costs=costs[part],
        )
    assert_is_the_fit(model, X, y, weights, costs)
    widemargin.save(model, tmp_path / "model")
    model = widemargin.load(tmp_path / "model").forget([1, 2, 20, 49, 89])
    left = np.setdiff1d(np.arange(90), [1, 2, 20, 49, 89])
    assert_is_the_fit(model, X[left], y[left], weights[left], costs[left])
    model.update(C=0.3)
    assert_is_the_fit(model, X[left], y[left], weights[left], costs[left])
    with pytest.raises(ValueError, match="in every call or in none"):
        model.partial_fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="sample_costs says what every answer costs"):
        model.update(cost_matrix=ASYMMETRIC)
    assert model.cost_matrix is None
    model.forget(model.ids_)
    model.partial_fit(X, y)  # without a row there is nothing to be consistent with
    assert_is_the_fit(model, X, y)


def test_a_model_of_spoilt_costs_is_refused(tmp_path):
    model = CostSensitiveSVC(gamma=0.5, keep_rows=True)
    model.fit(X, y, sample_costs=(1 - np.eye(3))[y])
    model._updates.live.answer_costs[3, 1] = np.nan
    widemargin.save(model, tmp_path / "model")
    with pytest.raises(ValueError, match="the costs of the rows kept"):
        widemargin.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("matrix", "match"),
    [
        (np.ones((2, 2)), r"shape \(2, 2\); 3 classes need \(3, 3\)"),
        ([[0, 1, 2], [-1, 0, 1], [1, 1, 0]], "below 0"),
        ([[0, 1, 2], [np.nan, 0, 1], [1, 1, 0]], "finite"),
        ([[0, 1, 2], [np.inf, 0, 1], [1, 1, 0]], "finite"),
        ([[0, 1, 2], [1, 1, 1], [1, 1, 0]], "0 on the diagonal"),
        (np.zeros((3, 3)), "every answer is right"),
        ([[0, 1, 2], [1, 0], [1, 1, 0]], "cost_matrix must be a dense table"),
    ],
)
def test_bad_matrices_of_three_classes(matrix, match):
    with pytest.raises(ValueError, match=match):
        CostSensitiveSVC(cost_matrix=matrix).fit(X, y)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda costs: costs[:80], r"shape \(80, 3\); 90 rows"),
        (lambda costs: costs[:, :2], r"need \(90, 3\)"),
        (lambda costs: -costs, ">= 0"),
        (lambda costs: np.where(costs > 0, np.nan, 0), "finite"),
        (lambda costs: costs[:, ::-1], "order of the sorted labels"),
        (sparse.csr_array, "sample_costs must be a dense table.*toarray"),
    ],
)
def test_bad_costs_of_rows(change, match):
    with pytest.raises(ValueError, match=match):
        CostSensitiveSVC().fit(X, y, sample_costs=change(ASYMMETRIC[y]))


def test_costs_are_stated_once():
    for stated in (
        {"cost_matrix": ASYMMETRIC},
        {"cost_positive": 2.0, "pos_label": 1},
        {"cost_negative": 2.0},
    ):
        with pytest.raises(ValueError, match="sample_costs says"):
            CostSensitiveSVC(**stated).fit(X, y, sample_costs=ASYMMETRIC[y])


def test_costs_of_rows_are_routed_through_a_search():
    with config_context(enable_metadata_routing=True):
        model = CostSensitiveSVC(gamma=0.5).set_fit_request(sample_costs=True)
        scorer = total_cost_scorer(labels=[0, 1, 2]).set_score_request(
            sample_costs=True
        )
        search = GridSearchCV(model, {"C": [0.1, 1.0]}, scoring=scorer, cv=3)
        search.fit(X, y, sample_costs=ASYMMETRIC[y])
        by_matrix = total_cost_scorer(cost_matrix=ASYMMETRIC)
        assert_allclose(
            scorer(search, X, y, sample_costs=ASYMMETRIC[y]), by_matrix(search, X, y)
        )
        with pytest.raises(ValueError, match=r"need \(90, 3\)"):
            scorer(search, X, y, sample_costs=ASYMMETRIC[y][:, :2])
    expected = clone(model).set_params(C=search.best_params_["C"])
    expected.fit(X, y, sample_costs=ASYMMETRIC[y])
    assert_array_equal(search.predict(X), expected.predict(X))


def test_the_layout_of_libsvm_refuses_a_third_class():
    class Pair:
        positive, negative, rows = 0, 1, np.arange(4)

    class Answer:
        beta, intercept = np.ones(4), 0.0

    labels = np.array([0, 1, 2, 1])
    with pytest.raises(ValueError, match="rows of a third"):
        stack(labels, 3, [Pair], [Answer])
    stacked = stack(labels, 3, [Pair], [Answer], by_pair=True)
    assert_array_equal(stacked.n_support, [1, 2, 1])


def test_the_vote_costs_at_most_twice_the_errors_of_the_pairs():
    """All outcomes of the ten pairs of five classes, for random costs (Lin 2014)."""
    rng = np.random.default_rng(0)
    outcomes = np.arange(2**10)[:, None] >> np.arange(10) & 1
    winners = vote(np.where(outcomes, 1.0, -1.0), 5)
    pairs = np.array(list(combinations(range(5), 2)))
    largest = 0.0
    for _ in range(200):
        costs = rng.exponential(size=5)
        gain = costs[pairs[:, 1]] - costs[pairs[:, 0]]
        errors = np.where(outcomes, gain < 0, gain > 0) @ np.abs(gain)
        excess = costs[winners] - costs.min()
        assert np.all(excess <= 2 * errors + 1e-12)
        largest = max(largest, np.max(excess[errors > 0] / errors[errors > 0]))
    assert largest > 1  # the pairs alone are not a bound: the factor is needed


def test_a_warm_start_takes_the_row_of_its_pair():
    model = CostSensitiveSVC(gamma=0.5, cost_matrix=ASYMMETRIC, warm_start=True)
    cold = model.fit(X, y).n_iter_
    assert np.all(model.fit(X, y).n_iter_ < cold)

    class Pair:
        positive, negative, rows = 1, 2, np.arange(len(y))

    start = pair_start(model.dual_coef_, model.support_, y, 3, Pair)
    assert_array_equal(start[model.support_], model.dual_coef_[2])


def test_samples_of_a_pair():
    found = cost_samples(np.array([0.0, 2.0, 3.0, 1.0]), np.array([4.0, 2.0, 1.0, 0.5]))
    assert_array_equal(found.rows, [0, 2, 3])
    assert_array_equal(found.y, [1, -1, -1])
    assert_allclose(found.weights, [4.0, 2.0, 0.5])


def test_iris_with_names_and_frames():
    pandas = pytest.importorskip("pandas")
    samples, species = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[species]
    costs = pandas.DataFrame(ASYMMETRIC[species])
    model = CostSensitiveSVC(gamma=0.5).fit(samples, names, sample_costs=costs)
    matrix = CostSensitiveSVC(gamma=0.5, cost_matrix=ASYMMETRIC).fit(samples, names)
    assert_allclose(
        model.decision_function(samples), matrix.decision_function(samples), atol=1e-8
    )

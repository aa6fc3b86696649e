"""Costs as boxes, the cost matrix, and the scorer in business terms."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV

from widemargin import SVC, CostSensitiveSVC, total_cost_scorer
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.cost_sensitive.costs import (
    PairCosts,
    check_costs,
    cost_problem,
)
from widemargin.estimators.cost_sensitive.prices import (
    check_cost_matrix,
    costs_of_pair,
)

from tests.certified import assert_certified, kernel_matrix

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
signs = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0, 1.0, -1.0)


def loss(decisions, y, C, plus, minus):
    """Return the paper's loss, eq. (2), summed and priced."""
    weight = 2 * minus - 1
    positive = plus * np.maximum(0, 1 - decisions[y > 0]).sum()
    negative = weight * np.maximum(0, 1 / weight + decisions[y < 0]).sum()
    return C * (positive + negative)


@pytest.mark.parametrize("positive", [1, -1])
@pytest.mark.parametrize(
    ("plus", "minus"), [(1, 1), (5, 1), (9, 2.5), (1, 4), (2, 0.7)]
)
def test_the_dual_is_that_of_the_printed_loss(plus, minus, positive):
    prices = PairCosts((1, 0), positive, float(plus), float(minus))
    problem = cost_problem(Gram(X, Gaussian(0.5)), signs, 2.0 * np.ones(60), prices)
    solution = solve(problem, SolveOptions(exact=True))
    K = kernel_matrix(Gaussian(0.5), X)
    assert_certified(solution, K, tol=1e-8, rounding=1e-9)
    values = solution.values + solution.intercept
    primal = 0.5 * solution.beta @ K @ solution.beta
    primal += loss(positive * values, positive * signs, 2.0, plus, minus)
    assert_allclose(solution.certificate.objective, primal, rtol=1e-9)


def test_eq_4_and_5_of_the_paper():
    prices = PairCosts((1, 0), 1, 3.0, 2.0)
    problem = cost_problem(Gram(X, Gaussian(0.5)), signs, 0.5, prices)
    assert_array_equal(problem.upper, np.where(signs > 0, 1.5, 0.0))
    assert_array_equal(problem.lower, np.where(signs > 0, 0.0, -1.5))
    assert_allclose(problem.linear, np.where(signs > 0, 1.0, -1 / 3))
    assert problem.total == 0.0
    free = cost_problem(Gram(X, Gaussian(0.5)), signs, 0.5, prices, fit_intercept=False)
    assert free.total is None


def test_prices_outside_the_regime():
    check_costs(1.0, 1.0)
    check_costs(3.0, 2.0)
    with pytest.warns(UserWarning, match="roles are reversed"):
        check_costs(1.0, 4.0)
    with pytest.warns(UserWarning, match="moves the negative margin out"):
        check_costs(1.0, 0.75)
    with pytest.warns(UserWarning) as caught:  # a warning for each of the two
        check_costs(0.4, 0.75)
    words = " ".join(str(warning.message) for warning in caught)
    assert len(caught) == 2
    assert "roles are reversed" in words and "moves the negative margin out" in words
    with pytest.raises(ValueError, match=r"cost_negative > 0\.5"):
        check_costs(1.0, 0.5)
    with pytest.raises(ValueError, match="cost_positive > 0"):
        check_costs(0.0, 1.0)


def test_costs_of_a_pair():
    matrix = np.array([[0, 1, 2], [10, 0, 3], [4, 6, 0]], dtype=float)
    dear = costs_of_pair(matrix, 0, 1, 2.0)
    assert dear == PairCosts((1, 0), 1, 30.0, 2.0, np.sqrt(10.0))
    other = costs_of_pair(matrix, 1, 0, 1.0)
    assert other == PairCosts((0, 1), -1, 10.0, 1.0, np.sqrt(10.0))
    assert costs_of_pair(matrix, 1, 2, 1.5).cost_positive == 4.0


@pytest.mark.parametrize(
    ("matrix", "match"),
    [
        (np.ones((2, 3)), "shape"),
        ([[0, 1], [0, 0]], "both costs off the diagonal"),
        ([[0, 1], [-1, 0]], "below 0"),
        ([[0, np.nan], [1, 0]], "finite"),
        ([[1, 1], [1, 0]], "diagonal"),
    ],
)
def test_bad_cost_matrices(matrix, match):
    with pytest.raises(ValueError, match=match):
        check_cost_matrix(matrix, 2)


class Says(ClassifierMixin, BaseEstimator):
    """A model that predicts what it is told."""

    def __init__(self, classes=(), answers=()):
        self.classes = classes
        self.answers = answers

    def fit(self, X, y):
        """Learn nothing."""
        self.classes_ = np.array(self.classes)
        return self

    def predict(self, X):
        """Return the answers."""
        return np.array(self.answers)


def test_the_scorer_charges_misses_and_false_alarms():
    truth, X = np.array(["ill", "ill", "well", "well", "well"]), np.zeros((5, 1))
    model = Says(["ill", "well"], ["well", "ill", "ill", "well", "well"]).fit(X, truth)
    default = total_cost_scorer(miss=5, false_alarm=1)  # positive: classes_[1]
    assert default(model, X, truth) == -(5 + 1) / 5
    assert total_cost_scorer(7, 2, pos_label="ill")(model, X, truth) == -(7 + 2) / 5
    weighted = default(model, X, truth, sample_weight=[1, 0, 3, 0, 0])
    assert weighted == -(1 + 3 * 5) / 4
    with pytest.raises(ValueError, match="dead"):
        total_cost_scorer(pos_label="dead")(model, X, truth)
    with pytest.raises(ValueError, match="> 0"):
        total_cost_scorer(miss=0)


def test_the_scorer_with_a_matrix():
    matrix = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    X, truth = np.zeros((3, 1)), np.array([0, 1, 2])
    model = Says([0, 1, 2], [2, 1, 1]).fit(X, truth)
    scorer = total_cost_scorer(cost_matrix=matrix)
    assert scorer(model, X, truth) == -(2 + 0 + 6) / 3
    assert pickle.loads(pickle.dumps(scorer))(model, X, truth) == -(2 + 0 + 6) / 3
    turned = total_cost_scorer(cost_matrix=matrix, labels=[2, 1, 0])
    assert turned(model, X, truth) == -(5 + 0 + 1) / 3
    with pytest.raises(ValueError, match="lacks"):
        total_cost_scorer(cost_matrix=matrix, labels=[0, 1, 7])(model, X, truth)
    with pytest.raises(ValueError, match="cost_matrix"):
        total_cost_scorer()(model, X, truth)
    with pytest.raises(ValueError, match="two axes"):
        total_cost_scorer(cost_matrix=[1, 2])


def test_the_scorer_tunes_a_threshold():
    samples, labels = make_classification(300, 5, weights=[0.85], random_state=0)
    scorer = total_cost_scorer(miss=5, false_alarm=1)
    plain = SVC(gamma=0.2).fit(samples, labels)
    tuned = TunedThresholdClassifierCV(SVC(gamma=0.2), scoring=scorer, cv=3)
    tuned.fit(samples, labels)
    assert scorer(tuned, samples, labels) >= scorer(plain, samples, labels)


def test_the_recipe_of_the_documentation():
    """Choose C, C+ and C- under the business costs; it pays against a blind guess."""
    samples, labels = make_classification(
        160, 5, weights=[0.85], flip_y=0.05, random_state=0
    )
    scorer = total_cost_scorer(miss=5, false_alarm=1)
    grid = [
        {
            "C": [0.1, 1.0],
            "cost_negative": [minus],
            "cost_positive": [ratio * (2 * minus - 1) for ratio in (1, 5)],
        }
        for minus in (1.0, 2.0)
    ]
    search = GridSearchCV(CostSensitiveSVC(gamma=0.2), grid, scoring=scorer, cv=3)
    search.fit(samples, labels)
    never = scorer(DummyClassifier().fit(samples, labels), samples, labels)
    assert search.best_score_ > never
    plain = GridSearchCV(SVC(gamma=0.2), {"C": [0.1, 1.0]}, scoring=scorer, cv=3)
    assert search.best_score_ >= plain.fit(samples, labels).best_score_

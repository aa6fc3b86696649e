"""Suspects: ranked, scored, kept in model files; soft labels as two weighted rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.preprocessing import scale

from widemargin import SVC, RampSVC, load, save

from .test_estimator import cancer


def test_suspects_are_ranked_by_how_far_they_are_beyond_the_cut():
    X, y, flipped = cancer(0.2)
    model = RampSVC().fit(X, y)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    beyond = np.flatnonzero(margins < model.s)
    assert_array_equal(model.suspects_, beyond[np.argsort(margins[beyond])])
    scores = model.s - margins[model.suspects_]
    assert_allclose(model.suspect_scores_, scores, atol=1e-6)
    assert_array_equal(np.sort(model.suspects_), model.outliers_)
    assert np.isin(model.suspects_, flipped).mean() > 0.95
    assert model.suspects_.size > 0.4 * flipped.size


def test_with_several_classes_the_worst_pair_counts():
    X, y = load_iris(return_X_y=True)
    wrong = np.random.default_rng(0).choice(150, size=12, replace=False)
    y[wrong] = (y[wrong] + 1) % 3
    model = RampSVC(C=10.0, decision_function_shape="ovo").fit(scale(X), y)
    values = model.decision_function(scale(X))
    worst = np.full(150, -np.inf)
    for column, (low, high) in enumerate([(0, 1), (0, 2), (1, 2)]):
        for label, sign in ((low, 1.0), (high, -1.0)):
            beyond = model.s - sign * values[:, column]
            worst[y == label] = np.maximum(worst, beyond)[y == label]
    assert_array_equal(np.flatnonzero(worst > 0.0), model.outliers_)
    assert_allclose(model.suspect_scores_, worst[model.suspects_], atol=1e-6)
    assert np.all(np.diff(model.suspect_scores_) <= 0.0)
    assert np.isin(model.suspects_[:5], wrong).sum() >= 4


def test_rows_without_weight_keep_the_numbers_of_the_others():
    X, y, _ = cancer(0.2)
    weights = np.ones(len(y))
    weights[::5] = 0.0
    present = np.flatnonzero(weights)
    with_zeros = RampSVC(gamma=0.05).fit(X, y, sample_weight=weights)
    without = RampSVC(gamma=0.05).fit(X[present], y[present])
    assert_array_equal(with_zeros.suspects_, present[without.suspects_])
    assert_allclose(with_zeros.suspect_scores_, without.suspect_scores_, atol=1e-6)


def test_a_model_file_keeps_them(tmp_path: Path):
    X, y, _ = cancer(0.2)
    model = RampSVC().fit(X, y)
    save(model, tmp_path / "model")
    stored = load(tmp_path / "model")
    assert model.suspects_.size > 0
    assert_array_equal(stored.suspects_, model.suspects_)
    assert_array_equal(stored.suspect_scores_, model.suspect_scores_)
    assert_array_equal(stored.outliers_, model.outliers_)


@pytest.mark.parametrize("cls", [SVC, RampSVC])
def test_soft_labels_are_two_weighted_rows(cls):
    """The five lines of the page; sure labels are plain labels, doubts pull less."""
    X, y = make_moons(200, noise=0.2, random_state=0)

    def soft(model, p):
        """p: the probability that a row's label is 1."""
        both = np.vstack([X, X])
        labels = np.repeat([1, 0], len(X))
        return model.fit(both, labels, sample_weight=np.concatenate([p, 1.0 - p]))

    options = {"gamma": 1.0, "tol": 1e-6}
    doubtful = int(np.argmin(np.abs(SVC(**options).fit(X, y).decision_function(X))))
    sure = soft(cls(**options), y.astype(float))
    plain = cls(**options).fit(X, y)
    assert_allclose(sure.decision_function(X), plain.decision_function(X), atol=1e-4)
    # An uncertain label pulls less than a certain one, right or wrong.
    pulled = []
    for belief in (1.0, 0.5, 0.0):
        p = y.astype(float)
        p[doubtful] = belief
        pulled.append(soft(cls(**options), p).decision_function(X[[doubtful]])[0])
    assert pulled[0] > pulled[1] + 0.02
    assert pulled[1] > pulled[2] + 0.02

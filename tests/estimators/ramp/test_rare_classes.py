"""A class is not given up: what happens where the ramp loss would clip most of one."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from widemargin import SVC, RampSVC
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Linear
from widemargin.engine.solution import Solution
from widemargin.engine.status import Status
from widemargin.estimators.ramp.concave_convex import RampProblem, descend
from widemargin_papers.harness.datasets import available, load_dense

from tests.estimators.ramp.test_concave_convex import exactly, random_ramp

FILES = ("yeast4", "abalone19", "winequality-red-4")
GIVEN_UP = "given up more than half of class"


def one_in_a_hundred(seed=0):
    """Overlapping classes, 1 % of the rows positive."""
    X, y = make_classification(
        1500, n_features=6, weights=[0.99], flip_y=0.0, class_sep=0.3, random_state=seed
    )
    return scale(X), y


def rare(name):
    if name == "generated":
        return one_in_a_hundred()
    if not available(name):
        pytest.skip(f"{name} is not there: set WIDEMARGIN_DATA")
    X, y = load_dense(name)
    return scale(X), (y > 0).astype(int)


def fitted(X, y, **parameters):
    """Return the model and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = RampSVC(**parameters).fit(X, y)
    return model, [str(one.message) for one in caught]


@pytest.mark.parametrize("init", ["svm", "continuation", "out_of_fold"])
@pytest.mark.parametrize("s", [0.0, -1.0])
@pytest.mark.parametrize("name", [*FILES, "generated"])
def test_a_rare_class_keeps_support_vectors_or_there_is_a_warning(name, s, init):
    X, y = rare(name)
    model, said = fitted(X, y, s=s, init=init)
    assert np.all(model.n_support_ > 0)
    clipped = np.isin(np.flatnonzero(y == 1), model.outliers_)
    assert clipped.mean() <= 0.5
    lost = model.certificate_.status == "class_clipped"
    assert lost == any(GIVEN_UP in text for text in said)
    assert model.fit_status_ == int(lost)
    assert (s == 0.0) == lost  # the default s keeps all four


def test_the_answer_is_the_last_model_before():
    """Of a start at the plain SVM that is the SVM itself, with its certificate."""
    X, y = one_in_a_hundred()
    model, said = fitted(X, y, s=0.0, init="svm")
    plain = SVC().fit(X, y)
    assert "class_weight='balanced'" in said[0]
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-6)
    assert model.outliers_.size == model.suspects_.size == 0
    certificate = model.certificate_
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    norm = 2.0 * plain.certificate_.objective - 2.0 * np.maximum(0, 1 - margins).sum()
    J = 0.5 * norm + np.clip(1.0 - margins, 0.0, 1.0).sum()
    assert_allclose(model.objective_, J, rtol=1e-6)
    assert certificate.objective >= model.objective_
    assert certificate.gap <= 1e-6
    assert certificate.kkt_violation > 0.1  # not stationary, and it says so


def test_rows_given_up_before_that_stay_given_up():
    """Outliers of the fallback are those that did not pull in its own problem."""
    found = 0
    rng = np.random.default_rng(3)
    for _ in range(60):
        ramp = random_ramp(rng, s=0.0)
        end = descend(ramp, exactly)
        if end.lost_side == 0.0:
            assert end.believable is end
            assert end.solution.beta.any()  # a constant model has lost a class
            continue
        assert end.before is not None
        assert ramp.lost_side(end.before.clipped) == 0.0
        assert end.before.objective >= end.objective - 1e-9
        found += bool(end.before.clipped.any())
    assert found > 0


def test_half_of_a_class_by_cost_is_the_limit():
    rng = np.random.default_rng(0)
    ramp = random_ramp(rng)
    n = ramp.gram.n
    ramp = replace(ramp, costs=np.ones(n))
    positive = np.flatnonzero(ramp.y > 0)
    clipped = np.zeros(n, bool)
    clipped[positive[: len(positive) // 2]] = True
    assert ramp.lost_side(clipped) == 0.0
    clipped[positive[: len(positive) // 2 + 1]] = True
    assert ramp.lost_side(clipped) == 1.0
    heavy = replace(ramp, costs=np.where(clipped, 0.1, 1.0))
    assert heavy.lost_side(clipped) == 0.0
    assert ramp.lost_side(ramp.y < 0) == -1.0


@pytest.mark.parametrize("name", [*FILES, "generated"])
def test_balanced_weights_keep_a_rare_class(name):
    X, y = rare(name)
    model, said = fitted(X, y, class_weight="balanced")
    assert said == []
    assert model.certificate_.status in ("converged", "polished")
    recalled = np.mean(model.predict(X[y == 1]) == 1)
    assert recalled > 0.4 > np.mean(RampSVC().fit(X, y).predict(X[y == 1]) == 1)


def test_the_warning_names_the_classes_of_a_pair():
    X, labels = make_blobs(
        [60, 60, 4], centers=[[-6.0, 0.0], [6.0, 0.0], [6.0, 0.5]], random_state=1
    )
    y = np.array(["left", "right", "rare"])[labels]
    model, said = fitted(X, y, s=0.0)
    assert len(said) == 1
    assert "class rare (against right)" in said[0]
    assert [c.status == "class_clipped" for c in model.certificate_].count(True) == 1


def test_a_warm_start_from_a_taken_back_model_starts_with_every_class():
    X, y = one_in_a_hundred()
    model = RampSVC(s=0.0, warm_start=True)
    for _ in range(2):
        with pytest.warns(ConvergenceWarning, match=GIVEN_UP):
            model.fit(X, y)
        assert np.all(model.n_support_ > 0)
    assert_array_equal(model.outliers_, [])


@pytest.mark.parametrize(
    ("status", "expected"), [(Status.CONVERGED, [3]), (Status.POLISHED, [1, 2, 3])]
)
def test_a_margin_is_below_s_only_by_more_than_its_tolerance(status, expected):
    gram = Gram(np.eye(4), Linear())
    ramp = RampProblem(gram, np.ones(4), np.ones(4), -1.0, False, tolerance=1e-3)
    values = np.array([-0.9999, -1.0001, -1.0009, -1.0011])
    point = Solution(ramp.convex(np.zeros(4, bool)), values, values, status)
    assert np.flatnonzero(ramp.clips(point)).tolist() == expected

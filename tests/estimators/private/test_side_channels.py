"""What a sceptic looks for beside the weights: bounds end to end, traces, errors.

The noise is taken out (`Silent`), so that what one record can do is seen bare.
"""

from __future__ import annotations

import logging
import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor

from widemargin import NoiseWarning, PrivateSVC
from widemargin.estimators.private import estimator as module
from widemargin.estimators.private import huber, mechanisms
from widemargin.estimators.private.mechanisms import GradientMechanism, Public
from widemargin.estimators.private.noise import SeededNoise
from widemargin.estimators.private.sensitivity import clip_rows

from tests.estimators.private.silent import Silent

# Few records: `warn_of_drowned_signal` has its own test.
pytestmark = pytest.mark.filterwarnings("ignore::widemargin.NoiseWarning")


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setattr(module, "noise_source", lambda *_: Silent())


def weights(model):
    """All trained numbers of a model, the constant feature's in its own units."""
    own = model.intercept_[:, None] / (model.intercept_scaling or 1.0)
    return np.hstack([model.coef_, own])


def neighbours(rng, n, d, n_classes, adjacency="replace", group_size=1):
    """Records of wild lengths; some are replaced by opposite, far too long ones."""
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-2, 4, size=(n, 1))
    y = rng.integers(n_classes, size=n)
    near = rng.random() < 0.5
    record = 1e6 * (X[:group_size] if near else rng.normal(size=(group_size, d)))
    label = (y[:group_size] + 1) % n_classes
    if adjacency == "replace":
        rest_X, rest_y = X[group_size:], y[group_size:]
    else:
        rest_X, rest_y = X, y
    return (X, y), (np.vstack([record, rest_X]), np.concatenate([label, rest_y]))


SETTINGS = [
    {},
    {"delta": 0.0},
    {"fit_intercept": False},
    {"intercept_scaling": 3.0},
    {"class_weight": {0: 0.2, 1: 5.0}},
    {"kernel": "rbf", "gamma": 0.3, "n_components": 4},
]


@pytest.mark.filterwarnings("ignore:no privacy guarantee")
@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("settings", [*SETTINGS, {"group_size": 3}], ids=str)
def test_no_record_moves_the_model_beyond_the_stated_sensitivity(
    silent, settings, n_classes, adjacency, global_random_seed
):
    # Through the whole estimator: clipping, intercept, weights, features, classes; over
    # a thousand pairs of neighbours in all. What is released together moves together.
    rng = np.random.default_rng(global_random_seed)
    ratios = []
    for _ in range(40):
        group = settings.get("group_size", 1)
        n, d = int(rng.integers(group, 10)), int(rng.integers(1, 5))
        public = {
            "mechanism": "output",
            "adjacency": adjacency,
            "clip_norm": 10 ** rng.uniform(-1, 1),
            "C": 10 ** rng.uniform(-2, 0.5),
            "classes": list(range(n_classes)),
            "delta": 1e-6,
        } | settings
        both = neighbours(rng, n, d, n_classes, adjacency, group)
        pair = [PrivateSVC(**public).fit(*data) for data in both]
        report = pair[0].privacy_report()
        assert report == pair[1].privacy_report()
        moves = weights(pair[0]) - weights(pair[1])
        each = np.linalg.norm(moves, axis=1).max() / report.sensitivity
        together = np.linalg.norm(moves) / report.sensitivity
        ratios.append(max(each, together / math.sqrt(report.n_problems)))
    assert max(ratios) <= 1.0
    assert max(ratios) > 0.5  # the search is not idle


class Replaying(SeededNoise):
    """Notes what is asked and answers with given vectors."""

    def __init__(self, answers):
        super().__init__(0)
        self.answers, self.asked = answers, []

    def gaussian(self, values, scale):
        self.asked.append(values)
        return self.answers[len(self.asked) - 1]


def test_gradient_release_is_a_function_of_the_noisy_gradients(global_random_seed):
    # Momentum, projection and averaging see the data through the noisy gradients alone:
    # with the same answers two unrelated data sets release the same weights.
    rng = np.random.default_rng(global_random_seed)
    public = Public(1.0, 1e-6, 0.5, 2.0, 1.5, 4, "replace")
    plan = GradientMechanism.plan(public, 0.5, 30, 25)
    answers = rng.normal(size=(30, 4))
    released, asked = [], []
    for _ in range(2):
        X = clip_rows(rng.normal(size=(25, 4)), 1.5)
        y, costs = rng.choice([-1.0, 1.0], size=25), rng.choice([0.5, 2.0], size=25)
        source = Replaying(answers)
        released.append(plan.release(X, y, costs, source).weights)
        asked.append(np.array(source.asked))
    assert_array_equal(*released)
    assert not np.array_equal(*asked)


def test_no_record_moves_a_gradient_beyond_its_sensitivity(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    ratios = []
    for _ in range(300):
        n, radius, weight = int(rng.integers(1, 8)), 10 ** rng.uniform(-1, 1), 3.0
        public = Public(1.0, 1e-6, 0.5, weight, radius, 3, "replace")
        plan = GradientMechanism.plan(public, 0.5, 4, n)
        X = clip_rows(1e3 * rng.normal(size=(n, 3)), radius)
        y, costs = rng.choice([-1.0, 1.0], size=n), np.full(n, weight)
        answers = rng.normal(size=(4, 3)) * 10 ** rng.uniform(-3, 1)
        other, flipped = X.copy(), y.copy()
        flipped[0] = -y[0]
        asked = []
        for rows, labels in ((X, y), (other, flipped)):
            source = Replaying(answers)
            plan.release(rows, labels, costs, source)
            asked.append(np.array(source.asked))
        moves = np.linalg.norm(asked[0] - asked[1], axis=1)
        ratios.append(moves.max() / plan.sensitivity)
    assert max(ratios) <= 1.0
    assert max(ratios) > 0.9


def traces(model, X, y, capfd, caplog):
    """Everything that a fit leaves beside the released numbers."""
    capfd.readouterr()
    caplog.clear()
    with warnings.catch_warnings(record=True) as told, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        model.fit(X, y)
    shapes = {
        name: getattr(value, "shape", None)
        for name, value in vars(model).items()
        if name not in model.get_params()
    }
    said = [str(warning.message) for warning in told]
    return said, capfd.readouterr(), caplog.text, shapes, str(model.privacy_report())


@pytest.mark.parametrize("settings", [*SETTINGS, {"mechanism": "gradient"}], ids=str)
def test_two_data_sets_leave_the_same_traces(settings, capfd, caplog):
    # Unlike in everything but the public numbers: n, d and the classes.
    rng = np.random.default_rng(0)
    public = {"clip_norm": 1.0, "classes": [0, 1], "verbose": 1} | settings
    tame = 1e-3 * rng.normal(size=(12, 3)), np.zeros(12, dtype=int)  # none clipped
    wild = np.full((12, 3), 1e250), np.arange(12) % 2  # all clipped, all alike
    both = [traces(PrivateSVC(**public), *data, capfd, caplog) for data in (tame, wild)]
    assert both[0] == both[1]
    assert both[0][2] == ""
    # Twelve records drown in noise, which public numbers tell.
    assert all(said.startswith("the noise is") for said in both[0][0])


def test_given_classes_keep_the_labels_at_hand_unmentioned():
    # scikit-learn would warn that there are many distinct labels for so few records.
    X = np.eye(24)
    settings = {"clip_norm": 1.0, "classes": list(range(30)), "n_steps": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NoiseWarning)
        PrivateSVC(**settings).fit(X, np.arange(24))
        PrivateSVC(**settings).fit(X, np.zeros(24, dtype=int))
    with pytest.raises(ValueError, match="not in the parameter classes"):
        PrivateSVC(clip_norm=1.0, classes=[0, 1]).fit(X, np.linspace(0, 1, 24))


def test_a_fit_that_fails_leaves_the_released_model_whole(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    settings = {"kernel": "rbf", "clip_norm": 5.0, "classes": [0, 1]}
    model = PrivateSVC(mechanism="output", **settings).fit(X, y)
    before = model.decision_function(X)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(mechanisms, "minimise_hinge", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, 1 - y)
    assert_array_equal(model.decision_function(X), before)
    assert_array_equal(model.classes_, [0, 1])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_tiny_numbers_are_neither_told_nor_lost(form):
    X = np.array([[5e-324, 1e-310], [3.0, 4.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clipped = clip_rows(form(X), 1.0)
    clipped = clipped.toarray() if sparse.issparse(clipped) else clipped
    assert_array_equal(clipped[0], X[0])


def test_a_matrix_that_rounding_made_indefinite_is_factored():
    square = np.ones((3, 3))  # singular; less a hair it is indefinite
    square[0, 0] -= 1e-15
    factor = np.triu(huber._factor(square))
    assert_allclose(factor.T @ factor, square, atol=1e-6)
    with pytest.raises(LinAlgError):
        cho_factor(square)
    far_off = np.array([[1.0, 1.5], [1.5, 1.0]])  # more than rounding ever does
    factor = np.triu(huber._factor(far_off))
    assert_allclose(factor.T @ factor, far_off + 2.0 * np.eye(2))


@pytest.mark.parametrize("mechanism", ["output", "objective"])
def test_many_records_and_a_tiny_cost_are_trained_without_an_error(mechanism):
    # An error would depend on the data: rounding must stay below the public accuracy.
    rng = np.random.default_rng(0)
    y = np.arange(40_000) % 2
    X = rng.normal(size=(len(y), 4)) + y[:, None]
    for cost in (1e-6, 1e-3, 10.0):
        settings = {"C": cost, "clip_norm": 2.0, "classes": [0, 1]}
        model = PrivateSVC(5.0, mechanism=mechanism, **settings).fit(X, y)
        assert model.privacy_report().guarantee
        assert np.isfinite(model.coef_).all()

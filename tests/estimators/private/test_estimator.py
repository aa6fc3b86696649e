"""PrivateSVC: what it refuses, what it keeps, what it says."""

from __future__ import annotations

import io
import math
import pickle
import sys
from contextlib import redirect_stdout
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline

from widemargin import (
    PrivacyWarning,
    PrivateSVC,
    PublicBoundsScaler,
)
from widemargin.estimators.private import estimator
from widemargin.estimators.private.features import fourier_features
from widemargin.estimators.private.noise import REAL_ARITHMETIC, SEEDED
from widemargin.estimators.private.report import (
    SEED_GIVEN,
)

from tests.estimators.private.sentinels import holds

# Few records: `warn_of_drowned_signal` has its own test.
pytestmark = pytest.mark.filterwarnings("ignore::widemargin.NoiseWarning")

private_svc = partial(PrivateSVC, classes=[0, 1])


MECHANISMS = [
    {"mechanism": "output"},
    {"mechanism": "output", "delta": 0.0},
    {"mechanism": "output", "noise": "spherical"},
    {"mechanism": "output", "adjacency": "add-remove"},
    {"mechanism": "objective"},
    {"mechanism": "gradient"},
    {"kernel": "rbf", "gamma": 0.1},
]


@pytest.mark.parametrize("settings", MECHANISMS, ids=str)
def test_nothing_of_the_data_is_reachable(small, settings):
    X, y = small
    X = X + np.random.default_rng(0).uniform(0, 1e-3, size=X.shape)  # unmistakable
    model = private_svc(clip_norm=1.0, **settings).fit(X, y)
    model.predict(X)
    assert not holds(model, X)
    clipped = X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    assert not holds(model, clipped)


@pytest.mark.parametrize("plant", ["copy", "view", "closure", "report"])
def test_the_search_finds_a_planted_copy(small, plant):
    X, y = small
    model = private_svc(clip_norm=1.0).fit(X, y)
    if plant == "copy":
        model.n_iter_ = X[3].copy()
    elif plant == "view":
        model.coef_ = X[:1, :1]  # shows one number, keeps all of X
    elif plant == "closure":
        row = X[5]
        model.callback_ = lambda: row
    else:
        object.__setattr__(model._report, "noise_scale", float(X[7, 2]))
    assert holds(model, X)


def test_only_public_attributes_exist(small):
    model = private_svc(clip_norm=1.0, random_state=None).fit(*small)
    kept = {name for name in vars(model) if name not in model.get_params()}
    public = {"classes_", "n_features_in_", "frequencies_", "_report"}
    assert kept == {"coef_", "intercept_"} | public
    assert model.frequencies_ is None
    for leak in ("certificate_", "objective_", "n_iter_", "history_", "support_"):
        assert not hasattr(model, leak)


def test_verbose_prints_nothing_of_the_data(small):
    X, y = small

    def printed(X, y):
        stream = io.StringIO()
        with redirect_stdout(stream):
            private_svc(clip_norm=1.0, classes=[0, 1], verbose=1).fit(X, y)
        return stream.getvalue()

    assert printed(X, y) == printed(X[:40] * 3, 1 - y[:40]) != ""


def test_clip_norm_is_refused_when_missing(small):
    with pytest.raises(ValueError, match="must be known without looking at the data"):
        private_svc().fit(*small)
    with pytest.raises(ValueError, match=r"sqrt\(n_features\) for features in"):
        private_svc().fit(*small)
    with pytest.raises(ValueError, match="clip_norm bounds each row's length"):
        private_svc(kernel="rbf").fit(*small)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.nan, np.inf])
def test_bad_epsilon(small, epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        private_svc(epsilon, clip_norm=1.0).fit(*small)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, np.nan])
def test_bad_delta(small, delta):
    with pytest.raises(ValueError, match="delta"):
        private_svc(delta=delta, clip_norm=1.0).fit(*small)


def test_combinations_without_a_proof_are_refused(small):
    for mechanism in ("objective", "gradient"):
        with pytest.raises(ValueError, match="proven for adjacency='replace' only"):
            private_svc(mechanism=mechanism, adjacency="add-remove", clip_norm=1.0).fit(
                *small
            )
    with pytest.raises(ValueError, match="delta=0 with Gaussian noise"):
        private_svc(mechanism="gradient", delta=0.0, clip_norm=1.0).fit(*small)
    with pytest.raises(ValueError, match="delta=0 with Gaussian noise"):
        private_svc(noise="gaussian", delta=0.0, clip_norm=1.0).fit(*small)
    with pytest.raises(ValueError, match="class_weight"):
        private_svc(class_weight="balanced", clip_norm=1.0).fit(*small)
    with pytest.raises(ValueError, match="gamma"):
        private_svc(kernel="rbf", gamma="scale", clip_norm=1.0).fit(*small)
    with pytest.raises(TypeError, match="sample_weight"):
        private_svc(clip_norm=1.0).fit(*small, sample_weight=np.ones(80))


def test_noise_of_another_mechanism_is_refused(small):
    for mechanism, law in (("objective", "laplace"), ("gradient", "spherical")):
        with pytest.raises(ValueError, match="leave noise='auto'"):
            private_svc(mechanism=mechanism, noise=law, clip_norm=1.0).fit(*small)
    private_svc(mechanism="gradient", noise="gaussian", clip_norm=1.0).fit(*small)


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 1e-60},
        {"C": 1e-60},
        {"C": 1e60},
        {"C": 1e40, "class_weight": {0: 1e40}},
        {"clip_norm": 1e60},
        {"clip_norm": 1e-60, "fit_intercept": False},
    ],
    ids=str,
)
def test_public_numbers_beyond_floating_point_are_refused(small, settings):
    with pytest.raises(ValueError, match="must lie between 1e-50 and 1e50"):
        private_svc(**{"clip_norm": 1.0} | settings).fit(*small)
    with pytest.raises(ValueError, match="tol"):
        private_svc(clip_norm=1.0, tol=1e-13).fit(*small)


@pytest.mark.parametrize("mechanism", ["output", "gradient"])
def test_missing_opendp(small, monkeypatch, mechanism):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    settings = {"mechanism": mechanism, "clip_norm": 1.0, "n_steps": 3}
    with pytest.raises(ImportError, match="insecure_noise=True"):
        private_svc(**settings).fit(*small)
    model = private_svc(insecure_noise=True, **settings).fit(*small)
    assert model.privacy_report().noise_class == REAL_ARITHMETIC
    private_svc(mechanism="objective", clip_norm=1.0).fit(*small)


def test_a_seed_warns_and_voids(small):
    model = private_svc(clip_norm=1.0, random_state=0)
    with pytest.warns(PrivacyWarning, match="no privacy guarantee"):
        first = model.fit(*small).coef_.copy()
    with pytest.warns(PrivacyWarning):
        assert_array_equal(model.fit(*small).coef_, first)
    report = model.privacy_report()
    assert not report.guarantee and report.noise_class == SEEDED
    assert report.voided_by == (SEED_GIVEN,)
    assert "NO PRIVACY GUARANTEE" in str(report) and SEEDED in str(report)
    fresh = private_svc(clip_norm=1.0)
    assert not np.array_equal(fresh.fit(*small).coef_, fresh.fit(*small).coef_)


def test_a_warning_made_an_error_leaves_the_model_whole(small):
    X, y = small
    model = private_svc(clip_norm=1.0).fit(X, y)
    before = vars(model).copy()
    model.set_params(classes=None)
    with pytest.raises(PrivacyWarning):  # as pytest's settings have it
        model.fit(X, y)
    for name in ("coef_", "intercept_", "classes_", "_report"):
        assert vars(model)[name] is before[name]


def test_public_classes(small):
    X, y = small
    model = private_svc(clip_norm=1.0, classes=[0, 1, 2]).fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 2])
    one_class = private_svc(clip_norm=1.0, classes=[0, 1]).fit(X, np.zeros(80, int))
    assert one_class.coef_.shape == (1, 5)
    with pytest.raises(ValueError, match="not in the parameter classes") as refusal:
        private_svc(clip_norm=1.0, classes=[0, 1]).fit(X, np.full(80, 777))
    assert "777" not in str(refusal.value)
    with pytest.raises(ValueError, match="1 class"):
        PrivateSVC(clip_norm=1.0).fit(X, np.zeros(80, int))


def test_delta_above_one_over_n_warns(small):
    with pytest.warns(PrivacyWarning, match="delta is not below 1/n"):
        private_svc(delta=0.02, clip_norm=1.0).fit(*small)


def test_clipping_is_silent_and_applies_in_fit_and_predict(small):
    X, y = small
    model = private_svc(clip_norm=1.0).fit(X * 1e6, y)
    far = model.decision_function(X * 1e6)
    assert_allclose(far, model.decision_function(X * 1e9), rtol=1e-9)


@pytest.mark.parametrize("mechanism", ["output", "objective"])
def test_a_huge_budget_gives_the_model_without_noise(breast, mechanism):
    X, y = breast
    private = private_svc(1e9, mechanism=mechanism, clip_norm=6.0, C=0.05).fit(X, y)
    exact = private_svc(1e9, mechanism=mechanism, clip_norm=6.0, C=0.05).fit(X, y)
    assert_allclose(private.coef_, exact.coef_, atol=1e-2)
    assert private.score(X, y) > 0.9


def test_class_weight_is_public_and_counts_in_the_noise(small):
    plain = private_svc(clip_norm=1.0).fit(*small).privacy_report()
    heavy = private_svc(clip_norm=1.0, class_weight={1: 3.0}).fit(*small)
    ratio = heavy.privacy_report().noise_scale / plain.noise_scale
    assert ratio == pytest.approx(3.0)
    with pytest.raises(ValueError, match="not in classes_"):
        private_svc(clip_norm=1.0, class_weight={9: 1.0}).fit(*small)
    with pytest.raises(ValueError, match="not negative"):
        private_svc(clip_norm=1.0, class_weight={1: -1.0}).fit(*small)
    with pytest.raises(ValueError, match="each class to a number"):
        private_svc(clip_norm=1.0, class_weight={1: "heavy"}).fit(*small)


def test_sparse_equals_dense_and_string_labels(small):
    X, y = small
    labels = np.where(y == 1, "benign", "malignant")
    settings = {"classes": ["benign", "malignant"], "random_state": 3}
    with pytest.warns(PrivacyWarning):
        dense = PrivateSVC(clip_norm=1.0, **settings).fit(X, labels)
    with pytest.warns(PrivacyWarning):
        other = PrivateSVC(clip_norm=1.0, **settings).fit(sparse.csr_matrix(X), labels)
    assert_allclose(dense.coef_, other.coef_, atol=1e-4)
    assert set(dense.predict(X)) <= {"benign", "malignant"}


def test_frequencies_do_not_depend_on_the_data(small):
    X, y = small
    settings = {"kernel": "rbf", "gamma": 0.3, "n_components": 20, "random_state": 5}
    settings["clip_norm"] = 10.0
    with pytest.warns(PrivacyWarning):
        first = private_svc(**settings).fit(X, y).frequencies_
    with pytest.warns(PrivacyWarning):
        second = private_svc(**settings).fit(10 * X + 3, 1 - y).frequencies_
    assert_array_equal(first, second)


def test_fourier_features_approximate_the_kernel_and_have_length_one(small):
    X, _ = small
    with pytest.warns(PrivacyWarning):
        model = private_svc(
            kernel="rbf", clip_norm=9.0, gamma=0.3, n_components=4000, random_state=0
        ).fit(*small)
    images = model._map(model.frequencies_).images(X[:10])
    lengths = np.linalg.norm(images, axis=1)
    assert_allclose(lengths, 1.0, rtol=1e-11)
    assert lengths.max() <= 1.0
    squares = ((X[:10, None] - X[None, :10]) ** 2).sum(axis=2)
    assert_allclose(images @ images.T, np.exp(-0.3 * squares), atol=0.08)
    assert model.privacy_report().radius == pytest.approx(math.sqrt(2.0))


def test_no_rounding_takes_an_image_beyond_length_one():
    angles = np.linspace(0.0, 7.0, 1000)[:, None]
    images = fourier_features(angles, np.ones((1, 1)))
    squares = [Fraction(c) ** 2 + Fraction(s) ** 2 for c, s in images.tolist()]
    assert max(squares) <= 1  # exactly, not in floats


def test_scaling_by_public_bounds_in_a_pipeline(breast):
    X, y = load_breast_cancer(return_X_y=True)
    scaler = PublicBoundsScaler(lower=0.0, upper=5000.0)
    model = make_pipeline(scaler, private_svc(clip_norm=math.sqrt(30)))
    assert model.fit(X, y).predict(X).shape == (569,)
    assert_allclose(scaler.fit_transform([[0.0, 5000.0, 9999.0]]), [[-1.0, 1.0, 1.0]])
    with pytest.raises(ValueError, match="lower < upper"):
        PublicBoundsScaler(1.0, 1.0).fit(X)
    with pytest.raises(ValueError, match="one per feature"):
        PublicBoundsScaler([0.0, 1.0], 2.0).fit(X)


@pytest.mark.filterwarnings("ignore::widemargin.PrivacyWarning")
@pytest.mark.parametrize("end", [KeyboardInterrupt, MemoryError])
def test_a_fit_cut_short_leaves_all_as_it_was(small, monkeypatch, end):
    """It left the number of features alone: a model to those who ask for attributes."""
    X, y = small
    first, fitted = private_svc(clip_norm=1.0), private_svc(clip_norm=1.0).fit(X, y)
    before = pickle.dumps(fitted)

    def cut(*_, **__):
        raise end

    monkeypatch.setattr(estimator, "build_report", cut)
    for model in (first, fitted):
        for fit in (model.fit, model.fit_without_noise):
            with pytest.raises(end):
                fit(X[:, :-1], y)
    assert vars(first) == vars(private_svc(clip_norm=1.0))
    assert pickle.dumps(fitted) == before


def test_a_prediction_beside_a_fit_is_of_one_model(small, monkeypatch):
    X, y = small
    model = private_svc(clip_norm=1.0).fit(X, y)
    expected, plain = model.predict(X), PrivateSVC._samples

    def with_a_change(self, *given, **options):
        monkeypatch.setattr(PrivateSVC, "_samples", plain)
        model.set_params(classes=["no", "yes"]).fit(X, np.array(["no", "yes"])[y])
        return plain(self, *given, **options)

    monkeypatch.setattr(PrivateSVC, "_samples", with_a_change)
    assert_array_equal(model.predict(X), expected)
    assert set(model.predict(X)) <= {"no", "yes"}

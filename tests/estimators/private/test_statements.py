"""PrivateSVC says what it guarantees: its report, its warnings, its choices."""

from __future__ import annotations

import math
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from widemargin import (
    NoiseWarning,
    PrivacyWarning,
    PrivateSVC,
)
from widemargin.estimators.private import mechanisms
from widemargin.estimators.private.calibration import gaussian_scale
from widemargin.estimators.private.noise import EXACT, REAL_ARITHMETIC
from widemargin.estimators.private.report import (
    CLASSES_FOUND,
    MINIMUM_MISSED,
    SEED_GIVEN,
)

# Few records: `warn_of_drowned_signal` has its own test.
pytestmark = pytest.mark.filterwarnings("ignore::widemargin.NoiseWarning")

private_svc = partial(PrivateSVC, classes=[0, 1])


def test_labels_found_in_the_data_void_the_guarantee(small):
    # Whether a rare label occurs is data: one record decides over the model's shape.
    X, y = small
    with pytest.warns(PrivacyWarning, match="give the labels that are possible") as one:
        report = PrivateSVC(clip_norm=1.0).fit(X, y).privacy_report()
    assert sum(each.category is PrivacyWarning for each in one) == 1
    assert not report.guarantee and report.voided_by == (CLASSES_FOUND,)
    assert str(report).startswith("NO PRIVACY GUARANTEE:")
    assert CLASSES_FOUND in str(report) and "class labels;" not in str(report)
    with pytest.warns(PrivacyWarning) as two:
        report = PrivateSVC(clip_norm=1.0, random_state=0).fit(X, y).privacy_report()
    assert sum(each.category is PrivacyWarning for each in two) == 2
    assert report.voided_by == (SEED_GIVEN, CLASSES_FOUND)
    report = PrivateSVC(clip_norm=1.0, classes=[0, 1]).fit(X, y).privacy_report()
    assert report.guarantee and report.voided_by == ()


def test_a_minimum_that_was_missed_voids_the_guarantee(small, monkeypatch):
    def astray(X, y, costs, width, linear, distance):
        return -linear, 2.0 * distance

    model = private_svc(mechanism="objective", clip_norm=1.0)
    assert model.fit(*small).privacy_report().guarantee
    monkeypatch.setattr(mechanisms, "minimise_huber", astray)
    with pytest.warns(PrivacyWarning, match="farther away than the noise covers"):
        report = model.fit(*small).privacy_report()
    assert not report.guarantee and report.voided_by == (MINIMUM_MISSED,)


def test_report_numbers_by_hand(breast):
    X, y = breast
    settings = {"C": 0.05, "clip_norm": 3.0, "intercept_scaling": 4.0}
    model = private_svc(2.0, delta=1e-6, mechanism="output", **settings)
    report = model.fit(X, y).privacy_report()
    exact = 2 * 0.05 * 5.0  # R = hypot(3, 4)
    sensitivity = exact + 2 * math.sqrt(2 * 1e-6 * exact**2)
    assert report.radius == pytest.approx(5.0)
    assert report.sensitivity == pytest.approx(sensitivity)
    assert report.solver_gap == pytest.approx(1e-6 * exact**2)
    assert report.noise_scale == pytest.approx(gaussian_scale(2.0, 1e-6, sensitivity))
    assert (report.epsilon, report.delta, report.n_problems) == (2.0, 1e-6, 1)
    assert report.guarantee and report.noise_class == EXACT
    text = str(report)
    for phrase in (
        "epsilon = 2",
        "delta = 1e-06",
        "one record is replaced",
        "NOT covered",
        "learnt from these data",
        "looking at results",
        "rounding inside the training",
        "class labels",
        "number of records",
    ):
        assert phrase in text


def test_report_of_the_other_mechanisms(small):
    X, y = small
    report = private_svc(mechanism="objective", C=5.0, clip_norm=1.0).fit(X, y)
    report = report.privacy_report()
    assert report.delta == 0.0 and report.noise_class == REAL_ARITHMETIC
    curvature = 2.0 / (2 * 0.5)
    assert report.C == pytest.approx(math.expm1(0.999 / 2) / curvature)  # lowered
    assert report.mu is None
    assert "0.1% of epsilon is spent on noise that covers this" in str(report)
    add = private_svc(adjacency="add-remove", clip_norm=1.0, classes=[0, 1]).fit(X, y)
    public = add.privacy_report().treated_as_public
    assert "class labels" in public
    assert "number of records" not in public


def test_several_classes_are_released_together_and_the_report_says_so():
    X, y = load_iris(return_X_y=True)
    settings = {"delta": 3e-6, "clip_norm": 8.0, "classes": [0, 1, 2]}
    model = PrivateSVC(3.0, mechanism="output", **settings).fit(X, y)
    report = model.privacy_report()
    assert model.coef_.shape == (3, 4) and report.n_problems == 3
    assert (report.epsilon, report.delta) == (pytest.approx(3.0), pytest.approx(3e-6))
    joint = math.sqrt(3) * report.sensitivity
    assert_allclose(report.noise_scale, gaussian_scale(3.0, 3e-6, joint))
    assert_allclose(report.mu, joint / report.noise_scale)
    assert "3 one-against-rest problems are one Gaussian release" in str(report)
    assert model.decision_function(X).shape == (150, 3)
    pure = PrivateSVC(3.0, mechanism="objective", **settings).fit(X, y)
    assert "epsilon = 1 each" in str(pure.privacy_report())


@pytest.mark.parametrize(
    ("settings", "mechanism"),
    [
        ({}, "gradient"),
        ({"noise": "gaussian"}, "gradient"),
        ({"noise": "spherical"}, "output"),
        ({"delta": 0.0}, "output"),
        ({"adjacency": "add-remove"}, "output"),
    ],
    ids=str,
)
def test_auto_is_the_gradient_where_it_has_a_proof(small, settings, mechanism):
    model = private_svc(clip_norm=1.0, **settings).fit(*small)
    assert model.privacy_report().mechanism == mechanism


def test_a_group_of_records_is_stated(small):
    model = private_svc(clip_norm=1.0, group_size=4, n_steps=5).fit(*small)
    text = str(model.privacy_report())
    assert "up to 4 records are replaced by any others" in text
    assert "a person with more than 4 records" in text
    assert "the guarantee is per record" not in text
    alone = private_svc(clip_norm=1.0, n_steps=5).fit(*small).privacy_report()
    assert_allclose(model.privacy_report().noise_scale, 4 * alone.noise_scale)
    assert "the guarantee is per record" in str(alone)


@pytest.mark.parametrize("mechanism", ["output", "objective", "gradient"])
def test_noise_that_drowns_the_signal_is_told_from_public_numbers(small, mechanism):
    # The same for any data of that shape; silent where the budget is large.
    X, y = small
    settings = {"mechanism": mechanism, "clip_norm": 1.0}
    said = []
    for rows in (X, np.zeros_like(X)):
        with pytest.warns(NoiseWarning, match="often lose more than half") as told:
            model = private_svc(0.05, **settings).fit(rows, y)
        assert model.privacy_report().noise_to_signal > 1.0
        said.append([str(warning.message) for warning in told])
    assert said[0] == said[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoiseWarning)
        warnings.simplefilter("ignore", PrivacyWarning)
        model = private_svc(30.0, **settings).fit(X, y)
    assert model.privacy_report().noise_to_signal < 1.0

"""The auditor: its statistics by hand, and that it catches what leaks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.linear_model import LogisticRegression

from widemargin import (
    SVC,
    DPWSSClassifier,
    PrivacyLedger,
    PrivacyWarning,
    PrivateSVC,
    privacy_audit,
)
from widemargin.estimators.private import mechanisms
from widemargin.estimators.private.audit_statistics import (
    best_direction,
    best_threshold,
    epsilon_bound,
    largest_bound,
    mu_bound,
    proportion_bounds,
)
from widemargin.estimators.private.calibration import gaussian_epsilon, gaussian_mu
from widemargin.estimators.private.canaries import Planted, canaries, neighbours
from widemargin.estimators.private.hinge import minimise_hinge
from widemargin.estimators.private.sensitivity import clip_rows, weight_sensitivity
from widemargin_papers.dpwss import audit as dpwss_extra

# Few records: `warn_of_drowned_signal` has its own test.
pytestmark = pytest.mark.filterwarnings("ignore::widemargin.NoiseWarning")


@pytest.fixture(scope="module")
def patients():
    return dpwss_extra.patients()


def test_clopper_pearson_by_the_binomial_tail():
    low, high = proportion_bounds(37, 200, 0.025)
    assert_allclose(stats.binom.sf(36, 200, low), 0.025)
    assert_allclose(stats.binom.cdf(37, 200, high), 0.025)
    assert proportion_bounds(0, 10, 0.025)[0] == 0.0
    assert proportion_bounds(10, 10, 0.025)[1] == 1.0


def test_largest_bound_by_hand():
    edge = 0.025 ** (1 / 200)
    assert_allclose(largest_bound(200), math.log(edge / (1 - edge)))
    assert 3.9 < largest_bound(200) < 4.0
    assert largest_bound(200, delta=0.01) < largest_bound(200)


def test_a_useless_test_shows_nothing():
    assert epsilon_bound(100, 100, 200, 0.0, 0.05) == 0.0
    assert epsilon_bound(0, 0, 200, 0.0, 0.05) == 0.0
    assert epsilon_bound(5, 0, 200, 0.5, 0.05) == 0.0


def test_both_directions_count():
    # The canary is seldom found, but whatever is called clean is clean.
    forward = math.log(
        proportion_bounds(199, 200, 0.025)[0] / proportion_bounds(150, 200, 0.025)[1]
    )
    assert forward < 0.25
    assert epsilon_bound(199, 150, 200, 0.0, 0.05) > 1.5
    assert_allclose(
        epsilon_bound(199, 150, 200, 0.0, 0.05), epsilon_bound(50, 1, 200, 0.0, 0.05)
    )


@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
def test_the_bound_on_mu_is_rarely_above_the_truth_and_near_it(mu):
    rng, runs = np.random.default_rng(0), 900
    share = stats.norm.cdf(mu / 2)
    right = rng.binomial(runs, share, size=(2000, 2)).sum(axis=1)
    bounds = np.array([mu_bound(int(count), 2 * runs, 0.05) for count in right])
    assert np.mean(bounds > mu) <= 0.055
    assert np.median(bounds) > mu - 0.15
    # Unequal errors with the same mean: the tail is no heavier.
    uneven = rng.binomial(runs, share + 0.01, 2000) + rng.binomial(
        runs, share - 0.01, 2000
    )
    bounds = [mu_bound(int(count), 2 * runs, 0.05) for count in uneven]
    assert np.mean(np.array(bounds) > mu) <= 0.055


def test_the_bound_is_rarely_above_a_true_epsilon():
    # Randomised response at epsilon = 1: the bound fails in at most 5 % of audits.
    rng, epsilon = np.random.default_rng(0), 1.0
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    above = [
        epsilon_bound(
            rng.binomial(200, truth), rng.binomial(200, 1 - truth), 200, 0, 0.05
        )
        > epsilon
        for _ in range(2000)
    ]
    assert np.mean(above) <= 0.05


def test_direction_and_threshold_separate_what_is_separable():
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(100, 5)) * [1, 1, 1, 1, 0.01]
    other = rng.normal(size=(100, 5)) * [1, 1, 1, 1, 0.01] + [0, 0, 0, 0, 1]
    direction = best_direction(plain, other)
    assert abs(direction[4]) > 0.5
    level = rng.normal(size=(100, 5))
    shifted = rng.normal([0, 0, 0, 0, 8], size=(100, 5))
    assert best_direction(level, shifted)[4] > 0.9
    here, there = plain @ direction, other @ direction
    threshold = best_threshold(here, there, 0.0, 0.05)
    assert here.max() < threshold < there.min()
    same = np.zeros((10, 3))
    assert np.isfinite(best_direction(same, same)).all()


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_neighbours_differ_in_one_record(patients, adjacency):
    X, y = patients
    for planted in canaries(X, y):
        (A, a), (B, b) = neighbours(X, y, planted, adjacency)
        if adjacency == "replace":
            changed = (A != B).any(axis=1) | (a != b)
            assert changed.sum() == 1 and len(A) == len(B) == len(X)
        else:
            assert_array_equal(B[:-1], A)
            assert len(b) == len(a) + 1
        longest = np.linalg.norm(X, axis=1).max()
        assert np.linalg.norm(B, axis=1).max() <= longest * math.sqrt(X.shape[1])


def test_the_third_canary_moves_the_weights_far(patients):
    # Records that the others hardly answer come near the bound of the proof.
    X, y = patients
    moves = []
    for planted in canaries(X, y):
        ends = [
            minimise_hinge(
                np.hstack([clip_rows(A, 1.0), np.ones((60, 1))]),
                np.where(a == 1, 1.0, -1.0),
                np.full(60, 0.1),
                1e-10,
            )
            for A, a in neighbours(X, y, planted, "replace")
        ]
        moves.append(np.linalg.norm(ends[0] - ends[1]))
    bound = weight_sensitivity(0.1, math.sqrt(2.0), "replace")
    assert moves[2] > 0.5 * bound
    assert max(moves) <= bound


def test_dpwss_is_refuted_at_nominal_one_tenth(patients):
    model = DPWSSClassifier(selection_epsilon=0.1, n_jobs=1)
    result = privacy_audit(model, *patients, random_state=0)
    assert result.runs == 200 and result.nominal == 0.1
    assert result.epsilon_lower >= 3.0
    assert result.caught and "REFUTED" in str(result)


@pytest.fixture
def solved_once(monkeypatch):
    """Minimise for each data set once: 2,000 releases differ in their noise alone."""
    known, real = {}, mechanisms.minimise_hinge

    def remembered(X, y, costs, gap):
        key = X.tobytes(), y.tobytes(), costs.tobytes(), gap
        if key not in known:
            known[key] = real(X, y, costs, gap)
        return known[key]

    monkeypatch.setattr(mechanisms, "minimise_hinge", remembered)


def audited(cls, patients, runs):
    public = {"mechanism": "output", "clip_norm": math.sqrt(10.0), "classes": [0, 1]}
    settings = {"runs": runs, "held_out": 100, "random_state": 0}
    return privacy_audit(cls(**public), *patients, **settings)


def test_half_of_the_noise_is_caught_and_sound_noise_is_not(patients, solved_once):
    # 2,000 runs in all. Ten tries are `python benchmarks/papers.py dpwss --only audit`.
    broken = audited(dpwss_extra.TooLittleNoise, patients, 900)
    assert broken.caught and "REFUTED" in str(broken)
    assert broken.mu_lower > broken.nominal_mu
    assert broken.epsilon_lower > broken.nominal == 1.0
    sound = audited(PrivateSVC, patients, 400)
    assert_allclose(sound.nominal_mu, gaussian_mu(1.0, 1e-5))
    assert_allclose(sound.epsilon_lower, gaussian_epsilon(sound.mu_lower, 1e-5))
    assert sound.mu_lower < sound.nominal_mu
    text = str(sound)
    assert not sound.caught
    assert "Not caught" in text and "not evidence of privacy" in text
    assert "can show at most" in text and "Gaussian noise: mu >=" in text
    assert "is private" not in text.lower()


def test_noise_without_delta_is_audited_by_epsilon(patients):
    X, y = patients
    model = PrivateSVC(mechanism="objective", clip_norm=1.0, classes=[0, 1])
    result = privacy_audit(model, X[:, :2], y, runs=30, held_out=10, random_state=0)
    assert result.mu_lower is None and not result.caught


def test_an_audit_spends_no_budget(patients):
    ledger = PrivacyLedger(1.0)
    model = PrivateSVC(0.5, ledger=ledger, clip_norm=1.0, classes=[0, 1], n_steps=2)
    privacy_audit(model, *patients, runs=3, held_out=2)
    assert ledger.spendings == () and model.ledger is ledger


def test_weights_without_noise_have_no_guarantee(patients):
    model = PrivateSVC(mechanism="output", clip_norm=1.0, classes=[0, 1])
    with pytest.warns(PrivacyWarning, match="no noise was added"):
        first = model.fit_without_noise(*patients).coef_
    assert not model.privacy_report().guarantee
    with pytest.warns(PrivacyWarning, match="no noise was added"):
        assert_array_equal(model.fit_without_noise(*patients).coef_, first)


def test_the_audit_reproduces_and_fresh_noise_is_audited_too(patients):
    settings = {"runs": 20, "held_out": 10}
    model = PrivateSVC(mechanism="output", clip_norm=1.0, classes=[0, 1])
    first = privacy_audit(model, *patients, random_state=1, **settings)
    second = privacy_audit(model, *patients, random_state=1, **settings)
    assert_array_equal(first.scores, second.scores)
    fresh = privacy_audit(model, *patients, **settings)
    again = privacy_audit(model, *patients, **settings)
    assert not np.array_equal(fresh.scores, again.scores)


def test_a_deterministic_method_is_caught(patients):
    X, y = patients
    canary = (np.ones(10), y[0])
    result = privacy_audit(
        LogisticRegression(), X, y, canary=canary, index=2, runs=50, held_out=5
    )
    assert result.epsilon_lower == pytest.approx(largest_bound(50))
    assert result.nominal is None and not result.caught


def test_a_fixed_seed_is_refused(patients):
    with pytest.raises(ValueError, match="random_state of the estimator is fixed"):
        privacy_audit(PrivateSVC(clip_norm=1.0, random_state=0), *patients)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"runs": 0}, "runs == 0"),
        ({"held_out": 1}, "held_out == 1"),
        ({"confidence": 1.0}, "confidence == 1.0"),
        ({"delta": 1.0}, "delta == 1.0"),
        ({"adjacency": "swap"}, "adjacency must be one of"),
        ({"canary": 5}, r"canary must be a pair \(record, label\)"),
        ({"canary": (np.ones(3), 1)}, "10 finite numbers, one per feature"),
        ({"canary": (np.full(10, np.nan), 1)}, "10 finite numbers"),
        ({"canary": (np.ones(10), 7)}, "label is not among y"),
        ({"canary": (np.ones(10), 1), "index": 60}, "index == 60"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_before_training(patients, settings, message):
    class Untrained(PrivateSVC):
        def fit(self, X, y):
            raise AssertionError("trained")

    with pytest.raises(ValueError, match=message):
        privacy_audit(Untrained(clip_norm=1.0, classes=[0, 1]), *patients, **settings)


def test_bad_records_are_refused(patients):
    X, y = patients
    model = PrivateSVC(mechanism="output", clip_norm=1.0, classes=[0, 1])
    with pytest.raises(ValueError, match="contains NaN"):
        privacy_audit(model, np.full_like(X, np.nan), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        privacy_audit(model, X, y[:5])
    with pytest.raises(ValueError, match="two classes or more"):
        privacy_audit(model, X, np.ones_like(y))
    with pytest.raises(ValueError, match="has no coef_; give `release`"):
        privacy_audit(SVC(gamma=0.1), X, y, runs=2, held_out=2)


def test_progress_is_shown(patients, capsys):
    privacy_audit(LogisticRegression(), *patients, runs=2, held_out=2, progress=True)
    assert "audit" in capsys.readouterr().err


def test_planted_records_are_named():
    assert Planted(3, (0, 1), (1, 0)).place == 3

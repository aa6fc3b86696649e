"""ChanceConstrainedSVC: what it promises, and what it refuses."""

from __future__ import annotations

import builtins
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from widemargin import SVC, ChanceConstrainedSVC
from widemargin.estimators.chance_constrained import uncertain_model


def clouds(n=80, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    y[:2] = 0, 1
    X = rng.normal(size=(n, d)) + 1.2 * y[:, None]
    return X, y


def worst_distribution(mean, covariance, w, sign, risk):
    """Return atoms and masses with exactly these moments, ``risk`` of it at the worst.

    Along w there are two atoms, ``mu - y kappa Sigma w / s`` with mass ``risk`` and its
    counterweight; what is left of the covariance is orthogonal to w and is given to
    pairs of atoms on both sides of each.
    """
    kappa, s = np.sqrt((1.0 - risk) / risk), np.sqrt(w @ covariance @ w)
    image = sign * covariance @ w / s
    values, vectors = np.linalg.eigh(covariance - np.outer(image, image))
    rest = vectors[:, 1:] * np.sqrt(values[1:])  # the first eigenvalue is 0
    offsets = np.sqrt(rest.shape[1]) * np.vstack((rest.T, -rest.T))
    atoms = [mean - kappa * image + offsets, mean + image / kappa + offsets]
    masses = np.repeat((risk, 1.0 - risk), len(offsets)) / len(offsets)
    return np.vstack(atoms), masses


def test_tight_samples_are_violated_with_probability_risk_exactly():
    """The bound is attained, and only just: by the worst distribution, by sums.

    With the covariance larger by 1e-6 its lower atoms lie beyond the margin; with one
    smaller by as much they lie inside.
    """
    X, y = clouds()
    covariance = 0.03 * np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.8]])
    model = ChanceConstrainedSVC(covariance=covariance).fit(X, y)
    assert model.certificate_.gap <= 1e-9 * model.certificate_.objective
    signs = np.where(y == 1, 1.0, -1.0)
    w, b = model.coef_[0], model.intercept_[0]
    spread = np.sqrt(w @ covariance @ w)
    margins = signs * (X @ w + b)
    tight = np.flatnonzero(np.abs(margins - 1.0 - 3.0 * spread + model.slack_) < 1e-9)
    positive = tight[model.slack_[tight] > 1e-9]
    assert len(positive) > 0
    assert len(tight) > len(positive)  # some exactly on the margin
    for e, expected in ((1e-6, 0.1), (-1e-6, 0.0)):
        scaled = (1.0 + e) * covariance
        for i in tight:
            atoms, masses = worst_distribution(X[i], scaled, w, signs[i], 0.1)
            assert_allclose(masses @ atoms, X[i], atol=1e-12)
            centred = atoms - X[i]
            assert_allclose((centred.T * masses) @ centred, scaled, atol=1e-12)
            violated = signs[i] * (atoms @ w + b) <= 1.0 - model.slack_[i]
            assert_allclose(masses @ violated, expected)


@pytest.mark.parametrize("solver", ["newton", "socp", "ssgd"])
def test_a_class_with_one_sample_is_known_exactly(solver):
    X, y = clouds()
    alone = np.flatnonzero(y == 1)[0]
    rows = np.append(np.flatnonzero(y == 0), alone)
    model = ChanceConstrainedSVC(solver=solver, random_state=0).fit(X[rows], y[rows])
    assert_allclose(model.covariances_[1], 0.0)
    assert_allclose(model.covariances_[0], 0.01 * np.cov(X[y == 0].T))
    assert np.all(np.isfinite(model.coef_))
    if solver != "ssgd":
        certificate = model.certificate_
        assert 0.0 <= certificate.gap <= 1e-6 * certificate.objective
    assert model.error_probability_bound(X[[alone]], y=[1])[0] in (0.0, 1.0)


def test_attributes_and_certificate():
    X, y = clouds()
    model = ChanceConstrainedSVC().fit(X, y)
    assert model.coef_.shape == (1, 3)
    assert model.slack_.shape == (80,)
    assert_allclose(model.bounded_share_, np.mean(model.slack_ < 1.0))
    assert_allclose(model.covariances_[1], 0.01 * np.cov(X[y == 1].T))
    certificate = model.certificate_
    assert certificate.status == "polished"
    assert 0.0 <= certificate.gap <= 1e-9 * certificate.objective
    assert model.history_[-1]["gap"] <= certificate.gap  # without rounding
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_no_uncertainty_is_the_linear_svm():
    X, y = clouds()
    model = ChanceConstrainedSVC(covariance_scale=0.0).fit(X, y)
    peer = SVC(kernel="linear", tol=1e-9).fit(X, y)
    assert peer.certificate_.kkt_violation <= 1e-8
    assert_allclose(
        model.decision_function(X), peer.decision_function(X), rtol=1e-6, atol=1e-8
    )


def test_variances_factors_and_matrices_give_one_model():
    X, y = clouds()
    variances = np.random.default_rng(1).random((80, 3)) * 0.1
    eye = np.eye(3)
    fits = [
        ChanceConstrainedSVC().fit(X, y, covariance=variances),
        ChanceConstrainedSVC().fit(X, y, covariance=variances[:, :, None] * eye),
        ChanceConstrainedSVC().fit(
            X, y, covariance_factor=np.sqrt(variances)[:, :, None] * eye
        ),
    ]
    for model in fits:
        assert model.certificate_.gap <= 1e-9 * model.certificate_.objective
        assert model.covariances_ is None
        assert_allclose(model.coef_, fits[0].coef_, rtol=1e-8)


def test_class_covariance_is_what_a_dict_of_it_gives():
    X, y = clouds()
    matrices = {k: 0.01 * np.cov(X[y == k].T) for k in (0, 1)}
    estimated, given = (
        ChanceConstrainedSVC(covariance=c).fit(X, y) for c in ("class", matrices)
    )
    assert given.certificate_.gap <= 1e-9
    assert_allclose(estimated.coef_, given.coef_, rtol=1e-9)


@pytest.mark.parametrize("own", [True, False])
def test_standardize_is_scaling_both_by_hand(own):
    X, y = clouds()
    X = X * [1.0, 30.0, 0.02] + [5.0, -100.0, 0.0]
    scaler = StandardScaler().fit(X)
    variances = np.random.default_rng(2).random((80, 3)) * np.square(scaler.scale_) / 9
    extra = {"covariance": variances} if own else {}
    inside = ChanceConstrainedSVC(standardize=True).fit(X, y, **extra)
    if own:
        extra = {"covariance": variances / np.square(scaler.scale_)}
    by_hand = ChanceConstrainedSVC().fit(scaler.transform(X), y, **extra)
    assert inside.certificate_.gap <= 1e-9 * inside.certificate_.objective
    assert_allclose(inside.slack_, by_hand.slack_, atol=1e-9)
    assert_allclose(
        inside.decision_function(X),
        by_hand.decision_function(scaler.transform(X)),
        rtol=1e-7,
        atol=1e-9,
    )


def test_multiclass_keeps_each_rows_own_covariance():
    X, y = load_iris(return_X_y=True)
    model = ChanceConstrainedSVC(standardize=True).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.slack_.shape == (150, 3)
    assert len(model.certificate_) == 3
    for k, certificate in enumerate(model.certificate_):
        assert 0.0 <= certificate.gap <= 1e-8
        matrices = {c: 0.01 * np.cov(X[y == c].T) for c in range(3)}
        own = np.stack([matrices[label] for label in y])
        alone = ChanceConstrainedSVC(standardize=True).fit(X, y == k, covariance=own)
        assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-6, atol=1e-12)
    assert model.score(X, y) > 0.9


def test_strings_frames_sparse_and_single_precision():
    X, y = clouds()
    names = np.array(["no", "yes"])[y]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    expected = ChanceConstrainedSVC().fit(X, y)
    model = ChanceConstrainedSVC().fit(frame, names)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert set(model.predict(frame)) <= {"no", "yes"}
    assert_allclose(model.coef_, expected.coef_)
    rows = ChanceConstrainedSVC().fit(sparse.csr_matrix(X), y)
    assert_allclose(rows.coef_, expected.coef_, rtol=1e-7)
    single = ChanceConstrainedSVC().fit(X.astype(np.float32), y)
    assert_allclose(single.coef_, expected.coef_, rtol=1e-3)


@pytest.mark.parametrize("solver", ["newton", "socp", "ssgd"])
def test_class_weight_is_sample_weight(solver):
    X, y = clouds()
    options = {"solver": solver, "random_state": 0, "covariance": 0.02 * np.eye(3)}
    by_class = ChanceConstrainedSVC(class_weight={1: 3.0}, **options).fit(X, y)
    weights = np.where(y == 1, 3.0, 1.0)
    by_row = ChanceConstrainedSVC(**options).fit(X, y, sample_weight=weights)
    assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-6)
    assert np.isfinite(by_row.certificate_.objective)


def test_zero_weight_rows_are_absent():
    X, y = clouds()
    variances = np.full((80, 3), 0.02)
    weights = np.ones(80)
    weights[10:20] = 0.0
    kept = weights > 0
    model = ChanceConstrainedSVC().fit(X, y, variances, sample_weight=weights)
    alone = ChanceConstrainedSVC().fit(X[kept], y[kept], variances[kept])
    assert model.certificate_.gap <= 1e-9
    assert_allclose(model.coef_, alone.coef_, rtol=1e-9)
    assert_array_equal(np.isnan(model.slack_), ~kept)


def test_solvers_agree_on_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)[:120, :4]
    y = y[:120]
    models = {
        solver: ChanceConstrainedSVC(solver=solver, tol=1e-8, random_state=0).fit(X, y)
        for solver in ("newton", "socp", "ssgd")
    }
    best = models["newton"].certificate_.objective
    assert_allclose(models["socp"].certificate_.objective, best, rtol=1e-6)
    assert best <= models["ssgd"].certificate_.objective <= 1.02 * best
    assert models["ssgd"].certificate_.bound is None
    assert models["socp"].certificate_.gap >= 0.0
    with pytest.raises(ValueError, match="for tiny problems"):
        ChanceConstrainedSVC(solver="sdp").fit(np.tile(X, (1, 20)), y)


@pytest.mark.parametrize("bound", ["moments", "gaussian"])
def test_the_sdp_is_the_same_problem(bound):
    X, y = clouds()
    rows = np.r_[np.flatnonzero(y == y[0])[:5], np.flatnonzero(y != y[0])[:5]]
    options = {"bound": bound, "tol": 1e-8}
    tiny = ChanceConstrainedSVC(solver="sdp", **options).fit(X[rows], y[rows])
    exact = ChanceConstrainedSVC(**options).fit(X[rows], y[rows])
    assert exact.certificate_.gap <= 1e-9 * exact.certificate_.objective
    assert_allclose(
        tiny.certificate_.objective, exact.certificate_.objective, rtol=1e-6
    )
    assert (tiny.certificate_.bound, tiny.certificate_.gap) == (None, None)


def test_jobs_are_averaged_after_each_epoch():
    X, y = clouds()
    exact = ChanceConstrainedSVC().fit(X, y)
    assert exact.certificate_.gap <= 1e-9 * exact.certificate_.objective
    models = [
        ChanceConstrainedSVC(solver="ssgd", n_jobs=jobs, random_state=0).fit(X, y)
        for jobs in (1, 2, 2)
    ]
    best = exact.certificate_.objective
    for model in models:
        assert best <= model.certificate_.objective <= 1.05 * best
    # each of two workers takes half of the steps of one
    assert models[1].n_iter_ == models[0].n_iter_ // 2
    assert_allclose(models[1].coef_, models[2].coef_, rtol=0.0)


def test_metadata_reaches_fit_in_cross_validation_and_pipelines():
    X, y = clouds()
    variances = np.full((80, 3), 0.05)
    scores = cross_val_score(
        ChanceConstrainedSVC(), X, y, params={"covariance": variances}, cv=3
    )
    assert np.all(scores > 0.5)
    with config_context(enable_metadata_routing=True):
        model = ChanceConstrainedSVC().set_fit_request(covariance=True)
        search = GridSearchCV(
            make_pipeline("passthrough", model),
            {"chanceconstrainedsvc__C": [0.1, 1.0]},
            cv=3,
        )
        search.fit(X, y, covariance=variances)
    assert search.best_estimator_[-1].certificate_.gap <= 1e-6
    assert search.best_estimator_[-1].covariances_ is None


def test_not_converging_is_said():
    X, y = clouds()
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model = ChanceConstrainedSVC(max_iter=1).fit(X, y)
    assert model.certificate_.status == "max_iter"
    assert model.certificate_.gap > 0.0


@pytest.mark.parametrize("risk", [0.0, 1.0, 2.0])
def test_bad_risk(risk):
    X, y = clouds()
    with pytest.raises(ValueError, match="risk must lie strictly between 0 and 1"):
        ChanceConstrainedSVC(risk=risk).fit(X, y)


def test_bad_input_is_explained():
    X, y = clouds()
    with pytest.raises(ValueError, match="not positive semidefinite"):
        ChanceConstrainedSVC(covariance=-np.eye(3)).fit(X, y)
    with pytest.raises(ValueError, match="number of classes has to be greater"):
        ChanceConstrainedSVC().fit(X, np.zeros(80))
    with pytest.raises(ValueError, match="negative entries"):
        ChanceConstrainedSVC().fit(X, y, sample_weight=-np.ones(80))
    with pytest.raises(ValueError, match="gaussian"):
        ChanceConstrainedSVC(bound="gaussian", risk=0.7).fit(X, y)


def test_a_missing_clarabel_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **keywords):
        if name == "clarabel":
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    X, y = clouds()
    with pytest.raises(ImportError, match=r"pip install widemargin\[robust\]"):
        ChanceConstrainedSVC(solver="socp").fit(X, y)
    assert ChanceConstrainedSVC().fit(X, y).certificate_.gap <= 1e-9


def test_clone_and_verbose(capsys):
    X, y = clouds()
    model = ChanceConstrainedSVC(covariance=0.1 * np.eye(3), verbose=True)
    again = clone(model).fit(X, y)
    assert again.certificate_.gap <= 1e-9 * again.certificate_.objective
    assert again.covariance is not model.covariance


def test_a_prediction_is_of_one_model(monkeypatch):
    """The labels, too, where another thread has fitted others meanwhile."""
    X, y = load_iris(return_X_y=True)
    model = ChanceConstrainedSVC().fit(X, y)
    expected, times = model.predict(X), uncertain_model.times

    def refitting(*product):
        monkeypatch.undo()
        model.fit(X, y + 10)
        return times(*product)

    monkeypatch.setattr(uncertain_model, "times", refitting)
    assert_array_equal(model.predict(X), expected)
    assert set(model.predict(X)) == {10, 11, 12}

"""Quantiles that keep their share on rows not seen: folds, moves, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_pinball_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from widemargin import QuantileSVR, SharedGridSearchCV, load, save
from widemargin.estimators.base.conformal_calibration import weighted_quantile
from widemargin.estimators.base.row_folds import ENOUGH, FOLDS, held_out, row_hashes

from tests.problems import noisy_curve


def data(seed: int, n: int = 120, d: int = 4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    noise = (0.3 + np.abs(X[:, 0])) * rng.standard_normal(n)
    return X, np.sin(2 * X[:, 1]) + X[:, 2] + noise


def coverage(model, X, y):
    band = model.predict(X)
    return float(np.mean((band[:, 0] <= y) & (y <= band[:, 1])))


@pytest.mark.parametrize("seed", range(3))
def test_the_band_holds_its_share_of_rows_that_were_not_seen(seed):
    X, y = data(seed, 3300, 6)
    settings = {"quantile": [0.1, 0.9], "C": 30.0}
    band = QuantileSVR(**settings).fit(X[:300], y[:300])
    narrow = QuantileSVR(calibrate=False, **settings).fit(X[:300], y[:300])
    assert coverage(narrow, X[300:], y[300:]) < 0.65
    assert 0.75 < coverage(band, X[300:], y[300:]) < 0.88
    assert_allclose(band.predict(X) - narrow.predict(X), [band.calibration_] * 3300)
    assert_allclose(band.intercept_, narrow.intercept_ + band.calibration_)
    assert_array_equal(narrow.calibration_, [0.0, 0.0])
    for own, plain in zip(band.certificate_, narrow.certificate_, strict=True):
        assert own.objective == plain.objective


def test_moves_are_those_of_fits_to_the_folds_one_by_one():
    X, y = data(4, 90)
    weights = np.random.default_rng(4).uniform(0.5, 2.0, 90)
    model = QuantileSVR(quantile=[0.2, 0.7], gamma=0.3).fit(X, y, weights)
    own = clone(model).set_params(calibrate=False, C=model.C_)
    values, places = [], []
    for train, test in held_out(X, y):
        values.append(own.fit(X[train], y[train], weights[train]).predict(X[test]))
        places.append(test)
    rows = np.concatenate(places)
    assert_array_equal(np.sort(rows), np.arange(90))
    residuals, known = y[rows, None] - np.concatenate(values), weights[rows]
    for q, column, move in zip(
        [0.2, 0.7], residuals.T, model.calibration_, strict=True
    ):
        losses = [
            mean_pinball_loss(column, np.full(90, at), alpha=q, sample_weight=known)
            for at in (move, *column)
        ]
        assert losses[0] <= min(losses) * (1 + 1e-9)
    record = model.history_[-1]
    assert record["stage"] == "calibration" and record["size"] == 90
    assert record["folds"] == FOLDS


def test_a_rows_fold_depends_on_the_row_alone():
    X, y = data(5, 200)
    X[X < -1.0] = 0.0
    folds = fold_numbers(X, y)
    order = np.random.default_rng(0).permutation(200)
    assert_array_equal(fold_numbers(X[order], y[order]), folds[order])
    assert_array_equal(fold_numbers(X[:150], y[:150]), folds[:150])
    assert_array_equal(fold_numbers(sparse.csr_matrix(X), y), folds)
    assert_array_equal(fold_numbers(X.astype(np.float32), y), folds)
    assert_array_equal(fold_numbers(X * (1 + 1e-15), 3.0 * y - 7.0), folds)
    twice = np.repeat(np.arange(200), 2)
    assert_array_equal(fold_numbers(X[twice], y[twice]), folds[twice])
    assert np.unique(row_hashes(X)).size == 200
    assert np.bincount(folds).min() > 20  # about a fifth each


def test_rows_of_the_same_features_are_not_all_held_out_together():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.tile(np.arange(25.0), 4)  # each twice
    folds = fold_numbers(X, y)
    assert_array_equal(np.bincount(folds), [20] * FOLDS)
    assert_array_equal(folds[:25], folds[25:50])


def fold_numbers(X, y):
    folds = np.empty(len(y), dtype=np.intp)
    for number, (_, test) in enumerate(held_out(X, y)):
        folds[test] = number
    return folds


def test_no_more_rows_are_held_out_than_are_needed():
    X, y = data(6, 6000)
    sizes = [test.size for _, test in held_out(X, y)]
    assert len(sizes) == 1 and sizes[0] > ENOUGH
    assert len(list(held_out(X[:3000], y[:3000]))) == 2


def test_a_search_calibrates_in_every_cell_as_fit_does():
    X, y = data(13)
    grid = {"C": [1.0, 10.0], "gamma": [0.1]}
    model = QuantileSVR(quantile=[0.1, 0.9])
    shared = SharedGridSearchCV(model, grid, cv=3).fit(X, y).cv_results_
    plain = GridSearchCV(model, grid, cv=3).fit(X, y).cv_results_
    assert_allclose(shared["mean_test_score"], plain["mean_test_score"], rtol=1e-9)
    bare = SharedGridSearchCV(model.set_params(calibrate=False), grid, cv=3).fit(X, y)
    assert (bare.cv_results_["mean_test_score"] != plain["mean_test_score"]).all()


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_few_rows(n):
    X, y = data(7, n)
    model = QuantileSVR(quantile=[0.1, 0.9], gamma=0.5).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    same = QuantileSVR(gamma=0.5).fit(np.ones((n, 2)), np.full(n, 3.0))
    assert_allclose(same.predict([[1.0, 1.0]]), 3.0)
    assert_array_equal(same.calibration_, [0.0])


def test_a_weight_is_a_row_that_often_and_every_form_of_samples_has_the_same_moves():
    X, y = data(8, 80)
    X[X < -0.5] = 0.0
    model = QuantileSVR(quantile=[0.2, 0.8], gamma=0.3)
    times = np.random.default_rng(0).integers(0, 4, 80)
    rows = np.repeat(np.arange(80), times)
    weighted = clone(model).fit(X, y, times.astype(float)).calibration_
    assert_allclose(
        weighted, clone(model).fit(X[rows], y[rows]).calibration_, atol=1e-7
    )
    expected = clone(model).fit(X, y).calibration_
    found = clone(model).fit(sparse.csr_matrix(X), y).calibration_
    assert_allclose(found, expected, atol=1e-8)
    called = clone(model).set_params(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.3))
    assert_allclose(called.fit(X, y).calibration_, expected, atol=1e-8)
    given = clone(model).set_params(kernel="precomputed")
    K = rbf_kernel(X, gamma=0.3)
    assert (np.abs(given.fit(K, y).calibration_) > 1e-3).all()  # folds by place
    assert_allclose(given.predict(K), K[:, given.support_] @ given.dual_coef_.T
                    + given.intercept_)  # fmt: skip


def test_the_model_file_and_the_other_form_of_the_model_have_the_moves(tmp_path):
    X, y = data(9)
    model = QuantileSVR(quantile=0.9).fit(X, y)
    assert abs(model.calibration_[0]) > 1e-2
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.calibration_, model.calibration_)
    assert_array_equal(again.predict(X), model.predict(X))
    assert_allclose(model.to_sklearn().predict(X), model.predict(X))


def test_rows_that_are_kept_are_not_calibrated():
    X, y = data(10)
    kept = QuantileSVR(gamma=0.5, keep_rows=True).fit(X, y)
    assert_array_equal(kept.calibration_, [0.0])
    begun = QuantileSVR(gamma=0.5).partial_fit(X, y)
    assert_allclose(begun.predict(X), kept.predict(X), atol=1e-8)
    bound = QuantileSVR(gamma=0.5, fit_intercept=False).fit(X, y)
    assert_array_equal((bound.calibration_, bound.intercept_), [[0.0], [0.0]])
    model = QuantileSVR(gamma=0.5, calibrate=True)
    for call in (
        lambda: clone(model).fit(X, y, ids=np.arange(120)),
        lambda: clone(model).set_params(keep_rows=True).fit(X, y),
        lambda: clone(model).partial_fit(X, y),
        lambda: kept.update(calibrate=True),
    ):
        with pytest.raises(ValueError, match=r"calibrate=True .* kept .* Set calib"):
            call()
    assert kept.calibrate == "auto"
    with pytest.raises(ValueError, match="fit_intercept=False there are none"):
        clone(model).set_params(fit_intercept=False).fit(X, y)


def test_no_time_to_calibrate_is_said_and_the_model_stands(monkeypatch):
    X, y = data(11)
    monkeypatch.setattr(
        "widemargin.estimators.base.conformal_calibration._held_out_values",
        lambda *_: None,
    )
    with pytest.warns(ConvergenceWarning, match="left no time to calibrate"):
        model = QuantileSVR(max_time=60.0).fit(X, y)
    plain = QuantileSVR(calibrate=False).fit(X, y)
    assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize(
    ("stage", "n", "quantile"),
    [
        ("base.conformal_calibration._held_out_values", 120, 0.5),
        ("base.vertex_solves.proved_together", 700, [0.1, 0.9]),
    ],
)
def test_ctrl_c_after_the_last_solve_leaves_what_is_solved(
    stage, n, quantile, monkeypatch
):
    monkeypatch.setattr("widemargin.engine.vertex_starts.MANY", 700)
    monkeypatch.setattr(QuantileSVR, "_small_batch", lambda *_: None)
    X, y = data(12, n)
    plain = QuantileSVR(quantile=quantile, calibrate=False).fit(X, y)
    former = QuantileSVR(quantile=0.3).fit(X[:120], y[:120])
    before = former.predict(X)

    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"widemargin.estimators.{stage}", pressed)
    model = QuantileSVR(quantile=quantile)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.fit_status_ == 1
    assert_allclose(model.predict(X), plain.predict(X), rtol=1e-12)
    with pytest.raises(KeyboardInterrupt):
        former.set_params(quantile=quantile).fit(X, y)
    assert_array_equal(former.predict(X), before)


@pytest.mark.parametrize("q", [0.1, 0.25, 0.5])
def test_the_quantile_of_weighted_numbers(q):
    rng = np.random.default_rng(0)
    values, weights = rng.standard_normal(40), rng.integers(1, 4, 40).astype(float)
    repeated = np.repeat(values, weights.astype(int))
    found = weighted_quantile(values, weights, q)
    assert_allclose(found, weighted_quantile(repeated, np.ones(repeated.size), q))
    losses = [mean_pinball_loss(repeated, np.full(repeated.size, v), alpha=q)
              for v in (found, *values)]  # fmt: skip
    assert losses[0] <= min(losses) * (1 + 1e-12)
    assert weighted_quantile(np.arange(4.0), np.ones(4), 0.5) == 1.5


@pytest.mark.parametrize("n", [300, 6500])
def test_fits_to_folds_begin_at_the_solution_of_all_rows(n, monkeypatch):
    X, y, _ = noisy_curve(0, n)
    begun = []
    plain = QuantileSVR._solve_all

    def solve_all(self, data, gram, tasks):
        begun.append((gram, [task.begin for task in tasks]))
        return plain(self, data, gram, tasks)

    monkeypatch.setattr(QuantileSVR, "_solve_all", solve_all)
    model = QuantileSVR(quantile=[0.2, 0.8], C=2.0, gamma=0.5).fit(X, y)
    (_, first), *folds = begun
    assert first == [None, None] and folds
    for gram, starts in folds:
        for start in starts:
            beta = getattr(start, "beta", start)
            assert beta.shape == (gram.n,)
            shared = np.isin(np.round(beta, 9), np.round(model.dual_coef_, 9))
            assert np.mean(shared) > 0.8  # those at their bounds are as they were

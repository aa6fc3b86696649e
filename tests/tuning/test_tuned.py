"""SVCCV, SVRCV, QuantileSVRCV: the grids they try, ties, limits, weights."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
)

from widemargin import SVC, SVCCV, SVR, SVRCV, QuantileSVR, QuantileSVRCV
from widemargin.tuning import tuned as tuned_module
from widemargin.tuning.grids import finer, near_the_best, values_or_grid, widened


def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return scale(X)[:150], scale(y)[:150]


def test_the_table_and_the_model_are_those_of_gridsearchcv():
    X, y = wine()
    Cs, gammas = [0.1, 1.0, 10.0], [0.01, 0.1]
    tuned = SVCCV(Cs=Cs, gammas=gammas, refine=False, tol=1e-8).fit(X, y)
    grid = GridSearchCV(SVC(tol=1e-8), {"C": Cs, "gamma": gammas}).fit(X, y)
    assert tuned.cv_results_["params"] == grid.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score", "rank_test_score"):
        assert_allclose(tuned.cv_results_[name], grid.cv_results_[name])
    assert (tuned.C_, tuned.gamma_) == tuple(grid.best_params_.values())
    assert tuned.best_score_ == grid.best_score_
    assert_array_equal(tuned.predict(X), grid.predict(X))
    assert_allclose(tuned.decision_function(X), grid.decision_function(X))
    assert max(c.kkt_violation for c in tuned.certificate_) < 1e-8


def test_regression_is_that_of_gridsearchcv():
    X, y = diabetes()
    values = {"C": [0.1, 1.0], "gamma": [0.01, 0.1], "epsilon": [0.1, 0.4]}
    tuned = SVRCV(
        Cs=values["C"], gammas=values["gamma"], epsilon=values["epsilon"],
        refine=False, tol=1e-8,
    ).fit(X, y)  # fmt: skip
    grid = GridSearchCV(SVR(tol=1e-8), values).fit(X, y)
    assert tuned.best_params_ == grid.best_params_
    assert_allclose(tuned.best_score_, grid.best_score_, rtol=1e-7)
    assert_allclose(tuned.predict(X), grid.predict(X), rtol=1e-6)


def test_quantiles_are_searched_as_by_gridsearchcv_and_then_calibrated():
    X, y = diabetes()
    values = {"C": [0.5, 5.0], "gamma": [0.01, 0.1]}
    tuned = QuantileSVRCV(
        quantile=[0.1, 0.9], Cs=values["C"], gammas=values["gamma"], tol=1e-8, cv=3
    ).fit(X, y)
    plain = QuantileSVR(quantile=[0.1, 0.9], tol=1e-8, calibrate=False)
    grid = GridSearchCV(plain, values, cv=3).fit(X, y)
    assert tuned.best_params_ == grid.best_params_
    found = tuned.cv_results_["mean_test_score"]
    assert_allclose(found, grid.cv_results_["mean_test_score"], rtol=1e-6)
    moves = tuned.best_estimator_.calibration_
    assert moves[0] < -0.1 < 0.1 < moves[1]
    assert_allclose(tuned.predict(X), grid.predict(X) + moves, rtol=1e-6)
    assert tuned.score(X, y) == tuned.best_estimator_.score(X, y)
    assert len(tuned.certificate_) == 2
    narrow = clone(tuned).set_params(calibrate=False).fit(X, y)
    assert_allclose(narrow.predict(X), grid.predict(X), rtol=1e-6)


def test_the_search_for_quantiles_has_the_unit_of_the_targets():
    X, y = diabetes()
    options = {"quantile": [0.2, 0.8], "Cs": 2, "gammas": [0.02], "cv": 3}
    small = QuantileSVRCV(**options).fit(X, y)
    distance = np.mean(np.abs(y - np.median(y)))
    tried = [setting["C"] for setting in small.cv_results_["params"]]
    assert_allclose(tried[:2], distance * np.array([0.5, 128.0]))
    large = QuantileSVRCV(**options).fit(X, 1e4 * y + 3.0)
    assert_allclose(large.C_, 1e4 * small.C_, rtol=1e-9)
    expected = 1e4 * small.predict(X) + 3.0
    assert_allclose(large.predict(X), expected, rtol=1e-5, atol=1e-2)
    assert_allclose(large.best_estimator_.tol, 1e-3 * 1e4 * distance)


def test_the_grid_widens_where_the_best_lies_on_its_border():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)[:200]
    tuned = SVCCV(Cs=2, gammas=[0.03], refine=False, scoring=_prefers_large_C).fit(
        X, y[:200]
    )
    stages = [record["stage"] for record in tuned.history_]
    assert stages == ["grid", "widened", "widened"]
    assert_allclose(tuned.C_, 1e7)
    fixed = SVCCV(
        Cs=[0.1, 1000.0], gammas=[0.03], refine=False, scoring=_prefers_large_C
    )
    assert [r["stage"] for r in fixed.fit(X, y[:200]).history_] == ["grid"]


def _prefers_large_C(model, X, y):
    return float(np.log(model.C))


def test_a_finer_grid_is_tried_around_the_winner():
    X, y = wine()
    options = {"Cs": [0.1, 1.0, 10.0], "gammas": [0.01, 0.03, 0.1]}
    coarse = SVCCV(refine=False, **options).fit(X, y)
    fine = SVCCV(**options).fit(X, y)
    assert [record["stage"] for record in fine.history_] == ["grid", "refined"]
    assert fine.best_score_ >= coarse.best_score_
    settings = [tuple(s.values()) for s in fine.cv_results_["params"]]
    assert len(settings) == len(set(settings)) == 9 + 24


def test_near_ties_are_settled_by_exact_fits():
    """Weights and repeated rows are one problem: they must choose one setting."""
    check_sample_weight_equivalence_on_dense_data("SVRCV", SVRCV())


def test_what_fits_to_a_tolerance_cannot_tell_from_the_best():
    scores = np.array([0.9, 0.8999, 0.5, np.nan, 0.3])
    assert near_the_best(scores, 1e-3, n=1000).tolist() == [0, 1]
    assert near_the_best(scores, 1e-6, n=1000_000).tolist() == [0]
    assert near_the_best(scores, 1e-6, n=4).tolist() == [0, 1, 2]


def test_weights_count_in_fits_and_in_scores():
    X, y = wine()
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    splits = list(StratifiedKFold(3).split(X, y))
    repeated = np.repeat(np.arange(len(y)), weights)
    parts = [
        tuple(np.flatnonzero(np.isin(repeated, rows)) for rows in split)
        for split in splits
    ]
    options = {"Cs": [0.01, 0.1, 1.0], "gammas": [0.03], "refine": False, "tol": 1e-8}
    weighted = SVCCV(cv=splits, **options).fit(X, y, sample_weight=weights)
    repeats = SVCCV(cv=parts, **options).fit(X[repeated], y[repeated])
    assert_allclose(
        weighted.cv_results_["mean_test_score"],
        repeats.cv_results_["mean_test_score"],
    )
    plain = SVCCV(cv=splits, **options).fit(X, y)
    difference = (
        weighted.cv_results_["mean_test_score"] - plain.cv_results_["mean_test_score"]
    )
    assert np.abs(difference).max() > 0.0


@pytest.mark.parametrize("absent", [0.0, -1.0])
def test_rows_without_weight_are_absent_from_folds_too(absent):
    X, y = wine()  # sorted by classes
    rows = np.arange(len(y)) % 2 == 0
    rows[60:90] = False  # a whole fold of them
    weights = np.where(rows, 1.0, absent)
    options = {"Cs": [0.1, 1.0], "gammas": [0.01, 0.1], "refine": False}
    found = SVCCV(**options).fit(X, y, sample_weight=weights)
    asked = SVCCV(**options).fit(X[rows], y[rows])
    name = "mean_test_score"
    assert_allclose(found.cv_results_[name], asked.cv_results_[name])
    assert (found.C_, found.gamma_) == (asked.C_, asked.gamma_)


def test_negative_weights_count_for_nothing_in_folds_that_are_given():
    X, y = wine()
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    splits = list(StratifiedKFold(3).split(X, y))
    options = {"Cs": [0.01, 1.0], "gammas": [0.03], "refine": False, "cv": splits}
    scores = [
        SVCCV(**options).fit(X, y, sample_weight=w).cv_results_["mean_test_score"]
        for w in (weights, np.where(weights == 0.0, -2.0, 1.0))
    ]
    assert_array_equal(*scores)


def test_a_given_fold_without_weight_is_refused():
    X, y = wine()
    splits = list(StratifiedKFold(3).split(X, y))
    weights = np.ones(len(y))
    weights[splits[1][1]] = 0.0
    with pytest.raises(ValueError, match="cv has a fold whose test rows"):
        SVCCV(cv=splits).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("kernel", ["linear", "laplacian", "poly"])
def test_other_kernels(kernel):
    X, y = wine()
    tuned = SVCCV(kernel=kernel, Cs=3, gammas=2, refine=False, cv=3).fit(X, y)
    assert tuned.best_score_ > 0.9
    assert ("gamma" in tuned.best_params_) == (kernel != "linear")


def test_several_scores():
    X, y = wine()
    tuned = SVCCV(
        Cs=3, gammas=2, scoring=["accuracy", "f1_macro"], refit="f1_macro", refine=False
    ).fit(X, y)
    assert tuned.best_score_ == tuned.cv_results_["mean_test_f1_macro"].max()


def test_out_of_time_the_best_so_far_is_the_model(monkeypatch):
    X, y = wine()
    clock = iter([False] * 6 + [True] * 100000)
    monkeypatch.setattr(
        "widemargin.runtime.deadline.Deadline.passed", property(lambda _: next(clock))
    )
    with pytest.warns(ConvergenceWarning, match="max_time=60"):
        tuned = SVCCV(max_time=60, n_jobs=1).fit(X, y)
    assert 0 < len(tuned.cv_results_["params"]) < 100
    assert tuned.history_[0]["left_out"] > 0
    assert tuned.score(X, y) > 0.5


def test_without_time_for_one_setting():
    X, y = wine()
    with pytest.raises(ValueError, match="max_time=1e-09 was not enough"):
        SVCCV(max_time=1e-9).fit(X, y)


def test_an_interrupted_search_keeps_the_former_model(monkeypatch):
    X, y = wine()
    tuned = SVCCV(Cs=2, gammas=2, refine=False).fit(X, y)
    before = tuned.best_estimator_

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("widemargin.tuning.chain_precision.solve_chain", stop)
    with pytest.raises(KeyboardInterrupt):
        tuned.fit(X, y)
    assert tuned.best_estimator_ is before
    with pytest.raises(KeyboardInterrupt):
        clone(tuned).fit(X, y)


@pytest.mark.parametrize("verbose", [True, False])
def test_verbose_shows_the_fits_done_and_the_time_left(verbose, monkeypatch, capsys):
    bar = tuned_module.tqdm
    at_once = {"delay": 0.0, "mininterval": 0.0, "miniters": 1}
    monkeypatch.setattr(
        tuned_module, "tqdm", lambda **given: bar(**{**given, **at_once})
    )
    X, y = wine()
    model = SVCCV(Cs=[1.0, 100.0], gammas=[0.01, 0.1], cv=3, verbose=verbose).fit(X, y)
    shown = capsys.readouterr().err
    assert len(model.cv_results_["params"]) > 4  # refined: more fits than at first
    left = re.findall(r"(\d+)/(\d+) \[\d+:\d+<[\d:?]+", shown)
    if verbose:
        assert len(left) > 2
        assert left[0][0] != left[0][1]
        assert left[-1][0] == left[-1][1]
    else:
        assert shown == ""


@pytest.mark.parametrize("name", ["Cs", "gammas"])
@pytest.mark.parametrize("value", [[], [-1.0], [np.nan], [0.0], ["a"], [[1.0, 2.0]]])
def test_bad_grids_are_refused(name, value):
    X, y = wine()
    with pytest.raises(ValueError, match=name):
        SVCCV(**{name: value}).fit(X, y)


def test_grids():
    assert_allclose(values_or_grid(3, 0.1, 10.0, "Cs"), [0.1, 1.0, 10.0])
    assert_allclose(values_or_grid(1, 0.1, 10.0, "Cs"), [1.0])
    assert_allclose(values_or_grid([3, 1, 3], 0, 0, "Cs"), [1.0, 3.0])
    values = np.array([1.0, 10.0, 100.0])
    assert_allclose(widened(values, 100.0), [1e3, 1e4])
    assert_allclose(widened(values, 1.0), [1e-2, 1e-1])
    assert widened(values, 10.0).size == 0
    close = finer(values, 10.0)
    assert close.size == 5 and close[2] == 10.0
    assert np.all((close > 1.0) & (close < 100.0))
    assert_allclose(finer(values, 100.0)[[0, 4]], 100 * 10 ** np.array([-2 / 3, 2 / 3]))

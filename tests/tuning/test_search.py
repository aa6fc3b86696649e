"""SharedGridSearchCV is GridSearchCV: the same scores, ranks, ties and failures."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler, scale

from widemargin import (
    SVC,
    SVR,
    CostSensitiveSVC,
    NuSVC,
    OneClassSVM,
    QuantileSVR,
    RampSVC,
    SharedGridSearchCV,
)
from widemargin.tuning import cells as cells_module

TIGHT = 1e-8
GRID = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}


@pytest.fixture
def plain_fits(monkeypatch):
    """Count the cells that are not shared."""
    counted = []
    plainly = cells_module.Cells._plainly

    def counting(cells, candidate, fold):
        counted.append(candidate)
        return plainly(cells, candidate, fold)

    monkeypatch.setattr(cells_module.Cells, "_plainly", counting)
    return counted


def two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(y))[:200]
    return scale(X)[chosen], y[chosen]


def three_classes():
    X, y = load_wine(return_X_y=True)
    return scale(X), np.array(["a", "b", "c"])[y]


def numbers():
    X, y = load_diabetes(return_X_y=True)
    return scale(X)[:150], scale(y)[:150]


def assert_same_search(estimator, grid, X, y, fit_params=None, **options):
    """Both searches, compared figure by figure; returns the shared one."""
    given = fit_params or {}
    options = {"cv": 3, **options}
    shared = SharedGridSearchCV(estimator, grid, **options).fit(X, y, **given)
    reference = GridSearchCV(estimator, grid, **options).fit(X, y, **given)
    assert set(shared.cv_results_) == set(reference.cv_results_)
    for name, expected in reference.cv_results_.items():
        found = shared.cv_results_[name]
        if name == "params":
            assert found == expected
        elif name.startswith("param_"):
            assert_array_equal(found, expected)
        elif "time" not in name:
            assert_allclose(
                np.asarray(found, dtype=float), expected, rtol=1e-6, err_msg=name
            )
    assert shared.best_index_ == reference.best_index_
    assert shared.best_params_ == reference.best_params_
    assert shared.n_splits_ == reference.n_splits_
    assert_array_equal(shared.predict(X), reference.predict(X))
    return shared


@pytest.mark.parametrize(
    "grid",
    [
        GRID,
        {"C": [0.1, 1, 10], "gamma": ["scale", "auto"]},
        {"C": [0.1, 10], "class_weight": [None, "balanced", {0: 2.0}], "gamma": [0.05]},
        [
            {"kernel": ["linear"], "C": [0.01, 0.1]},
            {"kernel": ["poly"], "degree": [2, 3], "gamma": [0.03]},
            {"kernel": ["sigmoid"], "gamma": [0.01], "coef0": [0.0]},
        ],
        {"C": [1.0], "gamma": [0.01]},
        {"fit_intercept": [True, False], "C": [0.1, 1.0], "gamma": [0.05]},
    ],
    ids=["C gamma", "named gamma", "class weights", "kernels", "one cell", "intercept"],
)
def test_same_table_for_two_classes(grid, plain_fits):
    X, y = two_classes()
    assert_same_search(SVC(tol=TIGHT), grid, X, y)
    assert plain_fits == []


def test_same_table_for_three_classes(plain_fits):
    X, y = three_classes()
    options = {"decision_function_shape": "ovo"}
    assert_same_search(SVC(tol=TIGHT), GRID, X, y)
    assert_same_search(SVC(tol=TIGHT, **options), GRID, X, y, return_train_score=True)
    assert_same_search(SVC(tol=TIGHT, break_ties=True), GRID, X, y)
    assert plain_fits == []


def test_same_table_for_many_classes(plain_fits):
    X, y = load_digits(return_X_y=True)
    grid = {"C": [0.1, 10], "gamma": [0.02, 0.5]}
    assert_same_search(SVC(tol=TIGHT), grid, X[:200] / 16.0, y[:200])
    assert plain_fits == []


def test_same_table_with_weights():
    X, y = three_classes()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    assert_same_search(
        SVC(tol=TIGHT), GRID, X, y, fit_params={"sample_weight": weights}
    )


def distance_to_boundary(model, X, y):
    """Scores by values, not by labels: all digits of them count."""
    return float(np.minimum(model.decision_function(X) * (2 * y - 1), 1.0).mean())


@pytest.mark.parametrize(
    "options",
    [
        {"scoring": "roc_auc"},
        {"scoring": distance_to_boundary},
        {"scoring": ["accuracy", "f1"], "refit": "f1"},
        {"scoring": {"own": make_scorer(f1_score, pos_label=0)}, "refit": "own"},
        {"scoring": lambda m, X, y: {"a": m.score(X, y), "b": 1.0}, "refit": "a"},
        {"refit": lambda table: int(np.argmin(table["mean_test_score"]))},
        {"return_train_score": True},
        {"cv": PredefinedSplit(np.arange(200) % 4 - 1)},
        {"cv": StratifiedKFold(3, shuffle=True, random_state=0)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_same_table_with_options(options, plain_fits):
    X, y = two_classes()
    assert_same_search(SVC(tol=TIGHT), GRID, X, y, **options)
    assert plain_fits == []


@pytest.mark.parametrize("step", [StandardScaler(), Normalizer()])
def test_same_table_of_pipelines(step, plain_fits):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(step, SVC(tol=TIGHT))
    grid = {"svc__C": [0.1, 1, 10], "svc__gamma": [0.1, "scale"]}
    assert_same_search(pipeline, grid, X, y)
    assert plain_fits == []


def test_same_table_where_the_preparation_is_searched():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SVC(tol=TIGHT))
    grid = {
        "standardscaler": [StandardScaler(), "passthrough"],
        "svc__C": [0.1, 1],
        "svc__gamma": [0.1],
    }
    assert_same_search(pipeline, grid, X, y)


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (CostSensitiveSVC(tol=TIGHT), {"cost_positive": [1.0, 3.0], **GRID}),
        (RampSVC(tol=TIGHT), {"s": [-np.inf, -1.0], "C": [0.1, 1], "gamma": [0.05]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_same_table_for_other_classifiers(estimator, grid, plain_fits):
    X, y = two_classes()
    assert_same_search(estimator, grid, X, y)
    assert plain_fits == []


def test_same_table_with_a_cost_matrix():
    X, y = three_classes()
    matrix = [[0, 1, 5], [10, 0, 1], [2, 20, 0]]
    machine = CostSensitiveSVC(tol=TIGHT, cost_matrix=matrix)
    assert_same_search(machine, GRID, X, y)


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (SVR(tol=TIGHT), {"epsilon": [0.0, 0.1, 0.5], **GRID}),
        (QuantileSVR(tol=TIGHT, calibrate=False), {"quantile": [0.1, 0.9], **GRID}),
        (QuantileSVR(tol=TIGHT, quantile=[0.1, 0.9], calibrate=False), GRID),
    ],
    ids=["SVR", "QuantileSVR", "two quantiles"],
)
def test_same_table_for_regression(estimator, grid, plain_fits):
    X, y = numbers()
    assert_same_search(estimator, grid, X, y)
    assert plain_fits == []


def test_what_cannot_be_shared_is_fitted_plainly(plain_fits):
    X, y = two_classes()
    assert_same_search(SVC(tol=TIGHT, keep_rows=True), {"C": [0.1, 1]}, X, y)
    assert len(plain_fits) == 6
    search = SharedGridSearchCV(
        OneClassSVM(), {"nu": [0.1, 0.5]}, scoring=lambda m, X, y=None: 1.0, cv=3
    )
    assert search.fit(X).best_params_ == {"nu": 0.1}


def test_precomputed_kernel():
    X, y = two_classes()
    matrix = np.exp(-0.05 * ((X[:, None] - X[None]) ** 2).sum(-1))
    machine = SVC(kernel="precomputed", tol=TIGHT)
    assert_same_search(machine, {"C": [0.1, 1, 10]}, matrix, y)


def test_strings_and_a_kernel_function():
    words = [
        "".join(word) for word in np.random.default_rng(0).choice(["a", "b"], (40, 9))
    ]
    y = np.array([word.count("a") > 4 for word in words])

    def kernel(first, second):
        return np.array(
            [
                [sum(p == q for p, q in zip(s, t, strict=True)) for t in second]
                for s in first
            ],
            float,
        )

    assert_same_search(SVC(kernel=kernel, tol=TIGHT), {"C": [0.1, 1]}, words, y)


def test_rows_that_exceed_the_memory_are_shared_as_rows(plain_fits):
    X, y = two_classes()
    assert_same_search(SVC(tol=TIGHT, cache_size=0.05), GRID, X, y)
    assert plain_fits == []


@pytest.mark.parametrize("error_score", [np.nan, 0.0])
def test_a_fold_without_a_class_fails_as_in_gridsearchcv(error_score):
    X, y = two_classes()
    folds = PredefinedSplit(np.where(y == 1, 0, np.arange(200) % 3))
    tables, words = [], []
    for search in (SharedGridSearchCV, GridSearchCV):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fitted = search(SVC(), GRID, cv=folds, error_score=error_score).fit(X, y)
        tables.append(fitted.cv_results_)
        words.append([str(warning.message)[:60] for warning in said])
    assert words[0] == words[1] != []
    for name in ("mean_test_score", "rank_test_score", "split0_test_score"):
        assert_allclose(tables[0][name], tables[1][name])


def test_all_fits_fail_as_in_gridsearchcv():
    X, y = two_classes()
    for search in (GridSearchCV, SharedGridSearchCV):
        with pytest.raises(ValueError, match="All the 6 fits failed"):
            search(SVC(), {"C": [-1.0, -2.0]}, cv=3).fit(X, y)
        with pytest.raises(ValueError, match="'C' parameter"):
            search(SVC(), {"C": [-1.0]}, cv=3, error_score="raise").fit(X, y)


def test_scores_that_are_not_numbers():
    X, y = two_classes()

    def sometimes(model, X, y):
        return np.nan if model.C == 1 else 0.5

    with pytest.warns(UserWarning, match="non-finite"):
        assert_same_search(SVC(tol=TIGHT), GRID, X, y, scoring=sometimes)


def test_a_scorer_that_fails_is_reported():
    X, y = two_classes()

    def broken(model, X, y):
        raise RuntimeError("no score")

    search = SharedGridSearchCV(SVC(), {"C": [1.0]}, scoring=broken, refit=False, cv=2)
    with pytest.warns(UserWarning) as said:
        search.fit(X, y)
    assert any("Scoring failed" in str(warning.message) for warning in said)


def test_rows_that_are_no_numbers_are_reported_as_in_gridsearchcv():
    X, y = two_classes()
    for search in (GridSearchCV, SharedGridSearchCV):
        with pytest.raises(ValueError, match="All the 2 fits failed"):
            search(SVC(), {"C": [1.0]}, cv=2).fit(np.full_like(X, np.nan), y)


def test_foreign_estimators_are_refused():
    X, y = two_classes()
    for foreign in (LogisticRegression(), make_pipeline(StandardScaler())):
        with pytest.raises(TypeError, match=r"GridSearchCV\.$"):
            SharedGridSearchCV(foreign, {}).fit(X, y)


@pytest.mark.parametrize("form", ["lists", "masks"])
def test_folds_are_given_as_lists_or_as_masks(form, plain_fits):
    X, y = two_classes()
    rows, splits = np.arange(len(y)), StratifiedKFold(3).split(X, y)
    cv = [
        tuple(part.tolist() if form == "lists" else np.isin(rows, part) for part in s)
        for s in splits
    ]
    assert_same_search(SVC(tol=TIGHT), GRID, X, y, cv=cv)
    assert not plain_fits


@pytest.mark.filterwarnings("ignore:Scoring failed", "ignore:\n", "ignore:One or more")
@pytest.mark.parametrize("wrong", [-1.0, "a"])
def test_a_setting_that_is_none_fails_alone(wrong, plain_fits):
    X, y = two_classes()
    grid = {"C": [0.1, 1.0, wrong], "gamma": [0.05]}
    assert_same_search(SVC(tol=TIGHT), grid, X, y)
    assert len(plain_fits) == 3  # the folds of that setting


@pytest.mark.filterwarnings("ignore:\\n", "ignore:One or more")
def test_a_setting_without_a_solution_fails_alone():
    X, y = two_classes()
    X = np.repeat(X[:, :1].round(), 2, axis=1)  # the classes overlap
    machine = NuSVC(kernel="linear", tol=TIGHT)
    found = assert_same_search(machine, {"nu": [1e-3, 0.3]}, X, y)
    assert np.isnan(found.cv_results_["mean_test_score"]).tolist() == [True, False]


def test_a_foreign_estimator_in_the_grid_is_fitted_plainly(plain_fits):
    X, y = two_classes()
    pipeline = make_pipeline(StandardScaler(), SVC(tol=TIGHT))
    grid = {"svc": [LogisticRegression(), SVC(tol=TIGHT)], "svc__C": [0.1, 1.0]}
    assert_same_search(pipeline, grid, X, y)
    assert len(plain_fits) == 6


def test_interrupted_search_leaves_no_trace(monkeypatch):
    X, y = two_classes()

    def stop(*_):
        raise KeyboardInterrupt

    search = SharedGridSearchCV(SVC(), GRID)
    monkeypatch.setattr("widemargin.tuning.chain_precision.solve_chain", stop)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")


def total_value(model, X, y):
    return float(model.decision_function(X).sum())


def test_results_do_not_depend_on_threads():
    X, y = three_classes()
    tables = [
        SharedGridSearchCV(
            SVC(decision_function_shape="ovo"), GRID, n_jobs=jobs, scoring=total_value
        )
        .fit(X, y)
        .cv_results_["mean_test_score"]
        for jobs in (1, 2, 4)
    ]
    assert_array_equal(tables[0], tables[1])
    assert_array_equal(tables[0], tables[2])

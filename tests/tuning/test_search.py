"""SharedGridSearchCV is GridSearchCV: the same scores, ranks and ties."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import PredefinedSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from widemargin import (
    SVC,
    SVR,
    CostSensitiveSVC,
    DivideConquerSVC,
    OneClassSVM,
    QuantileSVR,
    RampSVC,
    SharedGridSearchCV,
)

from tests.tuning.same_search import (
    GRID,
    TIGHT,
    assert_same_search,
    numbers,
    three_classes,
    two_classes,
)


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


@pytest.mark.parametrize("prediction", ["exact", "early"])
def test_levels_are_fitted_plainly(prediction, plain_fits):
    X, y = two_classes()
    levels = {"n_levels": 1, "n_branches": 2, "early_level": 1, "random_state": 0}
    machine = DivideConquerSVC(tol=TIGHT, prediction=prediction, **levels)
    grid = {"C": [0.1, 10]}
    assert_same_search(machine, grid, X, y, scoring=distance_to_boundary)
    assert len(plain_fits) == 6


def test_scorers_see_the_names_of_columns(plain_fits):
    X, y = two_classes()
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])

    def named(model, X, y):
        return model.score(X, y) + list(X.columns).index(model.feature_names_in_[-1])

    assert_same_search(SVC(tol=TIGHT), GRID, frame, y, scoring=named)
    assert_same_search(SVC(tol=TIGHT), GRID, frame, y, scoring="f1")
    assert plain_fits == []


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

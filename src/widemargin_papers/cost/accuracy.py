"""Figure 5 of the chunk-incremental paper: total cost (5 to 1) and AUC on unseen rows.

The seven sets of the figure and the other two of Table 2 that there are. 65/35 splits,
Gaussian kernel, features in [0, 1]. Selection by the mean cost of three folds on a
reduced grid, stated in `GRID`; sets above 2,000 rows are drawn down to 2,000 for each
trial. BM-SVM is the plain SVM with a threshold tuned for the cost, the SVM
with two costs is class weights. GEM stands in the paper's pictures only, without a
number, and is left out. Beside the methods stands what needs none: always the class
that is cheapest on the training rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from statistics import mean, stdev
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    train_test_split,
)

from widemargin import SVC, CostSensitiveSVC, total_cost_scorer
from widemargin_papers.harness.cells import Cell, Task
from widemargin_papers.harness.datasets import load_libsvm, scale_to_interval, subsample

SETS = (
    "abalone19",
    "covtype.binary",
    "ijcnn1",
    "page-blocks0",
    "segment0",
    "winequality-red-4",
    "yeast4",
    "shuttle-c0-vs-c4",
    "svmguide3",
)
MOST_ROWS = 2000
GAMMAS = (0.25, 2.0, 16.0)
COSTS = (0.25, 4.0, 64.0)
RATIOS = (1.0, 5.0, 25.0)
NEGATIVES = (1.0, 2.0, 8.0)
GRID = (
    f"gamma in {GAMMAS}, C in {COSTS}; C+/C- or C+/(2C- - 1) in {RATIOS}; "
    f"C- in {NEGATIVES}"
)
SCORER = total_cost_scorer(miss=5, false_alarm=1)
METHODS = ("SVM", "BM-SVM", "2C-SVM", "2C-SVM + threshold", "CSHL-SVM")
BASELINE = "one answer"  # and the name of its table
TRIALS = 10
CLEAR = 2.0  # standard errors of the paired difference


def accuracy_tasks(quick: bool) -> list[Task]:
    """Return one task per data set and trial, and one per set for the baseline."""
    sets, trials = (SETS[4:5], 1) if quick else (SETS, TRIALS)
    baseline = [
        Task(
            f"One answer beside Figure 5, {name}",
            partial(baseline_cells, name, trials),
            (name,),
            trials,
        )
        for name in sets
    ]
    return baseline + [
        Task(
            f"Figure 5, {name}, trial {trial}",
            partial(trial_cells, name, trial),
            (name,),
            2 * len(METHODS),
        )
        for name in sets
        for trial in range(trials)
    ]


def trial_cells(name: str, trial: int) -> Iterable[Cell]:
    """Yield total cost and AUC of every method on one split."""
    train, test, y_train, y_test = _split(name, trial)
    for method, model in fitted_methods(train, y_train, trial).items():
        cost = -SCORER(model, test, y_test)
        ranks = getattr(model, "estimator_", model)  # below a tuned threshold
        area = roc_auc_score(y_test, ranks.decision_function(test))
        row = f"{name}, trial {trial}"
        yield Cell("Figure 5, total cost", row, method, cost, note="5 to 1, mean")
        yield Cell("Figure 5, AUC", row, method, float(area))


def _split(name: str, trial: int) -> Any:
    X, y = load_libsvm(name)
    labels = (y == y.max()).astype(int)
    X, labels = subsample(X, labels, MOST_ROWS, seed=trial)
    return train_test_split(
        scale_to_interval(X),
        labels,
        train_size=0.65,
        stratify=labels,
        random_state=trial,
    )


def baseline_cells(name: str, trials: int) -> Iterable[Cell]:
    """Yield the total cost of always the cheapest class, on every split."""
    for trial in range(trials):
        train, test, y_train, y_test = _split(name, trial)
        always = [DummyClassifier(strategy="constant", constant=c) for c in (0, 1)]
        fitted = [model.fit(train, y_train) for model in always]
        best = max(fitted, key=lambda model: SCORER(model, train, y_train))
        cost = -SCORER(best, test, y_test)
        yield Cell(f"Figure 5, {BASELINE}", f"{name}, trial {trial}", BASELINE, cost)


def baseline_costs(cells: Sequence[Cell], name: str) -> dict[str, float]:
    """Return the cost of one answer in each trial of a set."""
    return {
        cell.row: cell.ours
        for cell in cells
        if cell.table == f"Figure 5, {BASELINE}"
        and cell.row.startswith(f"{name},")
        and cell.ours is not None
    }


def unbeaten(cells: Sequence[Cell]) -> list[str]:
    """Return the sets on which no method clearly costs less than one answer.

    Clearly: by two standard errors of the difference over the trials.
    """
    own = [cell for cell in cells if cell.table == "Figure 5, total cost"]
    found = []
    for name in dict.fromkeys(cell.row.split(",")[0] for cell in own):
        baseline = baseline_costs(cells, name)
        savings = [
            [baseline[cell.row] - cell.ours for cell in own
             if cell.column == method and cell.row in baseline
             and cell.ours is not None]
            for method in METHODS
        ]  # fmt: skip
        if baseline and not any(map(_clear, savings)):
            found.append(name)
    return found


def _clear(savings: Sequence[float]) -> bool:
    if len(savings) < 2:
        return False
    return bool(mean(savings) > CLEAR * stdev(savings) / np.sqrt(len(savings)))


def fitted_methods(X: Any, y: Any, seed: int) -> dict[str, Any]:
    """Select and fit every method on the training rows."""
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)

    def select(model: Any, grid: Any) -> Any:
        search = GridSearchCV(model, grid, scoring=SCORER, cv=folds)
        return search.fit(X, y).best_estimator_

    kernel = {"gamma": list(GAMMAS), "C": list(COSTS)}
    plain = select(SVC(), kernel)
    weights = [{1: ratio, 0: 1.0} for ratio in RATIOS]
    two = select(SVC(), {**kernel, "class_weight": weights})
    prices = [
        {
            **kernel,
            "cost_negative": [negative],
            "cost_positive": [ratio * (2 * negative - 1) for ratio in RATIOS],
        }
        for negative in NEGATIVES
    ]
    return {
        "SVM": plain,
        "BM-SVM": _tuned(plain, folds).fit(X, y),
        "2C-SVM": two,
        "2C-SVM + threshold": _tuned(two, folds).fit(X, y),
        "CSHL-SVM": select(CostSensitiveSVC(), prices),
    }


def _tuned(model: Any, folds: Any) -> Any:
    """Move the threshold of a model to the least cost, as scikit-learn does it."""
    return TunedThresholdClassifierCV(
        model, scoring=SCORER, response_method="decision_function", cv=folds
    )


def summary(cells: Sequence[Cell], name: str) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation over the trials, per method."""
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    for cell in cells:
        if cell.row.startswith(f"{name},") and cell.ours is not None:
            found[cell.column].append(cell.ours)
    return {
        method: (mean(values), stdev(values) if len(values) > 1 else 0.0)
        for method, values in found.items()
        if values
    } or {method: (float(np.nan), 0.0) for method in METHODS}

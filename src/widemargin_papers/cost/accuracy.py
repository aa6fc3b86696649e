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

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
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
from widemargin_papers.harness.cells import Cell, Task, by_row
from widemargin_papers.harness.datasets import load_libsvm, scale_to_interval, subsample

Figures = dict[str, float]  # by trial

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
    work = []
    for name in sets:
        run = partial(baseline_cells, name, trials)
        work.append(Task(f"One answer beside Figure 5, {name}", run, (name,), trials))
    for name, trial in product(sets, range(trials)):
        run = partial(trial_cells, name, trial)
        title = f"Figure 5, {name}, trial {trial}"
        work.append(Task(title, run, (name,), 2 * len(METHODS)))
    return work


def trial_cells(name: str, trial: int) -> Iterable[Cell]:
    """Yield total cost and AUC of every method on one split."""
    train, test, y_train, y_test = _split(name, trial)
    row = f"{name}, trial {trial}"
    for method, model in fitted_methods(train, y_train, trial).items():
        cost = -SCORER(model, test, y_test)
        ranks = getattr(model, "estimator_", model)  # below a tuned threshold
        area = float(roc_auc_score(y_test, ranks.decision_function(test)))
        yield Cell("Figure 5, total cost", row, method, cost, note="5 to 1, mean")
        yield Cell("Figure 5, AUC", row, method, area)


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


def by_set(cells: Iterable[Cell], quantity: str) -> dict[str, dict[str, Figures]]:
    """Return set -> method -> trial -> figure of one quantity of Figure 5."""
    found: dict[str, dict[str, Figures]] = {}
    for row, figures in by_row(cells, f"Figure 5, {quantity}").items():
        methods = found.setdefault(row.split(",")[0], {})
        for method, figure in figures.items():
            methods.setdefault(method, {})[row] = figure
    return found


def baseline_costs(cells: Iterable[Cell], name: str) -> Figures:
    """Return the cost of one answer in each trial of a set."""
    return by_set(cells, BASELINE).get(name, {}).get(BASELINE, {})


def unbeaten(cells: Sequence[Cell]) -> list[str]:
    """Return the sets on which no method clearly costs less than one answer.

    Clearly: by two standard errors of the difference over the trials.
    """
    found = []
    for name, methods in by_set(cells, "total cost").items():
        baseline = baseline_costs(cells, name)
        savings = (
            [baseline[row] - cost for row, cost in costs.items() if row in baseline]
            for costs in methods.values()
        )
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


def summary(methods: Mapping[str, Figures]) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation over the trials, per method."""
    return {
        method: (mean(found.values()), stdev(found.values()) if len(found) > 1 else 0.0)
        for method, found in methods.items()
    }

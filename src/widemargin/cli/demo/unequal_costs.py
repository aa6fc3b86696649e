"""Act: a miss costs five times a false alarm."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widemargin.cli.demo.stage import Stage

TITLE = "A miss costs five"
QUESTION = (
    "A missed tumour costs as much as five false alarms. The usual SVM does not know "
    "that. Who pays least on patients it has never seen?"
)
SEED = 0
MISS, FALSE_ALARM = 5, 1
LATER = 10  # the price of a miss after it has risen


def run(stage: Stage) -> str:
    """Tune four ways to be cost-aware on breast cancer, compare their bills."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.metrics import confusion_matrix
    from sklearn.model_selection import (
        GridSearchCV,
        TunedThresholdClassifierCV,
        train_test_split,
    )
    from sklearn.preprocessing import StandardScaler

    from widemargin import SVC, CostSensitiveSVC, total_cost_scorer
    from widemargin.display import ComparisonDisplay

    X, y = load_breast_cancer(return_X_y=True)
    malignant = 1 - y  # the class that is dear to miss
    X, X_test, y, y_test = train_test_split(
        X, malignant, test_size=0.5, stratify=malignant, random_state=SEED
    )
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    scorer = total_cost_scorer(miss=MISS, false_alarm=FALSE_ALARM)
    C = {"C": [0.1, 1.0, 10.0]}
    prices = [
        C | {"cost_negative": [minus], "cost_positive": [MISS * (2 * minus - 1)]}
        for minus in (1.0, 1.5, 3.0)
    ]

    def select(model: object, grid: object) -> object:
        return GridSearchCV(model, grid, scoring=scorer, cv=5).fit(X, y).best_estimator_

    with stage.working(f"choosing costs on {len(y)} patients, five folds"):
        plain = select(SVC(), C)
        weights = [{0: 1.0, 1: ratio} for ratio in (1.0, 5.0)]
        models = {
            "SVC": plain,
            "SVC + tuned threshold": TunedThresholdClassifierCV(
                plain, scoring=scorer, cv=5
            ).fit(X, y),
            "SVC + class weights": select(SVC(), C | {"class_weight": weights}),
            "CostSensitiveSVC": select(CostSensitiveSVC(keep_rows=True), prices),
        }
    rows, bills = [], []
    for name, model in models.items():
        _, false_alarms, misses, _ = confusion_matrix(
            y_test, model.predict(X_test)
        ).ravel()
        bills.append(float(MISS * misses + FALSE_ALARM * false_alarms))
        rows.append([name, misses, false_alarms, f"{bills[-1]:.0f}"])
    stage.table(
        ["model", "misses", "false alarms", "bill"],
        rows,
        caption=f"On {len(y_test)} unseen patients, a miss {MISS}, an alarm 1",
    )
    with stage.axes(caption="The bill on unseen patients") as ax:
        ComparisonDisplay(list(models), bills, quantity="total cost").plot(ax=ax)
    milliseconds = _recost(stage, models["CostSensitiveSVC"], X, y, X_test)
    best = list(models)[int(np.argmin(bills))]
    return (
        f"bill {bills[-1]:.0f} by CostSensitiveSVC, {bills[0]:.0f} by SVC "
        f"(least: {best}, {min(bills):.0f}); re-costed to {LATER}:1 exactly in "
        f"{milliseconds:.0f} ms."
    )


def _recost(stage: Stage, model: Any, X: Any, y: Any, X_test: Any) -> float:
    """The price of a miss has doubled: move the model there, and check against fit."""
    import numpy as np
    from sklearn.base import clone

    price = LATER * (2 * model.cost_negative - 1)
    started = time.perf_counter()
    model.update(cost_positive=price)
    moved = time.perf_counter() - started
    started = time.perf_counter()
    again = clone(model).set_params(gamma=model.gamma_).fit(X, y)
    refit = time.perf_counter() - started
    difference = np.abs(
        model.decision_function(X_test) - again.decision_function(X_test)
    ).max()
    stage.say(
        f"the price rises to {LATER}:1: moved there in {1e3 * moved:.1f} ms (a new fit "
        f"takes {1e3 * refit:.1f} ms), {difference:.0e} from it"
    )
    return 1e3 * moved

"""Act: a miss costs five times a false alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widemargin.cli.terminal_report import TerminalReport

TITLE = "A miss costs five"
QUESTION = (
    "Missing a patient whose illness will progress fast costs as much as five false "
    "alarms. A plain SVM does not know that. Which model costs least on unseen "
    "patients, with nothing tuned?"
)
SEED = 0
MISS, FALSE_ALARM = 5, 1
LATER = 10  # the price of a miss after it has risen
EXTREME = 50  # a price at which it would be cheaper to raise the alarm for all
FAR = 10  # three classes: the cost of a mistake by two grades, 1 for a neighbour
Parts = tuple[Any, Any, Any, Any]


def run(report: TerminalReport) -> str:
    """Compare the costs of models as they come, on two classes and on three."""
    import numpy as np
    from sklearn.datasets import load_diabetes

    from widemargin.display import ComparisonDisplay

    X, progress = load_diabetes(return_X_y=True)
    parts = _halves(X, (progress > np.percentile(progress, 75)).astype(int))
    with report.working(f"fitting on {len(parts[2])} patients"):
        rows, bills, model = _compared(*parts)
    report.table(
        ["model", "misses", "false alarms", "bill"],
        rows,
        caption=f"On {len(parts[3])} unseen patients, a miss {MISS}, an alarm 1",
    )
    display = ComparisonDisplay(list(bills), list(bills.values()), quantity="bill")
    report.picture(
        lambda ax: display.plot(ax=ax), caption="The bill on unseen patients"
    )
    _three_classes(report, X, np.digitize(progress, np.percentile(progress, [33, 67])))
    _recost(report, model, parts)
    _extreme(report, parts)
    return (
        f"CostSensitiveSVC costs {bills['CostSensitiveSVC']:.0f} by default, SVC "
        f"{bills['SVC']:.0f}, one answer for everybody {bills['one answer']:.0f}; "
        f"one call moves it to {LATER}:1, exactly."
    )


def _halves(X: Any, y: Any) -> Parts:
    """Return training and test rows, standardised, and their labels."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    train, test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=SEED
    )
    scaler = StandardScaler().fit(train)
    return scaler.transform(train), scaler.transform(test), y_train, y_test


def _compared(
    X: Any, X_test: Any, y: Any, y_test: Any
) -> tuple[list[list[Any]], dict[str, float], Any]:
    """Return rows of the table, the bills by name, and the cost-sensitive model."""
    from sklearn.dummy import DummyClassifier
    from sklearn.metrics import confusion_matrix
    from sklearn.model_selection import TunedThresholdClassifierCV

    from widemargin import SVC, CostSensitiveSVC, total_cost_scorer

    scorer = total_cost_scorer(miss=MISS, false_alarm=FALSE_ALARM)
    always = [
        DummyClassifier(strategy="constant", constant=label).fit(X, y)
        for label in (0, 1)
    ]
    models = {
        "one answer": max(always, key=lambda model: scorer(model, X, y)),
        "SVC": SVC(),
        "SVC + tuned threshold": TunedThresholdClassifierCV(SVC(), scoring=scorer),
        "SVC + balanced weights": SVC(class_weight="balanced"),
        "CostSensitiveSVC": CostSensitiveSVC(
            cost_matrix=[[0, FALSE_ALARM], [MISS, 0]], keep_rows=True
        ),
    }
    rows, bills = [], {}
    for name, model in models.items():
        answers = model.fit(X, y).predict(X_test)
        _, false_alarms, misses, _ = confusion_matrix(y_test, answers).ravel()
        bills[name] = float(MISS * misses + FALSE_ALARM * false_alarms)
        rows.append([name, misses, false_alarms, f"{bills[name]:.0f}"])
    return rows, bills, models["CostSensitiveSVC"]


def _three_classes(report: TerminalReport, X: Any, grade: Any) -> None:
    """Price mistakes by two grades ten times one by a neighbouring grade."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from widemargin import CostReport, CostSensitiveSVC

    costs = [[0, 1, FAR], [1, 0, 1], [FAR, 1, 0]]
    model = make_pipeline(StandardScaler(), CostSensitiveSVC(cost_matrix=costs))
    with report.working("three grades of progress, five folds"):
        answers = CostReport.from_estimator(model, X, grade)
    report.table(
        ["answer", "mean cost"],
        [[name, f"{cost:.3f}"] for name, cost in answers.costs.items()],
        caption="Progress slow (0), middling (1) or fast (2): a mistake by two grades "
        f"costs {FAR}, by one grade 1",
    )


def _extreme(report: TerminalReport, parts: Parts) -> None:
    """Name where the model loses as it comes: against one answer, at extreme costs."""
    import numpy as np

    from widemargin import CostSensitiveSVC

    X, X_test, y, y_test = parts
    costs = np.array([[0, FALSE_ALARM], [EXTREME, 0]])
    bills = [
        costs[y_test, model.fit(X, y).predict(X_test)].sum()
        for model in (
            CostSensitiveSVC(cost_matrix=costs),
            CostSensitiveSVC(cost_matrix=costs, C=0.01),
        )
    ]
    alarms = costs[y_test, 1].sum()
    report.limit(
        f"at {EXTREME}:1 it costs {bills[0]}, and calling every patient fast {alarms}; "
        f"with C=0.01 it costs {bills[1]}. Choose C by total_cost_scorer: the larger "
        "the costs, the smaller"
    )


def _recost(report: TerminalReport, model: Any, parts: Parts) -> None:
    """The price of a miss has doubled: move the model there, and check against fit."""
    import numpy as np
    from sklearn.base import clone

    X, X_test, y, _ = parts
    model.update(cost_matrix=[[0, FALSE_ALARM], [LATER, 0]])
    again = clone(model).set_params(gamma=model.gamma_).fit(X, y)
    difference = np.abs(
        model.decision_function(X_test) - again.decision_function(X_test)
    ).max()
    report.say(
        f"when a miss comes to cost {LATER}, update() gives the model of a new fit: "
        f"largest difference {difference:.1g}"
    )

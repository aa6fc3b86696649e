"""Act: data arrives in chunks, and some people ask to be forgotten."""

from __future__ import annotations

from widemargin.cli.demo.stage import Stage

TITLE = "Forget me, exactly"
QUESTION = (
    "Data arrives week by week, and some people ask that their rows be removed. "
    "Retraining each time is slow; approximate updates drift. Here the model after "
    "every change is the model of a full retrain, to the tenth digit."
)
WEEK = 50
SEED = 0


def run(stage: Stage) -> str:
    """Stream handwritten digits into an SVC, forget some, compare with retraining."""
    import time

    import numpy as np
    from sklearn.datasets import load_digits, make_moons

    from widemargin import SVC
    from widemargin.display import MarginDisplay

    X, digit = load_digits(return_X_y=True)
    X = X / 16.0
    y = (digit % 2).astype(int)  # odd or even
    order = np.random.default_rng(SEED).permutation(len(y))
    X, y = X[order], y[order]
    rows, worst = [], 0.0
    model = SVC(C=2.0, gamma=0.03).fit(X[:1400], y[:1400])

    def compare(event: str, live: object) -> tuple[float, float]:
        begun = time.perf_counter()
        again = SVC(C=2.0, gamma=0.03).fit(X[live], y[live])
        retrain = time.perf_counter() - begun
        record = model.history_[-1]
        gap = np.abs(model.decision_function(X) - again.decision_function(X)).max()
        rows.append([event, record["size"], record["steps"],
                     f"{1e3 * record['seconds']:.1f}", f"{1e3 * retrain:.1f}",
                     f"{gap:.0e}"])  # fmt: skip
        return float(gap), float(record["seconds"])

    spent = 0.0
    with stage.working("three weeks of new rows, then 60 people leave"):
        for week in range(3):
            start = 1400 + WEEK * week
            model.partial_fit(X[start : start + WEEK], y[start : start + WEEK])
            gap, _ = compare(f"week {week + 1}: {WEEK} rows", slice(0, start + WEEK))
            worst = max(worst, gap)
        leaving = np.random.default_rng(1).choice(1550, size=60, replace=False)
        model.forget(leaving)
        gap, spent = compare(
            f"{len(leaving)} people leave", np.setdiff1d(np.arange(1550), leaving)
        )
        worst = max(worst, gap)
    stage.table(
        ["event", "rows", "path steps", "update ms", "retrain ms", "difference"],
        rows,
        caption="Digits, odd or even; difference: largest gap between decision values",
    )

    points, classes = make_moons(240, noise=0.2, random_state=SEED)
    person = np.hypot(points[:, 0] - 1.0, points[:, 1] + 0.4) < 0.45
    small = SVC(C=5.0, gamma=2.0).fit(points, classes)
    with stage.axes(columns=2, caption="Before and after forgetting a region") as axes:
        MarginDisplay.from_estimator(small, points, classes, ax=axes[0])
        small.forget(small.ids_[person])
        MarginDisplay.from_estimator(
            small, points[~person], classes[~person], ax=axes[1]
        )
        axes[0].set_title(f"{len(points)} rows", fontsize=10)
        axes[1].set_title(f"{int(person.sum())} rows forgotten", fontsize=10)
    stage.say("Nothing of the removed rows is left in the object, nor in its pickle.")
    return (
        f"{len(leaving)} people forgotten in {1e3 * spent:.0f} ms; "
        f"at most {worst:.0e} from a full retrain, over all updates"
    )

"""Act: a prediction without its spread is half an answer."""

from __future__ import annotations

from typing import Any

from widemargin.cli.terminal_report import TerminalReport

TITLE = "A band, not a line"
QUESTION = (
    "How fast will a patient's diabetes progress within a year? One number hides how "
    "wrong it may be. Which band, meant to hold 80 % of the patients, really does?"
)
LOW, HIGH = 0.1, 0.9
LEVELS = [LOW, 0.5, HIGH]
FOLDS = 5
SEED = 0


def run(report: TerminalReport) -> str:
    """Fit a band of quantiles, measure its coverage on unseen patients."""
    import numpy as np
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    ours, trees, numbers = _predictions(report, X, y)
    rows = [["SVR", "-", "-", f"{np.mean(np.abs(y - numbers)):.1f}"]]
    covered, widths = [], []
    for name, table in (("gradient boosting", trees), ("QuantileSVR", ours)):
        inside = (table[:, 0] <= y) & (y <= table[:, 2])
        covered.append(float(inside.mean()))
        widths.append(float(np.mean(table[:, 2] - table[:, 0])))
        error = float(np.mean(np.abs(y - table[:, 1])))
        rows.append([name, f"{covered[-1]:.1%}", f"{widths[-1]:.0f}", f"{error:.1f}"])
    report.table(
        ["model", "patients in the band", "mean width", "mean error"],
        rows,
        caption=f"Band from quantile {LOW} to {HIGH}, patients not seen in training",
    )
    report.limit(
        f"the band is {widths[1] / widths[0]:.2f} times as wide as boosting's, and its "
        "share holds over all patients, not for every kind of patient"
    )
    _draw(report, X[:, [2]], y)
    wanted = HIGH - LOW
    return (
        f"the band meant to cover {wanted:.0%} covers {covered[1]:.1%} of unseen "
        f"patients; that of gradient boosting covers {covered[0]:.1%}."
    )


def _predictions(report: TerminalReport, X: Any, y: Any) -> tuple[Any, Any, Any]:
    """Predict unseen patients: our band, that of gradient boosting, and SVR's line."""
    import numpy as np
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from widemargin import SVR, QuantileSVR

    folds = KFold(FOLDS, shuffle=True, random_state=SEED)

    def predicted(model: Any) -> Any:
        return cross_val_predict(model, X, y, cv=folds)

    with report.working(f"{FOLDS} folds of {len(y)} patients, three quantiles each"):
        band = QuantileSVR(quantile=LEVELS, non_crossing=True)
        ours = predicted(make_pipeline(StandardScaler(), band))
        trees = [
            GradientBoostingRegressor(loss="quantile", alpha=q, random_state=SEED)
            for q in LEVELS
        ]
        theirs = np.column_stack([predicted(model) for model in trees])
    with report.working("a line for comparison: SVR"):
        line = make_pipeline(StandardScaler(), SVR(C=100.0, gamma=0.01, epsilon=10.0))
        return ours, theirs, predicted(line)


def _draw(report: TerminalReport, mass: Any, y: Any) -> None:
    """Draw the band along one feature."""
    from sklearn.preprocessing import StandardScaler

    from widemargin import QuantileSVR
    from widemargin.display import BandDisplay

    mass = StandardScaler().fit_transform(mass)
    with report.working("fitting the band along one feature"):
        shown = QuantileSVR(quantile=LEVELS, C=100.0, gamma=0.2, non_crossing=True)
        shown.fit(mass, y)
    labels = ("body mass index", "progression")
    report.picture(
        lambda ax: BandDisplay.from_estimator(
            shown, mass, y, ax=ax, axis_labels=labels
        ),
        caption="Progression along the body mass index alone",
    )

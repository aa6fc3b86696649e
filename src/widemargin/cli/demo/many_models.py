"""Act: a tuned model is five hundred models with nearly everything in common."""

from __future__ import annotations

from functools import partial
from typing import Any

from widemargin.cli.terminal_report import TerminalReport

TITLE = "Five hundred models at once"
QUESTION = (
    "An SVM has two knobs, C and gamma, and nobody knows where to set them. Ten by ten "
    "settings in five folds are five hundred fits, which share most of their "
    "arithmetic. What if it were done once?"
)
VALUES = 10
FOLDS = 5
FEWER = 3  # values of each, for the plain search


def run(report: TerminalReport) -> str:
    """Tune by a shared grid, beside a part of it by GridSearchCV."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import scale
    from sklearn.svm import SVC as ReferenceSVC

    from widemargin import SVC, SharedGridSearchCV

    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    Cs, gammas = np.geomspace(0.1, 1000, VALUES), np.geomspace(0.0005, 1, VALUES)
    grid = {"C": Cs, "gamma": gammas}
    fits = VALUES * VALUES * FOLDS
    with report.working(f"{fits} fits that share their kernel values") as shared:
        search = SharedGridSearchCV(SVC(), grid, cv=FOLDS).fit(X, y)
    chosen = np.linspace(0, VALUES - 1, FEWER).astype(int)
    part = {"C": Cs[chosen], "gamma": gammas[chosen]}
    some = FEWER * FEWER * FOLDS
    with report.working(
        f"{some} of them by GridSearchCV over scikit-learn's SVC"
    ) as one:
        reference = GridSearchCV(ReferenceSVC(), part, cv=FOLDS, refit=False).fit(X, y)
    ours, theirs = 1000 * shared.seconds / fits, 1000 * one.seconds / some
    table = search.cv_results_["mean_test_score"].reshape(VALUES, VALUES)
    same = table[np.ix_(chosen, chosen)].ravel()
    apart = float(np.abs(same - reference.cv_results_["mean_test_score"]).max())
    report.table(
        ["search", "fits", "milliseconds a fit"],
        [
            ["GridSearchCV over scikit-learn's SVC", some, f"{theirs:.2f}"],
            ["SharedGridSearchCV over widemargin's", fits, f"{ours:.2f}"],
        ],
        caption="The same folds; ours includes the best model and its certificate",
    )
    report.say(f"scores of the settings in both tables differ by at most {apart:.4f}")
    report.limit(
        "with a step that learns from each fold, such as a scaler in a Pipeline, folds "
        "no longer share their kernel values"
    )
    draw = partial(_draw, table, Cs, gammas)
    report.picture(draw, caption="Accuracy in five folds")
    best = search.best_params_
    return (
        f"{fits} fits in {shared.seconds:.1f} s, {theirs / ours:.0f} times as many "
        f"per second as GridSearchCV; best C={best['C']:.2g}, "
        f"gamma={best['gamma']:.2g}: {search.best_score_:.1%} of unseen tumours are "
        "classified correctly."
    )


def _draw(table: Any, Cs: Any, gammas: Any, ax: Any) -> None:
    """Draw the accuracy of every setting."""
    from widemargin.display import GridDisplay

    rows, columns = ([f"{value:.2g}" for value in values] for values in (Cs, gammas))
    display = GridDisplay(table, columns, rows, "gamma", "C", quantity="accuracy")
    display.plot(ax=ax)
    ax.tick_params(axis="x", rotation=60)

"""Fig. 1: two columns of heart, the classes moved apart, and the models on them.

The paper does not name the columns nor how far it moved the classes; here they are the
largest heart rate and the depression of the ST segment, each class moved along both, in
the direction in which its mean lies: a little, and until a line separates them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.display import HistoryDisplay, MarginDisplay
from widemargin.estimators.dpwss import DPWSSClassifier
from widemargin.estimators.svc import SVC
from widemargin_papers.harness.cells import Cell, row_cells
from widemargin_papers.harness.datasets import available
from widemargin_papers.harness.figures import canvas

from .printed import FILES
from .runs import labelled

Vector = NDArray[np.float64]

FIGURE = "Figure 1: two columns of heart (epsilon 1, sigma 0.7)"
COLUMNS = (7, 9)
NAMES = ("largest heart rate", "ST depression")
MOVES = (0.2, 0.6)
PLAIN = "not private"


def moved_apart(by: float, name: str = "heart") -> tuple[Vector, Vector]:
    """Return the two columns of heart with each class moved to its end."""
    X, y = labelled(name)
    two = np.asarray(X.toarray())[:, COLUMNS]
    towards = np.sign(two[y > 0].mean(axis=0) - two[y < 0].mean(axis=0))
    return two + by * y[:, None] * towards, y


def example_models(name: str, seeds: int) -> Iterable[Cell]:
    """Fit both kinds of models; accuracy on the training rows, and the boundaries."""
    for by in MOVES:
        X, y = moved_apart(by, name)
        models: dict[str, Any] = {PLAIN: SVC(kernel="linear")}
        for seed in range(seeds):
            models[f"DPWSS, seed {seed}"] = DPWSSClassifier(random_state=seed)
        for method, model in models.items():
            model.fit(X, y)
            figures = {
                "accuracy": float(model.score(X, y)),
                "first weight": float(model.coef_[0, 0]),
                "second weight": float(model.coef_[0, 1]),
                "intercept": float(model.intercept_[0]),
            }
            yield from row_cells(FIGURE, f"moved by {by}: {method}", figures)


def picture(found: dict[str, dict[str, float]]) -> Any:
    """Draw the rows with the plain model, and the lines of the drawn ones dotted."""
    if not found or not available(FILES["heart"]):
        return None
    figure, axes = canvas(len(MOVES), len(MOVES), (4.4, 3.4))
    for ax, by in zip(axes, MOVES, strict=True):
        X, y = moved_apart(by)
        MarginDisplay.from_estimator(SVC(kernel="linear").fit(X, y), X, y, ax=ax)
        across = np.array([X[:, 0].min(), X[:, 0].max()])
        lines, styles = {}, {}
        for name, row in found.items():
            if name.startswith(f"moved by {by}: DPWSS"):
                height = row["first weight"] * across + row["intercept"]
                lines[name] = (across, -height / row["second weight"])
                styles[name] = {"linestyle": ":", "marker": "", "color": "#B03060"}
        HistoryDisplay(lines, *NAMES).plot(ax=ax, styles=styles, legend=False)
        ax.set_ylim(X[:, 1].min() - 0.1, X[:, 1].max() + 0.1)
        ax.set_title(f"classes moved by {by}", fontsize=9)
    return figure


def same_as_plain(found: dict[str, dict[str, float]], by: float) -> tuple[int, int]:
    """Return how many drawn models are the plain one to 12 digits, and of how many."""
    plain = found[f"moved by {by}: {PLAIN}"]
    drawn = [
        row for name, row in found.items() if name.startswith(f"moved by {by}: DPWSS")
    ]
    equal = [
        all(abs(row[key] - plain[key]) <= 1e-12 * abs(plain[key]) for key in plain)
        for row in drawn
    ]
    return sum(equal), len(drawn)

"""Draw the picture at the top of the README: python tools/readme_picture.py."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import make_moons

from widemargin import SVC, RampSVC
from widemargin.display import MarginDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TARGET = Path(__file__).resolve().parent.parent / "docs" / "_static" / "readme.png"


def main() -> None:
    """Fit both models to mislabelled moons and draw them side by side."""
    X, truth = make_moons(300, noise=0.12, random_state=0)
    wrong = np.random.default_rng(0).choice(300, 45, replace=False)
    y = truth.copy()
    y[wrong] = 1 - y[wrong]
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    models = (
        ("SVC: hinge loss, dragged by wrong labels", SVC(C=100.0, gamma=4.0)),
        ("RampSVC: bounded loss, suspects crossed out", RampSVC(C=100.0, gamma=4.0)),
    )
    for ax, (title, model) in zip(axes, models, strict=True):
        model.fit(X, y)
        suspects = getattr(model, "outliers_", None)
        MarginDisplay.from_estimator(model, X, y, suspects=suspects, ax=ax)
        right = float(np.mean(model.predict(X) == truth))
        ax.set_title(f"{title}\n{100 * right:.1f} % of the true labels", fontsize=10)
    figure.savefig(TARGET, dpi=110)


if __name__ == "__main__":
    main()

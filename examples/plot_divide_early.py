"""
==================================================
Divide and conquer: the model of the own cluster
==================================================

A kernel SVM on 20,000 rows, three times: whole, in 16 clusters, and in 64. Each cluster
has a model of its own, and a point is judged by the model of the cluster it falls in.
"""

# %%
# A checkerboard with some wrong labels
# -------------------------------------
import time

import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVC, DivideConquerSVC
from widemargin.display import HistoryDisplay, MarginDisplay

rng = np.random.default_rng(0)


def checkerboard(n):
    """Return points in a square and the colour of their field, 5 % of them wrong."""
    X = rng.uniform(0, 4, size=(n, 2))
    y = np.floor(X).sum(axis=1).astype(int) % 2
    return X, y ^ (rng.random(n) < 0.05)


X, y = checkerboard(20_000)
X_test, y_test = checkerboard(5_000)

# %%
# Exact, and early at two levels
# ------------------------------
models = {
    "SVC": SVC(C=10, gamma=8),
    "early, 16 clusters": DivideConquerSVC(
        C=10, gamma=8, prediction="early", early_level=2, random_state=0
    ),
    "early, 64 clusters": DivideConquerSVC(
        C=10, gamma=8, prediction="early", early_level=3, random_state=0
    ),
}
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    begin = time.perf_counter()
    model.fit(X, y)
    spent = time.perf_counter() - begin
    early = isinstance(model, DivideConquerSVC)
    MarginDisplay.from_estimator(
        model,
        X_test[:400],
        y_test[:400],
        clusters=model.early_.assign if early else None,
        plot_support=False,
        grid_resolution=200,
        ax=ax,
    )
    ax.set_title(f"{name}: {spent:.2f} s, {model.score(X_test, y_test):.1%} right")

# %%
# What the levels of an exact fit know of the final support vectors
# -----------------------------------------------------------------
# Forced levels: each one's support vectors, held against those of the exact solution.
exact = DivideConquerSVC(C=10, gamma=8, n_levels=3, random_state=0).fit(X, y)
for stage in exact.history_:
    print({key: stage[key] for key in ("stage", "seconds", "n_support")})
HistoryDisplay.from_estimator(exact, y=("precision", "recall"))
plt.show()

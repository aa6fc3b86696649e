"""
========================================
Private or not: let an attacker decide
========================================

`DPWSSClassifier` draws its working sets at random and its paper calls that
differentially private. `PrivateSVC` adds noise whose scale follows from a proof. The
auditor trains each on two data sets that differ in one record and tries to tell the
released models apart.
"""

# %%
# Scale by bounds that are public
# -------------------------------
# Taking the bounds from the data would publish two records per feature. Here every
# feature of the iris data is known to lie between 0 and 8 cm.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from widemargin import (
    DPWSSClassifier,
    NoiseWarning,
    PrivateSVC,
    PublicBoundsScaler,
    privacy_audit,
)
from widemargin.display import HistoryDisplay, PrivacyDisplay

X, y = load_iris(return_X_y=True)
X, y = X[50:], y[50:]  # versicolor and virginica: the labels are public, too
public = {"clip_norm": 1.0, "classes": [1, 2]}
X = PublicBoundsScaler(lower=0, upper=8).fit_transform(X)

# %%
# The same attack on both
# -----------------------
# A result above the stated epsilon refutes a claim. A result below it proves nothing:
# it is shown beside the largest value that so many runs could have shown.
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for ax, method in zip(
    axes,
    [DPWSSClassifier(selection_epsilon=0.1, n_jobs=1), PrivateSVC(1.0, **public)],
    strict=True,
):
    result = privacy_audit(method, X, y, runs=100, held_out=50, random_state=0)
    PrivacyDisplay.from_audit(result, ax=ax)
    ax.set_xlabel(f"{type(method).__name__}: test statistic of the model")
    print(result, end="\n\n")

# %%
# What each method says of itself
# -------------------------------
model = PrivateSVC(epsilon=1.0, mechanism="objective", **public).fit(X, y)
print(model.privacy_report())

# %%
# The price
# ---------
# Accuracy against epsilon, mean of ten fits. With a hundred records privacy is dear; it
# becomes cheap with thousands. (``fit`` says so by a `NoiseWarning`, left out here.)
warnings.simplefilter("ignore", NoiseWarning)
epsilons = np.array([0.1, 0.3, 1.0, 3.0, 10.0])
curves = {}
for mechanism in ("output", "objective", "gradient"):
    scores = [
        np.mean(
            [
                PrivateSVC(epsilon, mechanism=mechanism, **public).fit(X, y).score(X, y)
                for _ in range(10)
            ]
        )
        for epsilon in epsilons
    ]
    curves[mechanism] = (epsilons, scores)
display = HistoryDisplay(curves, "epsilon", "accuracy").plot()
display.ax_.set_xscale("log")
plt.show()

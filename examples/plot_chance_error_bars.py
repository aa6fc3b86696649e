"""
============================================
Error bars: a diagnosis that survives them
============================================

The breast cancer data of scikit-learn comes with ten measurements of the cell nuclei
of each tumour and, as the next ten columns, *the standard errors of those means*. They
are almost always thrown away. `ChanceConstrainedSVC` takes them as
the covariance of each sample and keeps the probability of violating the margin below
``risk``, whatever the distribution of the errors.
"""

# %%
# Means, variances, and three models
# ----------------------------------
# ``standardize=True`` scales means *and* covariances together. A ``StandardScaler`` in
# a pipeline in front would scale the means only.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from widemargin import ChanceConstrainedSVC
from widemargin.display import MarginDisplay

data = load_breast_cancer()
means, variances = data.data[:, :10], np.square(data.data[:, 10:20])
X, X_test, V, V_test, y, y_test = train_test_split(
    means, variances, data.target, test_size=0.4, stratify=data.target, random_state=0
)
models = {
    "error bars ignored": ChanceConstrainedSVC(standardize=True).fit(X, y, 0.0 * V),
    "any distribution": ChanceConstrainedSVC(standardize=True).fit(X, y, V),
    "normal errors": ChanceConstrainedSVC(standardize=True, bound="gaussian").fit(
        X, y, V
    ),
}
for name, model in models.items():
    certificate = model.certificate_
    print(
        f"{name:20s} objective {certificate.objective:8.3f}, "
        f"duality gap {certificate.gap:.0e}, "
        f"risk bounded for {model.bounded_share_:.1%}"
    )

# %%
# Measure again
# -------------
# How many diagnoses change when the tumours are measured again within their error
# bars, and for how many is it *proved* that they change with probability at most 10 %?
# The caution costs accuracy on the measurements as they are.
rng = np.random.default_rng(0)
for name, model in models.items():
    first = model.predict(X_test)
    changes = [
        np.mean(model.predict(rng.normal(X_test, np.sqrt(V_test))) != first)
        for _ in range(100)
    ]
    bounds = model.error_probability_bound(X_test, V_test, bound="moments")
    print(
        f"{name:20s} accuracy {model.score(X_test, y_test):.3f}, "
        f"{np.mean(changes):.2%} change, "
        f"{np.mean(bounds <= 0.1):.1%} proved stable"
    )

# %%
# Two features, with the ellipses that must stay clear of the margin
# ------------------------------------------------------------------
# The constraint asks that the ellipse of ``kappa = 3`` standard deviations lies beyond
# the margin, or pays for it with slack.
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
shown = rng.choice(len(y), size=80, replace=False)
for ax, scale, title in zip(axes, (0.0, 1.0), ("ignored", "used"), strict=True):
    model = ChanceConstrainedSVC(standardize=True).fit(X[:, :2], y, scale * V[:, :2])
    MarginDisplay.from_estimator(
        model, X[shown, :2], y[shown], covariances=9.0 * V[shown, :2], ax=ax
    )
    ax.set_title(f"error bars {title}")
    ax.set_xlabel(data.feature_names[0])
    ax.set_ylabel(data.feature_names[1])
plt.show()

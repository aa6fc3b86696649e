"""
==================================================
Missing values: imputed, with what is not known
==================================================

Filling a hole with its conditional mean pretends to know the value. Under a normal
model the conditional *covariance* says how well it is known: zero for the features
that were measured, large where the others say little. That is one covariance for each
sample, just what :class:`widemargin.ChanceConstrainedSVC` takes.
"""

# %%
# Iris with a third of the values removed
# ---------------------------------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold

from widemargin import ChanceConstrainedSVC, ConditionalGaussian
from widemargin.display import MarginDisplay

X, y = load_iris(return_X_y=True)
X, y = X[y > 0], y[y > 0]  # versicolor against virginica
rng = np.random.default_rng(0)
holes = rng.random(X.shape) < 0.35
holes[np.arange(len(X)), rng.integers(X.shape[1], size=len(X))] = False


# %%
# Conditional mean and covariance
# -------------------------------
# One call finds the normal distribution of incomplete rows, another gives each row its
# mean and a factor of its covariance, given what was measured.
X[holes] = np.nan
means, factors = ConditionalGaussian.of(X).moments(X)
print(f"row 0: {X[0]} becomes {means[0].round(2)}")


# %%
# Does it help?
# -------------
# Both models see the same imputed means; only one is told how uncertain they are. The
# accuracy is no better for it: the holes are spread evenly, so that the boundary is
# where it would be without them. What is gained is knowledge about single samples:
# how many predictions hold with probability 90 %, whatever the missing values are.
scores = {"covariances ignored": [], "covariances used": []}
proved = {name: [] for name in scores}
for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
    rows = ConditionalGaussian.of(X[train])
    train_means, train_factors = rows.moments(X[train])
    test_means, test_factors = rows.moments(X[test])
    for name, scale in (("covariances ignored", 0.0), ("covariances used", 1.0)):
        model = ChanceConstrainedSVC(risk=0.3)
        model.fit(train_means, y[train], covariance_factor=scale * train_factors)
        assert model.certificate_.gap <= 1e-6 * model.certificate_.objective
        scores[name].append(model.score(test_means, y[test]))
        bounds = model.error_probability_bound(
            test_means, covariance_factor=test_factors
        )
        proved[name].append(np.mean(bounds <= 0.1))
for name, values in scores.items():
    print(
        f"{name}: accuracy {np.mean(values):.3f} (deviation {np.std(values):.3f}), "
        f"proved for {np.mean(proved[name]):.1%} of the samples"
    )

# %%
# Two features
# ------------
# A sample whose petal length is missing is a line along which it may lie.
pair = [2, 3]
small = factors[:, pair]
ellipses = small @ small.transpose(0, 2, 1)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, scale, title in zip(axes, (0.0, 1.0), ("ignored", "used"), strict=True):
    model = ChanceConstrainedSVC(risk=0.3)
    model.fit(means[:, pair], y, covariance_factor=scale * small)
    MarginDisplay.from_estimator(
        model, means[:, pair], y, covariances=ellipses, ax=ax, plot_support=False
    )
    ax.set_title(f"covariances {title}")
    ax.set_xlabel("petal length")
    ax.set_ylabel("petal width")
plt.show()

"""
nu: a share of the samples
==========================

At most a share nu of the samples lies outside the tube of a `NuSVR`, or misses the
margin of a `NuSVC`, and at least a share nu are support vectors.
"""

# %%
# Three regressions: nu is given, the width of the tube is found.
import matplotlib.pyplot as plt
import numpy as np

from widemargin import NuSVC, NuSVR
from widemargin.display import BandDisplay, MarginDisplay

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, 150))[:, None]
y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(150)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", sharey=True)
for axis, nu in zip(axes, (0.1, 0.3, 0.7), strict=True):
    model = NuSVR(nu=nu, C=10, gamma=0.5).fit(X, y)
    outside = np.mean(np.abs(y - model.predict(X)) > model.epsilon_ + 1e-9)
    print(f"nu {nu}: epsilon {model.epsilon_:.3f}, outside {outside:.1%}")
    BandDisplay.from_estimator(model, X, y, ax=axis)
    axis.set_title(f"nu {nu}: {outside:.0%} outside, epsilon {model.epsilon_:.2f}")
plt.show()

# %%
# Three classifiers: at most a share nu of margin errors, at least a share nu of
# support vectors.
points = rng.standard_normal((400, 2))
noise = 0.4 * rng.standard_normal(400)
labels = np.where(points[:, 0] + 0.5 * points[:, 1] ** 2 - 0.4 + noise > 0, 1, -1)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
for axis, nu in zip(axes, (0.25, 0.4, 0.7), strict=True):
    classifier = NuSVC(nu=nu).fit(points, labels)
    errors = np.mean(labels * classifier.decision_function(points) < 1 - 1e-9)
    support = classifier.support_.size / 400
    print(f"nu {nu}: margin errors {errors:.1%}, support vectors {support:.1%}")
    MarginDisplay.from_estimator(classifier, points, labels, ax=axis)
    axis.set_title(f"nu {nu}: {errors:.0%} margin errors, {support:.0%} SVs")
plt.show()

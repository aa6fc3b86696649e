"""
A share in the place of a price
===============================

nu is a share of the samples: at most so many lie outside the tube of a `NuSVR`, or
within the margin of a `NuSVC`, and at least so many are support vectors.
"""

# %%
# Three tubes. The width is found, the share outside was asked for.
import matplotlib.pyplot as plt
import numpy as np

from widemargin import NuSVC, NuSVR

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, 150))[:, None]
y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(150)
figure, axes = plt.subplots(1, 4, figsize=(14, 3.2), layout="constrained")
for axis, nu in zip(axes, (0.1, 0.3, 0.7), strict=False):
    model = NuSVR(nu=nu, C=10, gamma=0.5).fit(X, y)
    line, width = model.predict(X), model.epsilon_
    outside = np.mean(np.abs(y - line) > width + 1e-9)
    print(f"nu {nu}: epsilon {width:.3f}, outside {outside:.1%}")
    axis.fill_between(X[:, 0], line - width, line + width, alpha=0.25)
    axis.plot(X[:, 0], line)
    axis.plot(X[:, 0], y, ".", markersize=3, color="black")
    axis.set_title(f"nu {nu}: {outside:.0%} outside, epsilon {width:.2f}")

# %%
# The same promise for a classifier: margin errors below nu, support vectors above it.
points = rng.standard_normal((400, 2))
noise = 0.4 * rng.standard_normal(400)
labels = np.where(points[:, 0] + 0.5 * points[:, 1] ** 2 - 0.4 + noise > 0, 1, -1)
shares = np.linspace(0.25, 0.7, 10)
errors, support = [], []
for nu in shares:
    classifier = NuSVC(nu=nu).fit(points, labels)
    margins = labels * classifier.decision_function(points)
    errors.append(np.mean(margins < 1 - 1e-9))
    support.append(classifier.support_.size / 400)
axes[-1].plot(shares, shares, ":", color="grey", label="nu")
axes[-1].plot(shares, support, ".-", label="support vectors")
axes[-1].plot(shares, errors, ".-", label="margin errors")
axes[-1].set(title="NuSVC", xlabel="nu", ylabel="share of the samples")
axes[-1].legend()
plt.show()

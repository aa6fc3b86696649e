"""
A boundary around the normal samples
=====================================

A one-class SVM encloses most samples; ``nu`` bounds the share that is left outside.
"""

# %%
# Two groups of normal samples, and a few that belong to neither.
import matplotlib.pyplot as plt
import numpy as np

from widemargin import OneClassSVM
from widemargin.display import MarginDisplay

rng = np.random.default_rng(0)
normal = np.concatenate(
    [0.4 * rng.standard_normal((200, 2)) + 1.5, 0.4 * rng.standard_normal((200, 2))]
)
X = np.concatenate([normal, rng.uniform(-3, 4.5, (20, 2))])

# %%
# At most a share nu of the training samples lies outside.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for axis, nu in zip(axes, (0.02, 0.05, 0.2), strict=True):
    model = OneClassSVM(nu=nu, gamma=1.0).fit(X)
    outside = np.mean(model.predict(X) == -1)
    print(f"nu {nu}: {outside:.3f} outside, {model.certificate_.status}")
    MarginDisplay.from_estimator(model, X, ax=axis, plot_support=False)
    axis.set_title(f"nu = {nu}: {outside:.1%} outside")
plt.show()

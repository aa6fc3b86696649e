"""
The width of the tube
=====================

Errors within the tube are free: the wider it is, the fewer support vectors there are.
"""

# %%
# The same data, three tubes.
import matplotlib.pyplot as plt
import numpy as np

from widemargin import SVR
from widemargin.display import BandDisplay

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, 120))[:, None]
y = np.sin(X[:, 0]) + 0.15 * rng.standard_normal(120)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained", sharey=True)
for axis, epsilon in zip(axes, (0.0, 0.2, 0.5), strict=True):
    model = SVR(C=10, gamma=0.5, epsilon=epsilon).fit(X, y)
    print(epsilon, model.n_support_[0], f"gap {model.certificate_.gap:.1e}")
    BandDisplay.from_estimator(model, X, y, ax=axis)
    axis.set_title(f"epsilon {epsilon}: {model.n_support_[0]} support vectors")
plt.show()

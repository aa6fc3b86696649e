"""
A band of quantiles
===================

Nine quantiles in one fit: the band widens where the noise does. Sorting each row
removes crossings.
"""

# %%
# The spread of the noise grows with the feature.
import matplotlib.pyplot as plt
import numpy as np

from widemargin import QuantileSVR
from widemargin.display import BandDisplay

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 6, 400))[:, None]
y = np.sin(X[:, 0]) + 0.1 * X[:, 0] * rng.standard_normal(400)
levels = np.arange(1, 10) / 10
model = QuantileSVR(quantile=levels, C=10, gamma=0.5, non_crossing=True).fit(X, y)

# %%
# A share q of the targets lies below the predicted quantile q, and each fit is
# certified by itself.
below = (y[:, None] <= model.predict(X)).mean(axis=0)
for q, share, certificate in zip(levels, below, model.certificate_, strict=True):
    print(f"{q:.1f}  {share:.3f}  gap {certificate.gap:.1e}  {certificate.status}")

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
BandDisplay.from_estimator(model, X, y, ax=axis)
plt.show()

"""
What the certificate says
=========================

A fit that is stopped early says how far it still was: the objective reached, a lower
bound that no model can beat, and the gap between the two.
"""

# %%
# The same problem, with more and more pair steps allowed.
import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC
from widemargin.display import HistoryDisplay, MarginDisplay

X, y = make_moons(2500, noise=0.25, random_state=0)
limits = [25, 50, 100, 200, 400, 800, 1600, 3200]
gaps, models = [], []
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for limit in limits:
        model = SVC(C=10, gamma=2, max_iter=limit, random_state=0).fit(X, y)
        gaps.append(model.certificate_.gap / model.certificate_.objective)
        models.append(model)
        print(limit, model.certificate_.status, f"{gaps[-1]:.2e}")

# %%
# The gap bounds how much better any model could be. It needs no exact solution to
# compare with, so it is there after every fit.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
MarginDisplay.from_estimator(models[0], X, y, ax=axes[0], plot_support=False)
axes[0].set_title(f"{limits[0]} steps: {gaps[0]:.0%} from optimal")
MarginDisplay.from_estimator(models[-1], X, y, ax=axes[1], plot_support=False)
axes[1].set_title(f"{limits[-1]} steps: {gaps[-1]:.1e}")
curves = {"relative gap": (limits, gaps)}
HistoryDisplay(curves, "pair steps allowed", "certified relative gap").plot(
    ax=axes[2], log=True, log_x=True
)
plt.show()

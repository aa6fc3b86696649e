"""
==============================================
Streaming and forgetting: always the full fit
==============================================

Rows arrive in chunks (``partial_fit``) and leave on request (``forget``). After each
call the model is exactly that of ``fit`` on the live rows: the pictures show how long
an update and a full retrain take, and by how much their decision values differ.
"""

# %%
# A stream of chunks, against a full retrain
# ------------------------------------------
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from widemargin import CostSensitiveSVC
from widemargin.display import HistoryDisplay

X, y = make_classification(
    3400, 10, n_informative=5, weights=[0.7], flip_y=0.3, random_state=0
)
# Exact on both sides: above 2,000 rows a plain fit ends at tol.
settings = {"gamma": 0.01, "cost_positive": 4.0, "cost_negative": 1.5, "polish": True}
model = CostSensitiveSVC(keep_rows=True, **settings).fit(X[:3000], y[:3000])
sizes, updates, retrains, differences = [], [], [], []


def compare(live):
    """Note how long the last update took, a retrain takes, and how far they differ.

    The retrain gives a new model all live rows at once, to the same accuracy.
    """
    begun = time.perf_counter()
    again = CostSensitiveSVC(**settings).partial_fit(X[live], y[live], classes=[0, 1])
    retrains.append(1e3 * (time.perf_counter() - begun))
    updates.append(1e3 * model.history_[-1]["seconds"])
    sizes.append(len(live))
    gap = np.abs(model.decision_function(X) - again.decision_function(X)).max()
    differences.append(max(float(gap), 1e-17))


def draw(update):
    """Draw the times of both, and the differences, against the live rows."""
    _, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    times = {update: (sizes, updates), "full retrain": (sizes, retrains)}
    HistoryDisplay(times, "live rows", "milliseconds").plot(ax=axes[0], log=True)
    apart = {"decision values": (sizes, differences)}
    display = HistoryDisplay(apart, "live rows", "largest difference")
    display.plot(ax=axes[1], log=True)
    return axes


for start in range(3000, 3400, 25):
    model.partial_fit(X[start : start + 25], y[start : start + 25])
    compare(np.arange(start + 25))

draw("partial_fit of 25 rows")
print(f"largest difference from a retrain: {max(differences):.1e}")

# %%
# People leave
# ------------
# Every row has an id (here the running number); ``forget`` takes them out along the
# exact path. Nothing of them stays in the object: not a row, not a coefficient, not a
# longer array.
sizes, updates, retrains, differences = [], [], [], []
leaving = np.random.default_rng(0).permutation(3400)[:400]
for start in range(0, 400, 25):
    model.forget(leaving[start : start + 25])
    compare(np.setdiff1d(np.arange(3400), leaving[: start + 25]))

for ax in draw("forget 25 rows"):
    ax.invert_xaxis()
steps = [record["steps"] for record in model.history_ if record["stage"] == "forget"]
print(f"path steps to forget 25 rows: {min(steps)} to {max(steps)}")
print(f"largest difference from a retrain: {max(differences):.1e}")
plt.show()

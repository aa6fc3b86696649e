"""
A window over a stream that changes
===================================

Two classes whose boundary turns round slowly. A model that keeps all rows it has seen
learns the average of the past; a window keeps the last 200. Each chunk is one update:
new rows enter, the oldest leave, and the model is that of a new fit on the window.
"""

# %%
# A stream: 120 chunks of 10 rows; the boundary turns by half a circle.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

from widemargin import SVC
from widemargin.display import HistoryDisplay

CHUNKS, ROWS, WINDOW = 120, 10, 200
rng = np.random.default_rng(0)
angles = np.repeat(np.linspace(0.0, np.pi, CHUNKS), ROWS)
X = rng.normal(size=(CHUNKS * ROWS, 2))
side = X[:, 0] * np.cos(angles) + X[:, 1] * np.sin(angles)
y = (side + 0.2 * rng.normal(size=len(side)) > 0).astype(int)

# %%
# Every chunk is answered before its labels are learnt.
models = {
    "all rows": (SVC(gamma=0.5), None),
    f"window of {WINDOW} rows": (SVC(gamma=0.5), WINDOW),
}
right = {name: [] for name in models}
for start in range(0, len(y), ROWS):
    chunk = slice(start, start + ROWS)
    for name, (model, window) in models.items():
        if start:
            right[name].append(model.score(X[chunk], y[chunk]))
        model.partial_fit(X[chunk], y[chunk], classes=[0, 1], window=window)

# %%
# The window is the fit on its rows, whichever way each update took: along the exact
# path or, where that is shorter, by a fit of the rows that are left.
model, _ = models[f"window of {WINDOW} rows"]
fresh = clone(model).fit(X[-WINDOW:], y[-WINDOW:])
difference = np.abs(model.decision_function(X) - fresh.decision_function(X)).max()
routes = [record["route"] for record in model.history_ if "route" in record]
print(f"difference to a new fit on the window: {difference:.0e}")
print({route: routes.count(route) for route in sorted(set(routes))})

# %%
curves = {}
for name, shares in right.items():
    smooth = np.convolve(shares, np.ones(20) / 20, mode="valid")
    curves[name] = (np.arange(smooth.size) + 20, smooth)
figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
HistoryDisplay(curves, "chunk", "accuracy of the last 20 chunks").plot(ax=axis)
plt.show()

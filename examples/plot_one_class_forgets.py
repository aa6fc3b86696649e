"""
A boundary that forgets
=======================

A one-class model of normal operation whose rows come and go: a machine gets a second
mode, an early fault turns out to be among the training rows, an old mode is retired.
After each step the boundary is that of a new fit on the live rows.
"""

# %%
# Normal operation, with three rows among it that were a fault nobody knew of.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

from widemargin import OneClassSVM
from widemargin.display import MarginDisplay

rng = np.random.default_rng(0)
first = 0.4 * rng.standard_normal((150, 2))
second = 0.4 * rng.standard_normal((150, 2)) + [2.2, 1.2]
faults = np.array([[-1.6, 1.9], [-1.5, 2.0], [-1.7, 2.1]])
rows = {f"first {i}": row for i, row in enumerate(first)}
rows |= {f"fault {i}": row for i, row in enumerate(faults)}
everything = np.concatenate([first, second, faults])

# %%
# Every step is exact: compare with a fit from nothing.
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
model = OneClassSVM(nu=0.02, gamma=0.8).fit(np.array(list(rows.values())), ids=[*rows])


def show(axis, title):
    """Draw the boundary, and say how far it is from that of a new fit."""
    live = np.array(list(rows.values()))
    fresh = clone(model).fit(live)
    difference = np.abs(model.decision_function(live) - fresh.decision_function(live))
    print(f"{title}: {len(live)} rows, difference to a new fit {difference.max():.0e}")
    MarginDisplay.from_estimator(
        model, live, around=everything, ax=axis, plot_support=False
    )
    axis.set_title(title)


show(axes[0], "normal, and a fault among it")
model.forget(["fault 0", "fault 1", "fault 2"])
rows = {name: row for name, row in rows.items() if not name.startswith("fault")}
show(axes[1], "the fault is forgotten")
new = {f"second {i}": row for i, row in enumerate(second)}
model.partial_fit(np.array(list(new.values())), ids=[*new])
rows |= new
show(axes[2], "a second mode")
model.forget([name for name in rows if name.startswith("first")])
rows = {name: row for name, row in rows.items() if name.startswith("second")}
show(axes[3], "the first is retired")
plt.show()

"""
=========================================
Costs: what C+ and C- do to the boundary
=========================================

A miss of the positive class costs more than a false alarm. ``cost_positive`` (C+)
raises the price of positive samples inside the margin: at C- = 1 that is the SVM with
two costs, also known as class weights. ``cost_negative`` (C-) above 1 moves the margin
of the negative class in, from -1 to -1/(2C- - 1), so that the boundary leaves the
positive class more room even where the classes can be separated.
"""

# %%
# The plain SVM, two costs, and the moved margin
# ----------------------------------------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from widemargin import SVC, CostSensitiveSVC
from widemargin.display import ComparisonDisplay, MarginDisplay

X, y = make_blobs([140, 60], centers=[[-1.2, 0], [1.2, 0]], random_state=0)
models = {
    "C+ = C- = 1: the plain SVM": CostSensitiveSVC(kernel="linear"),
    "C+ = 5, C- = 1: two costs": CostSensitiveSVC(kernel="linear", cost_positive=5),
    "C+ = 15, C- = 2: margin at -1/3": CostSensitiveSVC(
        kernel="linear", cost_positive=15, cost_negative=2
    ),
}
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    MarginDisplay.from_estimator(model, X, y, plot_support=False, ax=ax)
    misses = np.mean(model.predict(X[y == 1]) == 0)
    alarms = np.mean(model.predict(X[y == 0]) == 1)
    ax.set_title(f"{name}\nmisses {misses:.0%}, false alarms {alarms:.0%}")

# %%
# On separable data class weights do nothing; C- does
# ---------------------------------------------------
# Where no sample lies inside the margin, no price is ever paid, and class weights
# cannot move the boundary. The moved margin can.
far, labels = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
costs = {
    "SVC": SVC(C=1e4, kernel="linear"),
    "class weight 15": SVC(C=1e4, kernel="linear", class_weight={1: 15}),
    "C+ = 15, C- = 2": CostSensitiveSVC(
        C=1e4, kernel="linear", cost_positive=15, cost_negative=2
    ),
    "C+ = 45, C- = 8": CostSensitiveSVC(
        C=1e4, kernel="linear", cost_positive=45, cost_negative=8
    ),
}
boundaries = []
for name, model in costs.items():
    model.fit(far, labels)
    boundaries.append(float(-model.intercept_[0] / model.coef_[0, 0]))
    print(f"{name}: the boundary lies at {boundaries[-1]:.3f} between 1 and 4")
figure, ax = plt.subplots(figsize=(6, 2.5), layout="constrained")
display = ComparisonDisplay(
    list(costs), boundaries, quantity="boundary between the classes at 1 and 4"
)
display.plot(ax=ax)
plt.show()

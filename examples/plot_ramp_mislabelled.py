"""
=====================================
Ramp loss: a boundary that forgives
=====================================

A few labels are wrong. The hinge loss grows without bound, so every wrong label bends
the boundary towards itself; the ramp loss is flat beyond the margin ``s``, so a sample
that far on the wrong side stops pulling and is listed in ``suspects_``, the most
doubtful first: a list to give to a person who can check labels.
"""

# sphinx_gallery_thumbnail_number = 2

# %%
# A label auditor
# ---------------
# Handwritten digits, one label in five wrong. `RampSVC` as it comes, but for the
# kernel. The suspects are checked by a person (here: the labels before they were
# spoilt), and the model is fitted again; after three rounds there is little left to
# suspect.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, RampSVC
from widemargin.display import ImageDisplay, MarginDisplay

rng = np.random.default_rng(0)
pictures, later, right, right_later = train_test_split(
    *load_digits(return_X_y=True), test_size=0.4, random_state=0
)
scaler = StandardScaler().fit(pictures)
digits, digits_later = scaler.transform(pictures), scaler.transform(later)
spoilt = rng.choice(len(right), size=len(right) // 5, replace=False)
given = right.copy()
given[spoilt] = (right[spoilt] + rng.integers(1, 10, size=len(spoilt))) % 10
plain = SVC(kernel="linear").fit(digits, given)
print(f"{len(spoilt)} labels wrong; SVC: {plain.score(digits_later, right_later):.3f}")

checked = np.zeros(len(right), dtype=bool)
for round_ in range(3):
    auditor = RampSVC(kernel="linear").fit(digits, given)
    suspects = auditor.suspects_[~checked[auditor.suspects_]]
    wrong = (given != right)[suspects]
    print(
        f"round {round_}: accuracy {auditor.score(digits_later, right_later):.3f}, "
        f"{len(suspects)} suspects to check, {wrong.sum()} of them wrong"
    )
    if round_ == 0:
        titles = [f"{given[row]}" for row in suspects[:12]]
        strip = ImageDisplay(pictures[suspects[:12]], (8, 8), titles=titles)
        _, axis = plt.subplots(figsize=(10, 1.3), layout="constrained")
        strip.plot(ax=axis, cmap="gray_r")
    checked[suspects] = True
    given[suspects] = right[suspects]

# %%
# Above, the first twelve suspects with the labels they were given.

# %%
# Two moons, 15 % of the labels flipped, and as they were
# -------------------------------------------------------
X, clean = make_moons(300, noise=0.15, random_state=0)
flipped = rng.choice(300, size=45, replace=False)
y = clean.copy()
y[flipped] = 1 - y[flipped]

# %%
# The plain SVM, the ramp loss from the SVM's own solution, and by default
# ------------------------------------------------------------------------
# The procedure finds a stationary point, not the global minimum. Started at the plain
# SVM it often stays near it; by default it starts without the samples that
# cross-validation gets wrong, and takes back those that the model without them does not
# put below ``s``. The moons hardly overlap, so that nearly every misclassified sample
# is a wrong label: ``s=0`` gives up all of them, which is bolder than the default.
settings = {"C": 100.0, "gamma": 2.0}
models = {
    "SVC": SVC(**settings),
    "RampSVC, init='svm'": RampSVC(s=0.0, init="svm", **settings),
    "RampSVC": RampSVC(s=0.0, **settings),
}
X_test, y_test = make_moons(2000, noise=0.15, random_state=1)
labels = {"15 % flipped": y, "clean labels": clean}
figure, axes = plt.subplots(2, 3, figsize=(12, 8), layout="constrained")
for row, (kind, given) in zip(axes, labels.items(), strict=True):
    for ax, (name, model) in zip(row, models.items(), strict=True):
        model.fit(X, given)
        suspects = getattr(model, "outliers_", np.array([], dtype=int))
        MarginDisplay.from_estimator(
            model, X, given, suspects=suspects, plot_support=False, ax=ax
        )
        accuracy = model.score(X_test, y_test)
        ax.set_title(f"{name}\n{kind}, test accuracy {accuracy:.3f}")
        caught = len(np.intersect1d(suspects, np.flatnonzero(given != clean)))
        print(f"{name}, {kind}: {len(suspects)} suspects, {caught} of them flipped")

# %%
# Above, the margins of the plain SVM (dashed) bend round the wrong labels; those of the
# ramp loss do not. Below, where every label is right, the three boundaries nearly agree
# where there are samples.

# %%
# How ``s`` acts
# --------------
# ``s`` is the margin below which a sample is given up: 0 gives up every misclassified
# sample, -1, the default, only those farther on the wrong side than a support vector is
# on the right one, and ``-inf`` none, which is the plain SVM.
for s in (0.0, -0.5, -1.0, -2.0, -np.inf):
    model = RampSVC(s=s, **settings).fit(X, y)
    caught = len(np.intersect1d(model.outliers_, flipped))
    print(
        f"s = {s:5}: {len(model.outliers_):3d} suspects, {caught:2d} flips among them, "
        f"test accuracy {model.score(X_test, y_test):.3f}"
    )

# %%
# Why ``s=0`` is not the default
# ------------------------------
# Twelve samples of a rare class beside 400 that overlap with it, every label right. The
# SVM misclassifies most of the twelve, and ``s=0`` would give them up, so that of the
# class nothing is left. The fit warns of it and keeps the model before that step.
rare, kind = make_blobs([400, 12], centers=[[0.0, 0.0], [2.0, 0.0]], random_state=0)
for name, model in {
    "SVC": SVC(),
    "RampSVC, s=0": RampSVC(s=0.0),
    "RampSVC, s=-1": RampSVC(s=-1.0),
}.items():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rare, kind)
    found = (model.predict(rare[kind == 1]) == 1).sum()
    print(
        f"{name}: {len(getattr(model, 'outliers_', []))} suspects, "
        f"{found} of the 12 rare samples found"
    )
    for warning in caught:
        print(f"  warning: {warning.message}")

# %%
# Where it does not help
# ----------------------
# A chessboard of five by five, every label right. Models of a part of the samples get
# the edges of the squares wrong, and ``s=0`` gives up some of those; the smooth models
# at the start of ``init="continuation"`` get whole squares wrong. Far too many suspects
# are the sign; ``s=-1`` gives up fewer, the plain SVM none.
squares = rng.uniform(size=(3000, 2))
colours = np.floor(5 * squares).sum(axis=1) % 2
settings = {"C": 10.0, "gamma": 20.0}
for name, model in {
    "SVC": SVC(**settings),
    "RampSVC, init='svm', s=0": RampSVC(s=0.0, init="svm", **settings),
    "RampSVC, init='continuation', s=0": RampSVC(
        s=0.0, init="continuation", **settings
    ),
    "RampSVC, s=0": RampSVC(s=0.0, **settings),
    "RampSVC, s=-1": RampSVC(s=-1.0, **settings),
}.items():
    model.fit(squares[:600], colours[:600])
    print(
        f"{name}: {len(getattr(model, 'outliers_', []))} suspects of 600, "
        f"test accuracy {model.score(squares[600:], colours[600:]):.3f}"
    )
plt.show()

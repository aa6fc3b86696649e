"""Small data against scikit-learn: fit, grid, and predictions of one and of many rows.

The other members of the family are fitted on 50 to 600 rows of diabetes and of breast
cancer, which have an estimator of the same name there.

Ours and theirs in turn, the minimum of several repeats each, in processor time of all
threads and in wall time: fixed costs decide here, and a mean would be the machine's.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale

import widemargin
from widemargin_papers.harness.text_tables import layout

SETS: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "wine": load_wine,
    "digits": load_digits,
    "breast cancer": load_breast_cancer,
}
GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}  # 12 settings
FAMILY: dict[str, dict[str, Any]] = {  # the estimator, and its settings
    "SVR": {},
    "NuSVR": {"nu": 0.5},
    "NuSVC": {"nu": 0.2},
    "OneClassSVM": {"nu": 0.1},
}
ROWS = [50, 150, 200, 600]
MANY = 1000  # rows of the longer prediction
SECONDS = 0.4  # of repeats, of either side
HEADER = ["set", "what", "ours ms", "theirs ms", "ratio", "ratio, wall"]


def small_table(only: str = "") -> str:
    """Return the table of the sets whose name contains `only`."""
    rows: list[list[str]] = []
    for name in SETS:
        if only in name:
            rows += _rows(name)
    for name in FAMILY:
        if only in name:
            rows += _family_rows(name)
    return layout(HEADER, rows)


def _family_rows(name: str) -> list[list[str]]:
    """Compare the fits of one member of the family on more and more rows."""
    classifies = name == "NuSVC"
    X, y = (load_breast_cancer if classifies else load_diabetes)(return_X_y=True)
    X, y = np.ascontiguousarray(scale(X)), y if classifies else scale(y)
    makers = [
        partial(getattr(package, name), **FAMILY[name])
        for package in (widemargin, sklearn.svm)
    ]
    rows = []
    for n in dict.fromkeys(min(n, y.size) for n in ROWS):
        tasks = [partial(_fit, make, X[:n], y[:n]) for make in makers]
        rows.append([name, f"fit {n} rows", *_compared(*tasks)])
    return rows


def _rows(name: str) -> list[list[str]]:
    X, y = SETS[name](return_X_y=True)
    X = np.ascontiguousarray(X / 16.0 if name == "digits" else scale(X))
    makers = widemargin.SVC, sklearn.svm.SVC
    models = [make().fit(X, y) for make in makers]
    one, many = X[:1], np.ascontiguousarray(np.resize(X, (MANY, X.shape[1])))

    tasks: dict[str, list[Callable[[], Any]]] = {
        "fit": [partial(_fit, make, X, y) for make in makers],
        "grid of 12 x 5": [partial(_search, make, X, y) for make in makers],
        "predict 1 row": [partial(model.predict, one) for model in models],
        f"predict {MANY}": [partial(model.predict, many) for model in models],
    }
    return [[name, what, *_compared(*pair)] for what, pair in tasks.items()]


def _fit(make: Any, X: Any, y: Any) -> None:
    make().fit(X, y)


def _search(make: Any, X: Any, y: Any) -> None:
    GridSearchCV(make(), GRID, cv=5).fit(X, y)


def _compared(ours: Callable[[], Any], theirs: Callable[[], Any]) -> list[str]:
    """Return least processor times, their ratio, and the ratio of wall times."""
    least = [[np.inf, np.inf], [np.inf, np.inf]]
    begun = time.perf_counter()
    repeats = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while repeats < 2 or time.perf_counter() - begun < 2 * SECONDS:
            repeats += 1
            for side, call in enumerate((ours, theirs)):
                processor, wall = time.process_time(), time.perf_counter()
                call()
                spent = time.process_time() - processor, time.perf_counter() - wall
                least[side] = [
                    min(a, b) for a, b in zip(least[side], spent, strict=True)
                ]
    (own, own_wall), (their, their_wall) = least
    return [
        f"{1e3 * own:.3f}",
        f"{1e3 * their:.3f}",
        f"{their / own:.2f}x",
        f"{their_wall / own_wall:.2f}x",
    ]

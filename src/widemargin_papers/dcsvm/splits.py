"""The data sets of the divide-and-conquer paper, split and scaled as it has them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from widemargin_papers.harness.datasets import (
    load_census,
    load_dense,
    scale_to_interval,
)
from widemargin_papers.harness.timing import processor_seconds

FILES = {
    "ijcnn1": ("ijcnn1", "ijcnn1.t"),
    "covtype": ("covtype.binary",),
    "census": ("census-income.data.csv",),
}
TRAINING_ROWS = {"covtype": 464_810, "census": 159_619}  # the paper's Table 3


@dataclass(frozen=True)
class Split:
    """Training and test rows with labels -1 and +1."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


@lru_cache(maxsize=1)
def load(name: str) -> Split:
    """Load a data set whole: ijcnn1 as it is split, the others 80% to 20% at random."""
    if name == "ijcnn1":
        X, y = load_dense("ijcnn1", n_features=22)
        Z, t = load_dense("ijcnn1.t", n_features=22)
        return Split(X, y, Z, t)
    if name == "covtype":
        X, labels = load_dense("covtype.binary", n_features=54)
        samples: Any = scale_to_interval(X)
        y = np.where(labels == 1, 1.0, -1.0)
    else:
        samples, y = load_census()
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.split(order, [TRAINING_ROWS[name]])
    return Split(samples[train], y[train], samples[test], y[test])


def subset(name: str, n: int | None, n_test: int | None = None) -> Split:
    """Load the first n training rows (they are in random order), and all test rows."""
    whole = load(name)
    rows: Any = slice(n)
    if name == "ijcnn1" and n is not None:  # its file is not in random order
        rows = np.random.default_rng(0).permutation(len(whole.y))[:n]
    test = slice(n_test)
    return Split(whole.X[rows], whole.y[rows], whole.X_test[test], whole.y_test[test])


def accuracy(model: Any, data: Split) -> float:
    """Per cent of the test rows that a model labels rightly."""
    return float(100 * np.mean(model.predict(data.X_test) == data.y_test))


def fit_seconds(model: Any, data: Split) -> tuple[float, Any]:
    """Return the processor seconds of a fit, and the fitted model."""
    return processor_seconds(lambda: model.fit(data.X, data.y))

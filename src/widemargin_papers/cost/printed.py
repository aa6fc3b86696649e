"""The settings of Gu et al. (2018); the paper prints curves and no numbers.

C = 1, C+ = 1, C- = 4; linear, quadratic (2 x'z + 1)^2 and Gaussian (gamma 1/4) kernels;
features in [0, 1]; 50 new samples enter models of growing size.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Kernel, make_kernel
from widemargin.engine.problem import DualProblem
from widemargin.estimators.cost_sensitive.costs import PairCosts, cost_problem
from widemargin_papers.harness.datasets import load_libsvm, scale_to_interval, subsample

Vector = NDArray[np.float64]

PRICES = PairCosts((1, 0), positive=1, cost_positive=1.0, cost_negative=4.0)
CHUNK = 50
OPTIONS: dict[str, dict[str, Any]] = {  # the kernels as an estimator names them
    "linear": {"kernel": "linear"},
    "quadratic": {"kernel": "poly", "degree": 2, "gamma": 2.0, "coef0": 1.0},
    "Gaussian": {"kernel": "rbf", "gamma": 0.25},
}
KERNELS = {
    name: make_kernel(**{"gamma": 1.0, "degree": 3, "coef0": 0.0} | options)
    for name, options in OPTIONS.items()
}
SIZES = (250, 500, 1000, 2000, 5000, 20000)
ROWS = {
    "abalone19": 4174,
    "covtype.binary": 20050,
    "ijcnn1": 20050,
    "page-blocks0": 5472,
    "segment0": 2308,
    "shuttle-c0-vs-c4": 1829,
    "svmguide3": 1243,
    "winequality-red-4": 1599,
    "yeast4": 1484,
}


def samples(name: str, trial: int) -> tuple[Vector, Vector]:
    """Return the data in a random order of its own for each trial."""
    X, y = _scaled(name)
    order = np.random.default_rng(trial).permutation(len(y))
    return np.ascontiguousarray(X[order]), y[order]


@lru_cache(maxsize=2)
def _scaled(name: str) -> tuple[Vector, Vector]:
    """Return the data with features in [0, 1] and labels -1 and +1."""
    X, y = load_libsvm(name)
    X, y = subsample(X, y, min(ROWS[name], len(y)), seed=0)
    scaled = np.ascontiguousarray(scale_to_interval(X))
    return scaled, np.where(y == y.max(), 1.0, -1.0)


def problem(X: Vector, y: Vector, kernel: Kernel, n: int) -> DualProblem:
    """Return the paper's problem on the first ``n`` rows."""
    gram = Gram(X[:n], kernel, threads=1)
    return cost_problem(gram, y[:n], 1.0, PRICES)

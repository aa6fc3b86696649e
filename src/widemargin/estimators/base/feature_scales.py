"""Whether features are on scales so far apart that a kernel sees only some of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from widemargin.engine.kernels import Gaussian, Kernel, Laplacian, Polynomial
from widemargin.numerics.sample_statistics import feature_ranges

SCALES_APART = 100.0  # ratio of ranges from which a scaler changes the model
STORED = 1 << 20  # values of a sparse matrix processed at a time


class ScaleWarning(UserWarning):
    """The scales of the features differ over 100-fold, and the kernel depends on them.

    Distances and products are those of the largest features then, and the others hardly
    count. Where the units are meant, ``warnings.simplefilter("ignore", ScaleWarning)``.
    """


def scale_ratio(X: Any) -> float:
    """Return the largest over the smallest range of the features that vary at all.

    For sparse samples, the ratio of the features' largest stored values.
    """
    if sparse.issparse(X):
        features, width = X.indices, X.shape[1]
        if width > features.size:  # most of them are empty
            features, width = np.unique(features, return_inverse=True)[1], features.size
        ranges = np.zeros(width)
        for start in range(0, X.data.size, STORED):
            part = slice(start, start + STORED)
            np.maximum.at(ranges, features[part], np.abs(X.data[part]))
        least = float(ranges.min(where=ranges > 0, initial=np.inf))
        largest = float(ranges.max(initial=0.0))
    else:
        largest, least = feature_ranges(X)
    return max(1.0, largest / least)


def warn_if_unscaled(X: Any, kernel: Kernel) -> None:
    """Warn of features on scales far apart, under a kernel that depends on them."""
    if not isinstance(kernel, Gaussian | Laplacian | Polynomial):
        return
    ratio = scale_ratio(X)
    if ratio > SCALES_APART:
        name = type(kernel).__name__
        # a power of ten: the folds of a search say the same, and Python says it once
        fold = 10 ** int(np.log10(min(ratio, 1e18)))
        warnings.warn(
            f"The scales of the features of X differ over {fold:,}-fold: the {name} "
            "kernel hardly sees the smaller ones. Put a StandardScaler or MinMaxScaler "
            "before the estimator, as in make_pipeline(StandardScaler(), SVC()).",
            ScaleWarning,
            stacklevel=2,
        )

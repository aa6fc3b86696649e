"""At most three hints, each only when it would change what a user does."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from widemargin.cli.files import Data

_SCALES_APART = 100.0
_DOMINANT = 0.95
# Early prediction takes time like n, the exact fit like n times its support vectors.
# The ratio of ten is reached between some 10^4 and some 10^5 rows, the later the fewer
# the support vectors: python benchmarks/command.py --print
_EARLY_PAYS = 100_000


def hints(
    content: Data, method: str, scale: str | None, parameters: dict[str, Any]
) -> list[str]:
    """Return what a friend would say before the training starts."""
    found = []
    if scale is None and parameters.get("kernel") != "precomputed":
        ratio = scale_ratio(content.X)
        if ratio > _SCALES_APART:
            found.append(
                f"the scales of the features differ {ratio:.0f}-fold: try --scale "
                "standard or --scale minmax"
            )
    if content.y is not None:
        labels, counts = np.unique(content.y, return_counts=True)
        share = counts.max() / counts.sum()
        if share > _DOMINANT and len(labels) > 1:
            found.append(
                f"{100 * share:.1f}% of the labels are {labels[counts.argmax()]}: look "
                "at --class-weight balanced, --method cost, and at more than accuracy"
            )
    kernel = parameters.get("kernel", "rbf")
    exact = method in ("svc", "dc") and parameters.get("prediction") != "early"
    if exact and kernel not in ("linear", "precomputed"):
        if content.X.shape[0] >= _EARLY_PAYS:
            found.append(
                f"with {content.X.shape[0]} rows, --method dc --prediction early is "
                "often ten times faster and nearly as accurate"
            )
    return found


def scale_ratio(X: Any) -> float:
    """Largest over smallest spread of the features that vary at all."""
    if sparse.issparse(X):
        spread = np.zeros(X.shape[1])
        for start in range(0, X.shape[0], 16384):  # bounded memory on big data
            most = abs(X[start : start + 16384]).max(axis=0).toarray()
            np.maximum(spread, most.ravel(), out=spread)
    else:
        spread = np.ptp(X, axis=0)
    varying = spread[spread > 0]
    return float(varying.max() / varying.min()) if len(varying) else 1.0

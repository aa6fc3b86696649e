"""LIBSVM, through scikit-learn's SVC on the kernel matrix: an independent answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

Vector = NDArray[np.float64]


def solve_libsvm(
    K: NDArray[np.float64], y: Vector, costs: Vector, tol: float = 1e-8
) -> tuple[Vector, Vector, float]:
    """Return LIBSVM's signed dual answer, decision values at the samples, intercept.

    ``y`` is -1 and +1, so scikit-learn's sign (positive: the larger label) is ours.
    """
    model = SVC(C=1.0, kernel="precomputed", tol=tol, cache_size=200, shrinking=False)
    model.fit(K, y, sample_weight=costs)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_.ravel()
    return beta, model.decision_function(K), float(model.intercept_[0])

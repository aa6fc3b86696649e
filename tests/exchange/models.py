"""Fitted models of every kind that has LIBSVM's form, and of every kernel of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_iris

import widemargin

from tests.problems import standard

IRIS, SPECIES = load_iris(return_X_y=True)
X = standard(IRIS) + 2.0  # away from 0: a plane can have most of it on one side
TWO = np.where(SPECIES == 1, 1, -1)
MORE = np.random.default_rng(5).normal(size=(200, 4)) * 1.5 + 2.0  # samples to predict
KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.3},
    "rbf": {"kernel": "rbf", "gamma": 0.4},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.05, "coef0": -0.2},
}
KINDS = {
    "two classes": (widemargin.SVC, TWO),
    "three classes": (widemargin.SVC, SPECIES),
    "ramp": (widemargin.RampSVC, np.where(SPECIES == 0, 1, -1)),
    "costs": (widemargin.CostSensitiveSVC, TWO),
    "divide": (widemargin.DivideConquerSVC, SPECIES),
    "nu": (widemargin.NuSVC, SPECIES),
    "nu regression": (widemargin.NuSVR, IRIS[:, 0]),
    "regression": (widemargin.SVR, IRIS[:, 0]),
    "quantile": (widemargin.QuantileSVR, IRIS[:, 0]),
    "one class": (widemargin.OneClassSVM, None),
}
NUMBERS_OUT = ("regression", "quantile", "nu regression")
SETTINGS: dict[str, dict[str, Any]] = {
    "costs": {"cost_positive": 3.0, "cost_negative": 1.5},
    "one class": {"nu": 0.2},
    "nu": {"nu": 0.9},
    "nu regression": {"nu": 0.6},
    "quantile": {"quantile": 0.8},
}


def fitted(kind: str, kernel: str, *, as_sparse: bool = False) -> Any:
    """Return a fitted model of a kind and a kernel."""
    estimator, target = KINDS[kind]
    settings = SETTINGS.get(kind, {}) | KERNELS[kernel]
    samples = sparse.csr_matrix(X) if as_sparse else X
    if target is None:
        return estimator(**settings).fit(samples)
    return estimator(**settings).fit(samples, target)


def values(model: Any, samples: Any) -> Any:
    """Return decision values, or predictions of a model without them."""
    if hasattr(model, "decision_function"):
        return model.decision_function(samples)
    return model.predict(samples)

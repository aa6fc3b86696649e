"""Random problems of regressors, one-class and nu machines, each from one number."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tests.campaigns.certificate_problems import (
    KERNELS,
    SHAPES,
    Case,
    drawn_labels,
    drawn_parameters,
    drawn_weights,
    samples_for,
)

NAMES = ("SVR", "NuSVR", "NuSVC", "OneClassSVM", "QuantileSVR")
ROUTES = (
    ["fit"] * 4 + ["steps", "seconds", "stream", "stream", "warm", "plain", "exact"]
)  # fmt: skip
INCREMENTAL = ("SVR", "OneClassSVM", "QuantileSVR")


def draw(seed: int) -> tuple[str, Case]:
    """Return the name of the estimator and problem number ``seed``."""
    rng = np.random.default_rng([seed, 3])
    name = NAMES[seed % len(NAMES)]
    route = str(rng.choice(ROUTES))
    if route == "stream" and name not in INCREMENTAL:
        route = "fit"
    least = 6 if name == "NuSVC" or route == "stream" else 1
    most = int(rng.choice([20, 60, 60, 300, 1200]))
    n = round(float(np.exp(rng.uniform(np.log(least), np.log(most)))))
    shape, kernel = str(rng.choice(SHAPES)), str(rng.choice(KERNELS))
    if route == "stream" and kernel == "precomputed":
        kernel = "callable"
    X, shape = samples_for(rng, n, shape, kernel)
    dense = kernel in ("callable", "precomputed")
    if not dense and rng.random() < 0.2:
        X = sparse.csr_matrix(X)
    classes = int(rng.choice([2, 2, 3])) if name == "NuSVC" else 0
    y = drawn_labels(rng, X, n, classes, shape) if classes else _targets(rng, X, n)
    pair = y if classes else np.arange(n) % 2
    weights = drawn_weights(rng, n, pair) if n > 1 and classes != 3 else None
    if route == "stream" and weights is not None:
        weights = np.maximum(weights, 1e-3)  # every row stays
    parameters = drawn_parameters(rng, "fit", kernel, shape) | _own(rng, y)
    if classes:  # as much as the smaller class allows, where classes have no weights
        sums = np.bincount(y, weights=weights)
        parameters["nu"] *= float(2 * sums.min() / (2 * sums.max() + sums.min()))
    return name, Case(seed, route, shape, X, y, weights, parameters)


def _targets(rng: np.random.Generator, X: Any, n: int) -> Any:
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, np.float64)
    score = dense[:, -1] - np.median(dense[:, -1])
    score = score / (float(np.std(score)) or 1.0)
    noise = float(rng.choice([0.0, 0.1, 1.0, 100.0]))
    y = np.sin(score) + noise * rng.normal(size=n)
    kind = rng.choice(["plain", "plain", "scaled", "whole", "constant", "far"])
    if kind == "scaled":
        y = y * 10.0 ** rng.uniform(-6, 6)
    elif kind == "whole":
        y = np.round(y)
    elif kind == "constant":
        y = np.full(n, float(rng.normal()))
    elif kind == "far":
        y = y + 10.0 ** rng.uniform(2, 9)
    return y


def _own(rng: np.random.Generator, y: Any) -> dict[str, Any]:
    """Draw what only some of these estimators have."""
    spread = float(np.std(y)) or 1.0
    narrow = spread * 10.0 ** rng.uniform(-6, 1)
    nu = [0.5, 1.0, 10.0 ** rng.uniform(-3, 0), rng.uniform(0, 1) or 0.5]
    tail = 10.0 ** rng.uniform(-6, -1)
    quantiles: list[Any] = [
        0.5, rng.uniform(0.05, 0.95), tail, 1 - tail, [0.1, 0.5, 0.9], [0.5, 0.5],
    ]  # fmt: skip
    return {
        "epsilon": float(rng.choice([0.1, 0.0, narrow, narrow])),
        "nu": float(nu[rng.integers(len(nu))]),
        "quantile": quantiles[rng.integers(len(quantiles))],
        "calibrate": False,  # the certificate is of the minimum
    }

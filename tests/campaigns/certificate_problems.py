"""Random training problems over the extremes, each from one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

ROUTES = (
    ["fit"] * 3 + ["cost", "ramp", "ramp", "divide", "levels", "several"]
    + ["stream", "warm"] + ["early", "steps", "seconds", "loose"] * 2
    + ["interrupted"] * 3 + ["dask"] * 2 + ["stall"] + ["strict"] * 2
)  # fmt: skip
SHAPES = (
    "normal", "unscaled", "duplicated", "near-duplicated", "constant", "far row",
    "far clusters", "offset", "one feature", "separable", "small",
)  # fmt: skip
KERNELS = (
    "linear", "poly", "rbf", "laplacian", "sigmoid", "precomputed", "callable",
)  # fmt: skip
HARD = ("unscaled", "offset", "far row", "far clusters")


def intersection(A: Any, B: Any) -> Any:
    """Histogram intersection; exact, and so exactly semidefinite, on whole numbers."""
    A, B = np.asarray(A, np.float64), np.asarray(B, np.float64)
    total = np.zeros((len(A), len(B)))
    for feature in range(A.shape[1]):
        total += np.minimum(A[:, feature, None], B[None, :, feature])
    return total


@dataclass(frozen=True, eq=False)
class Case:
    """One problem: samples, labels, weights, and what is to be done with them."""

    seed: int
    route: str
    shape: str
    X: Any
    y: Any
    weights: Any
    parameters: dict[str, Any]

    @property
    def kernel(self) -> str:
        """Name of the kernel."""
        kernel = self.parameters["kernel"]
        return kernel if isinstance(kernel, str) else "callable"

    @property
    def indefinite(self) -> bool:
        """Whether no lower bound can be proved: the kernel need not be semidefinite."""
        negative = self.parameters["coef0"] < 0.0
        return self.kernel == "sigmoid" or (self.kernel == "poly" and negative)

    @property
    def rng(self) -> np.random.Generator:
        """Generator for what the route itself draws."""
        return np.random.default_rng([self.seed, 1])


def draw(seed: int) -> Case:
    """Return problem number ``seed``."""
    rng = np.random.default_rng([seed, 0])
    route = ROUTES[seed % len(ROUTES)]
    least, most = {
        "interrupted": (600, 2500), "seconds": (100, 3000), "dask": (20, 800),
        "early": (10, 2000), "stream": (6, 300), "stall": (10, 300),
        "strict": (10, 100), "several": (8, 1500), "ramp": (2, 1000),
        "steps": (40, 2000),
    }.get(route, (2, 3000))  # fmt: skip
    n = round(float(np.exp(rng.uniform(np.log(least), np.log(most)))))
    shape = str(rng.choice(SHAPES))
    kernel = str(rng.choice(KERNELS))
    if route == "dask" and kernel in ("precomputed", "callable"):
        kernel = "rbf"
    if route in ("stream", "early") and kernel == "precomputed":
        kernel = "callable"
    if route in ("stall", "strict"):
        kernel = str(rng.choice(["linear", "poly", "laplacian", "rbf", "sigmoid"]))
    X, shape = samples_for(rng, n, shape, kernel)
    dense = route == "dask" or kernel in ("callable", "precomputed")
    if not dense and (rng.random() < 0.15 or (shape == "offset" and n % 2)):
        X = sparse.csr_matrix(X)
    classes = int(rng.integers(3, 5)) if route == "several" else 2
    y = drawn_labels(rng, X, n, classes, shape)
    parameters = drawn_parameters(rng, route, kernel, shape)
    weights = drawn_weights(rng, n, y) if route != "several" else None
    return Case(seed, route, shape, X, y, weights, parameters)


def samples_for(
    rng: np.random.Generator, n: int, shape: str, kernel: str
) -> tuple[Any, str]:
    """Draw samples that suit a kernel, some in float32; return what they are."""
    X = drawn_samples(rng, n, shape)
    if kernel in ("callable", "precomputed"):
        X = rng.integers(0, 64, size=(n, int(rng.integers(1, 6)))).astype(float)
        if kernel == "precomputed":
            X = X @ X.T  # below 2 ** 53, so exact, and exactly semidefinite
        return X, "whole numbers"
    if rng.random() < 0.25 and shape != "near-duplicated":
        X = X.astype(np.float32)
    return X, shape


def drawn_samples(rng: np.random.Generator, n: int, shape: str) -> Any:
    d = 1 if shape == "one feature" else int(rng.integers(2, 9))
    X = rng.normal(size=(n, d))
    if shape == "unscaled":
        X = X * 10.0 ** rng.uniform(-3, 4, size=d) + 10.0 ** rng.uniform(-2, 4, size=d)
    elif shape == "duplicated":
        X = X[rng.integers(0, max(1, n // 3), size=n)]
    elif shape == "near-duplicated":
        X = X[rng.integers(0, max(1, n // 3), size=n)]
        X = X + rng.normal(size=X.shape) * 10.0 ** rng.uniform(-15, -5)
    elif shape == "constant":
        X[:, : max(1, d - 1)] = rng.normal(size=max(1, d - 1)) * 100
        if rng.random() < 0.2:
            X[:] = X[0]
    elif shape == "far row":
        X[0] = 1e9
    elif shape == "far clusters":
        X[rng.random(n) < 0.5] += 2e7
    elif shape == "offset":
        X = X + 1e7
    elif shape == "small":
        X = X * 1e-6
    return X


def drawn_labels(
    rng: np.random.Generator, X: Any, n: int, classes: int, shape: str
) -> Any:
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, np.float64)
    score = dense[:, -1] - np.median(dense[:, -1])
    spread = float(np.std(score)) or 1.0
    noise = 0.0 if shape == "separable" else float(rng.choice([0.1, 1.0, 100.0]))
    ranks = np.argsort(np.argsort(score / spread + noise * rng.normal(size=n)))
    y = (ranks * classes) // n
    y[rng.permutation(n)[: min(n, classes)]] = np.arange(min(n, classes))
    first, second = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]
    if second > first:  # early rows of both, for streams
        y[[1, second]] = y[[second, 1]]
        y[[0, first]] = y[[first, 0]]
    return y


def drawn_weights(rng: np.random.Generator, n: int, y: Any) -> Any:
    kind = rng.choice(["none", "none", "mild", "wide", "some absent"])
    if kind == "none":
        return None
    if kind == "mild":
        return rng.uniform(0.5, 2.0, size=n)
    if kind == "wide":
        return 10.0 ** rng.uniform(-6, 6, size=n)
    weights = rng.uniform(0.5, 2.0, size=n) * (rng.random(n) < 0.8)
    weights[[np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]] = 1.0
    return weights


def drawn_parameters(
    rng: np.random.Generator, route: str, kernel: str, shape: str
) -> dict[str, Any]:
    named: Any = intersection if kernel == "callable" else kernel
    gamma: Any = "scale" if rng.random() < 0.5 else float(10 ** rng.uniform(-3, 2))
    if kernel == "poly" and shape in HARD and rng.random() < 0.5:
        gamma = "scale"  # most others overflow
    C = float(10.0 ** rng.uniform(-6, 6))
    if route in ("stall", "strict", "interrupted"):
        C = float(10.0 ** rng.uniform(3, 7))
    parameters = {
        "kernel": named,
        "C": C,
        "gamma": gamma,
        "degree": int(rng.choice([1, 2, 3, 5])),
        "coef0": float(rng.choice([0.0, 1.0, 10.0 ** rng.uniform(-3, 3)])),
        "fit_intercept": bool(rng.random() < 0.7),
        "tol": float(rng.choice([1e-3, 1e-3, 1e-1, 1e-6])),
        "random_state": 0,
        "n_jobs": 1,
    }
    if route in ("stall", "strict"):
        parameters["tol"] = float(10.0 ** rng.uniform(-18, -13))
    if kernel in ("poly", "sigmoid") and rng.random() < 0.25:
        parameters["coef0"] = -float(10.0 ** rng.uniform(-3, 3))
    if route == "interrupted":
        parameters["tol"] = 1e-8  # long enough for Ctrl-C to meet it
    if rng.random() < 0.15 and route not in ("loose", "strict"):
        parameters["class_weight"] = {0: float(10 ** rng.uniform(-3, 3)), 1: 1.0}
    return parameters

"""Named small problems, imported by every test: real ones and built ones.

A problem is samples, signed labels, kernel and costs; ``dual(named)`` its DualProblem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_circles,
    make_classification,
    make_moons,
)

from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Kernel, Linear, Polynomial
from widemargin.engine.problem import DualProblem, classification_problem

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Named:
    """A two-class problem with everything that defines it."""

    name: str
    X: NDArray[np.float64]
    y: Vector
    kernel: Kernel
    costs: Vector | float = 1.0

    @property
    def cost(self) -> Vector:
        """C_i of every sample."""
        return np.broadcast_to(np.asarray(self.costs, float), self.y.shape).copy()

    def __repr__(self) -> str:
        return self.name


def signed(labels: NDArray[np.int64]) -> Vector:
    """Turn 0 and 1 into -1 and +1."""
    return np.where(labels > 0, 1.0, -1.0)


def standard(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standardise the columns; constant ones become zero."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def dual(named: Named, *, fit_intercept: bool = True, **of_gram: object) -> DualProblem:
    """Return the C-SVC dual of a named problem."""
    gram = Gram(np.ascontiguousarray(named.X), named.kernel, **of_gram)  # type: ignore[arg-type]
    return classification_problem(gram, named.y, named.cost, fit_intercept)


def _pair(
    loader: object, first: int, second: int
) -> tuple[NDArray[np.float64], Vector]:
    X, y = loader(return_X_y=True)  # type: ignore[operator]
    chosen = (y == first) | (y == second)
    return standard(X[chosen]), np.where(y[chosen] == first, 1.0, -1.0)


def real_problems() -> list[Named]:
    """Real data bundled with scikit-learn: every pair of iris and wine, and more."""
    problems = []
    for loader, name in ((load_iris, "iris"), (load_wine, "wine")):
        for first, second in ((0, 1), (0, 2), (1, 2)):
            X, y = _pair(loader, first, second)
            kernel = Gaussian(1.0 / X.shape[1])
            problems.append(Named(f"{name} {first} or {second}", X, y, kernel, 1.0))
    X, y = load_breast_cancer(return_X_y=True)
    X, y = standard(X), signed(y)
    problems += [
        Named("breast cancer", X, y, Gaussian(1 / 30), 1.0),
        Named("breast cancer, C=100", X, y, Gaussian(1 / 30), 100.0),
        Named("breast cancer, linear", X, y, Linear(), 0.5),
        Named("breast cancer, cubic", X, y, Polynomial(3, 1 / 30, 1.0), 1.0),
    ]
    X, y = _pair(load_digits, 3, 8)
    problems.append(Named("digits 3 or 8", X, y, Gaussian(0.01), 10.0))
    X, y = _pair(load_digits, 1, 7)
    problems.append(Named("digits 1 or 7, linear", X, y, Linear(), 0.1))
    return problems


def built_problems() -> list[Named]:
    """Generated problems: easy, noisy, weighted, wide, narrow, many or few support."""
    rng = np.random.default_rng(7)
    problems = []
    X, y = make_moons(300, noise=0.2, random_state=0)
    problems += [
        Named("moons", X, signed(y), Gaussian(1.0), 1.0),
        Named("moons, C=1000", X, signed(y), Gaussian(1.0), 1000.0),
        Named("moons, C=0.01", X, signed(y), Gaussian(1.0), 0.01),
        Named("moons, narrow", X, signed(y), Gaussian(100.0), 1.0),
        Named("moons, flat", X, signed(y), Gaussian(1e-3), 10.0),
        Named("moons, costs", X, signed(y), Gaussian(1.0), rng.uniform(0.1, 5.0, 300)),
    ]
    X, y = make_circles(250, noise=0.1, factor=0.5, random_state=1)
    problems += [
        Named("circles", X, signed(y), Gaussian(2.0), 1.0),
        Named("circles, quadratic", X, signed(y), Polynomial(2, 1.0, 0.0), 1.0),
    ]
    X, y = make_classification(400, 20, flip_y=0.1, random_state=2)
    problems += [
        Named("classification", X, signed(y), Gaussian(0.05), 1.0),
        Named("classification, linear", X, signed(y), Linear(), 0.1),
    ]
    X = rng.standard_normal((80, 200))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(80) > 0, 1.0, -1.0)
    problems.append(Named("wide", X, y, Linear(), 0.01))
    X, y = make_classification(300, 8, weights=[0.95], random_state=3)
    problems.append(Named("imbalanced", X, signed(y), Gaussian(0.125), 1.0))
    return problems


def small(seed: int, n: int = 40, d: int = 3, kernel: Kernel | None = None) -> Named:
    """Return a small noisy problem with costs of its own at every sample."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return Named(
        f"small {seed}", X, y, kernel or Gaussian(0.5), rng.uniform(0.2, 3.0, n)
    )


def noisy_curve(seed: int, n: int = 50, d: int = 3):
    """Return samples, targets along a curve with noise, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X[:, 0] + np.sin(2 * X[:, -1]) + 0.3 * rng.standard_normal(n)
    return X, y, rng.uniform(0.2, 3.0, n)

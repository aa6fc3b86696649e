"""Kernels as values: what is evaluated between two samples, and nothing else.

``semidefinite`` says whether the problem is convex: only then is the gap a proof, are
screening rules safe, and is there a path to follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from widemargin.numerics.products import inner
from widemargin.numerics.sample_statistics import entry_moments

KernelFunction = Callable[[Any, Any], Any]
#: Largest degree of a polynomial kernel. The relative rounding of <x, z> is multiplied
#: by the degree: float32 entries have four digits left at this one.
MAX_DEGREE = 1000


@dataclass(frozen=True)
class Linear:
    """k(x, z) = <x, z>."""

    semidefinite: ClassVar[bool] = True


@dataclass(frozen=True)
class Polynomial:
    """k(x, z) = (gamma <x, z> + coef0) ** degree, degree in 0, 1, ..., MAX_DEGREE."""

    degree: int
    gamma: float
    coef0: float

    def __post_init__(self) -> None:
        """Refuse a degree that no estimator takes, wherever it comes from."""
        if not (isinstance(self.degree, int) and 0 <= self.degree <= MAX_DEGREE):
            raise ValueError(
                f"degree={self.degree!r:.40} must be an integer from 0 to {MAX_DEGREE}."
            )

    @property
    def semidefinite(self) -> bool:
        """Whether every term of the expanded power is; core/kernel/kernel_facts.hpp."""
        return self.gamma >= 0.0 and self.coef0 >= 0.0


@dataclass(frozen=True)
class Gaussian:
    """k(x, z) = exp(-gamma ||x - z||^2)."""

    semidefinite: ClassVar[bool] = True
    gamma: float


@dataclass(frozen=True)
class Laplacian:
    """k(x, z) = exp(-gamma ||x - z||_1), the sum of the absolute differences."""

    semidefinite: ClassVar[bool] = True
    gamma: float


@dataclass(frozen=True)
class Sigmoid:
    """k(x, z) = tanh(gamma <x, z> + coef0); in general not positive semidefinite."""

    semidefinite: ClassVar[bool] = False
    gamma: float
    coef0: float


@dataclass(frozen=True)
class Precomputed:
    """The samples *are* the kernel matrix: X[i, j] = k(x_i, x_j).

    Taken to be semidefinite: to check it would cost more than to solve the problem.
    """

    semidefinite: ClassVar[bool] = True


@dataclass(frozen=True)
class CallableKernel:
    """``function(A, B)`` returns the (len(A), len(B)) matrix of kernel values.

    Taken to be semidefinite, as a precomputed matrix is.
    """

    semidefinite: ClassVar[bool] = True
    function: KernelFunction


Kernel = (
    Linear | Polynomial | Gaussian | Laplacian | Sigmoid | Precomputed | CallableKernel
)


def compiled_form(
    kernel: Linear | Polynomial | Gaussian | Laplacian | Sigmoid,
) -> tuple[str, float, float, int]:
    """Return name, gamma, coef0 and degree as the compiled core takes them."""
    match kernel:
        case Linear():
            return "linear", 1.0, 0.0, 1
        case Polynomial(degree, gamma, coef0):
            return "polynomial", gamma, coef0, degree
        case Gaussian(gamma):
            return "gaussian", gamma, 0.0, 1
        case Laplacian(gamma):
            return "laplacian", gamma, 0.0, 1
        case Sigmoid(gamma, coef0):
            return "sigmoid", gamma, coef0, 1


#: kernels that have a gamma, and all, by the names of scikit-learn
WITH_GAMMA = ("rbf", "laplacian", "poly", "sigmoid")
NAMES = ("linear", *WITH_GAMMA, "precomputed")


def make_kernel(
    kernel: str | KernelFunction, *, gamma: float, degree: float, coef0: float
) -> Kernel:
    """Turn an estimator's parameters into a kernel value.

    Parameters
    ----------
    kernel : str or callable
        One of :data:`NAMES`, or a function.
    gamma, degree, coef0 : float
        Already numeric (``"scale"`` and ``"auto"`` are resolved by the estimator).
        As in LIBSVM, the degree is truncated to an integer; at most `MAX_DEGREE`.
    """
    if callable(kernel):
        return CallableKernel(kernel)
    makers: dict[str, Callable[[], Kernel]] = {
        "linear": Linear,
        "poly": lambda: Polynomial(int(degree), float(gamma), float(coef0)),
        "rbf": lambda: Gaussian(float(gamma)),
        "laplacian": lambda: Laplacian(float(gamma)),
        "sigmoid": lambda: Sigmoid(float(gamma), float(coef0)),
        "precomputed": Precomputed,
    }
    if kernel not in makers:
        raise ValueError(
            f"kernel={kernel!r} is unknown; use one of {sorted(makers)} or a callable."
        )
    return makers[kernel]()


def called(kernel: CallableKernel, A: Any, B: Any) -> NDArray[np.float64]:
    """Return the checked values of a callable kernel."""
    if not (A.shape[0] and B.shape[0]):  # functions mostly refuse empty arrays
        return np.empty((A.shape[0], B.shape[0]))
    out = kernel.function(A, B)
    out = np.asarray(out.toarray() if sparse.issparse(out) else out, dtype=np.float64)
    if out.shape != (A.shape[0], B.shape[0]):
        raise ValueError(
            f"kernel returned an array of shape {out.shape}; a callable kernel must "
            f"return ({A.shape[0]}, {B.shape[0]}), one row per first sample."
        )
    if not np.isfinite(out).all():
        raise ValueError("kernel returned NaN or infinity.")
    return out


def numeric_gamma(kernel: Kernel) -> float:
    """Return the gamma of a kernel; 0 for one that has none."""
    with_gamma = Gaussian | Laplacian | Polynomial | Sigmoid
    return kernel.gamma if isinstance(kernel, with_gamma) else 0.0


CONSTANT = 1e-14  # entries with a smaller relative difference count as equal
ROWS = 16384  # processed at a time: bounded memory on large data


class Moments(NamedTuple):
    """Weight, mean, and weighted sum of squared deviations of entries of samples.

    The mean is `origin + rest`. Blocks are joined by the differences of their means
    (Chan, Golub and LeVeque, 1983). No square of a mean is subtracted and no mean is
    rounded to the origin's digits, so a large offset costs none.
    """

    mass: float = 0.0
    origin: float = 0.0
    rest: float = 0.0
    deviation: float = 0.0

    @classmethod
    def of(cls, X: Any, weight: Any) -> Moments:
        """Return the moments of all entries of some rows, each with its row's weight.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        weight : array of shape (n,)
        """
        mass = float(weight.sum()) * X.shape[1]
        if mass == 0.0:
            return cls()
        if hasattr(X, "tocsr"):
            X = X.tocsr()
            if not X.has_canonical_format:  # an entry in several parts
                X = X.copy()
                X.sum_duplicates()
            with np.errstate(over="ignore", invalid="ignore"):  # the variance shows it
                mean, rest, squares = _stored_moments(X, weight, mass)
        else:
            mean, rest, squares = entry_moments(X, weight, mass)
        return cls(mass, mean, rest, squares - mass * rest * rest)

    def join(self, other: Moments) -> Moments:
        """Return the moments of both together."""
        if self.mass == 0.0 or other.mass == 0.0:
            return self if other.mass == 0.0 else other
        mass = self.mass + other.mass
        apart = (other.origin - self.origin) + (other.rest - self.rest)
        between = apart * apart * (self.mass / mass) * other.mass
        rest = self.rest + apart * (other.mass / mass)
        deviation = self.deviation + other.deviation + between
        return Moments(mass, self.origin, rest, deviation)

    @property
    def variance(self) -> float:
        """The variance; 0 where entries differ by rounding only."""
        variance = self.deviation / self.mass
        if not math.isfinite(variance):
            return math.inf
        rounding = CONSTANT * abs(self.origin + self.rest)
        constant = variance <= rounding * rounding
        return 0.0 if constant else variance


def _stored_moments(X: Any, weight: Any, mass: float) -> tuple[float, float, float]:
    """Return what :func:`entry_moments` returns, for CSR samples."""
    stored = np.diff(X.indptr)
    share = np.repeat(weight, stored)
    zeros = inner(weight, X.shape[1] - stored)
    entries = X.data.astype(np.float64)
    mean = inner(share, entries) / mass
    entries -= mean
    # What rounding left in the mean is what the deviations do not cancel to.
    rest = (inner(share, entries) - zeros * mean) / mass
    squares = float((share * entries * entries).sum()) + zeros * mean * mean
    return mean, rest, squares


def scale_gamma(X: Any, sample_weight: Any = None) -> float:
    """Return the ``gamma="scale"`` heuristic, 1 / (n_features * Var(X)).

    The variance is over all entries, each row counted with its weight, so that a
    row of weight 2 and the same row given twice lead to the same kernel.
    """
    n_rows, n_features = X.shape
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight)
    if n_rows <= ROWS:
        return gamma_of(Moments.of(X, weight).variance, n_features)
    moments = Moments()
    for start in range(0, n_rows, ROWS):
        part = slice(start, start + ROWS)
        moments = moments.join(Moments.of(X[part], weight[part]))
    return gamma_of(moments.variance, n_features)


def gamma_of(variance: float, n_features: int) -> float:
    """Return 1 / (n_features * variance), and 1 where nothing varies."""
    gamma = 1.0 / (n_features * variance) if variance != 0.0 else 1.0
    if not 0.0 < gamma < np.inf:
        raise ValueError(
            "The dual coefficients or intercepts are not finite with "  # scikit-learn's
            f'gamma="scale": that is 1 / (n_features * Var(X)), and Var(X) is '
            f"{variance:g}. Scale the features, as with StandardScaler, or give gamma "
            "as a number."
        )
    return gamma

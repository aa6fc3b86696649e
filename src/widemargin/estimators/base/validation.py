"""Checks and conversions of user input: weights, threads, memory."""

from __future__ import annotations

import math
import os
from functools import cache
from numbers import Real
from typing import Any

import numpy as np
from joblib import cpu_count
from joblib.parallel import get_active_backend
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from widemargin.engine.kernels import scale_gamma
from widemargin.engine.sample_layout import refuse_damaged
from widemargin.numerics.sample_statistics import (
    all_finite,
    label_range,
    numbered_classes,
)

from .labels import refuse_odd_labels
from .table_columns import encoding_advice, filling_advice, text_columns

Vector = NDArray[np.float64]

LEAST_CACHE = 16.0  # megabytes, at least
TILE = 1024  # rows and columns compared with their transpose at a time
SYMMETRIC = 64 * float(np.finfo(np.float32).eps)  # asymmetry of float32 sums
ONE_THREAD = 10**7  # multiplications that take no longer than to start another one
LARGEST_WEIGHT = 1e100  # of a row, at most
MOST_EXACT = 2.0**53  # whole numbers up to it are exact in float64


def checked_samples(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    reset: bool = True,
    order: str | None = "C",
    dtype: Any = (np.float64, np.float32),
    labels: bool = True,
) -> Any:
    """Return samples (and labels) as scikit-learn checks them, safe for compiled code.

    `reset` notes the features as those of a new fit, else they are compared with it;
    `order` None leaves the layout of dense samples as it is; a `dtype` is converted to,
    of several the first unless the samples have one of them. Without `labels`, y holds
    numbers to be predicted.
    """
    if sparse.issparse(X):
        refuse_damaged(X)
    if labels:
        refuse_odd_labels(y)
    try:
        return validate_data(
            estimator, X, y, reset=reset, accept_sparse="csr",
            dtype=list(dtype) if isinstance(dtype, tuple) else dtype, order=order,
        )  # fmt: skip
    except (ValueError, TypeError) as error:
        text, name = text_columns(X), type(estimator).__name__
        if text:
            raise type(error)(encoding_advice(name, X, text)) from error
        if "contains NaN" not in str(error):
            raise
        raise type(error)(filling_advice(name, X, str(error))) from error
    except OverflowError as error:  # Python's whole numbers have no limit
        raise ValueError(
            "X or y holds a whole number beyond the largest float64, 1.8e308; take its "
            "logarithm, or leave it out."
        ) from error


def plain_samples(X: Any) -> bool:
    """Whether scikit-learn's checks of these samples are certain to pass.

    They take longer than to fit a hundred rows. Other samples are left to them.
    """
    return (
        type(X) is np.ndarray
        and X.dtype.char in "fd"
        and X.dtype.isnative
        and X.ndim == 2
        and X.size > 0
        and X.flags.c_contiguous
        and all_finite(X)
    )


def plain_labels(y: Any) -> bool:
    """The same for labels: two values, or whole numbers in a range of few."""
    if type(y) is not np.ndarray or y.dtype.kind not in "biuf":
        return False
    if y.ndim != 1 or y.size == 0:
        return False
    first, last = label_range(y) if y.dtype.kind == "i" else (y.min(), y.max())
    width = float(last) - float(first)
    if not math.isfinite(width):
        return False
    fraction = y.dtype.kind == "f"
    # Of more classes than half the rows scikit-learn warns.
    if width < 0.5 * y.size:
        return not fraction or bool((y == np.floor(y)).all())
    whole = not fraction or (first == np.floor(first) and last == np.floor(last))
    return bool(whole and ((y == first) | (y == last)).all())


def class_numbers(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted labels, and the number of each row's among them."""
    whole = _whole_numbers(y)
    found = None if whole is None else numbered_classes(whole)
    if found is not None:
        return np.array(found[0], dtype=y.dtype), found[1]
    return np.unique(y, return_inverse=True)


def _whole_numbers(y: NDArray[Any]) -> NDArray[Any] | None:
    """Return labels that are numbers without a fraction as integers; else None."""
    if y.size == 0 or y.dtype.kind not in "if":
        return None
    if y.dtype.kind == "i":
        return y
    if not (-MOST_EXACT <= y.min() and y.max() <= MOST_EXACT):
        return None
    whole = y.astype(np.int64)
    return whole if bool((whole == y).all()) else None


def plain_targets(y: Any) -> bool:
    """The same for the targets of a regression: a vector of finite numbers."""
    if type(y) is not np.ndarray or y.dtype.kind not in "iuf":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return y.ndim == 1 and y.size > 0 and bool(np.isfinite(y.sum()))


def refuse_asymmetric(K: Any) -> None:
    """Refuse a kernel matrix that is not symmetric: the problem would not be convex.

    A tile and its mirror image are read at a time, so a memory map stays on disk.
    """
    largest = worst = 0.0
    for top in range(0, K.shape[0], TILE):
        for left in range(0, top + 1, TILE):
            tile = K[top : top + TILE, left : left + TILE]
            mirror = K[left : left + TILE, top : top + TILE].T
            largest = max(largest, float(abs(tile).max()))
            worst = max(worst, float(abs(tile - mirror).max()))
    if worst > SYMMETRIC * largest:
        raise ValueError(
            f'X is not symmetric, as the matrix of kernel="precomputed" must be: '
            f"entries differ from their mirror images by up to {worst:.3g}, the "
            f"largest is {largest:.3g}. Give (K + K.T) / 2 if that is rounding."
        )


def check_weights(sample_weight: ArrayLike | None, n: int) -> Vector | None:
    """Return finite weights, one per row, or None; non-positive ones mean "absent"."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {weights.ndim}D array."
        )
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected ({n},)! "
            "Give one weight per row of X."
        )
    if not np.isfinite(weights).all():
        raise ValueError("Input sample_weight contains NaN or infinity.")
    largest = float(weights.max(initial=0.0))
    if largest > LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight reaches {largest:.3g}, and squares of weights above "
            f"{LARGEST_WEIGHT:g} have no sum. Divide all of them by the largest; "
            "where C multiplies them, multiply C by it."
        )
    return weights


def weighted_rows(weights: Vector | None, n: int) -> NDArray[np.intp]:
    """Return the rows with a weight above 0, out of n."""
    return np.arange(n) if weights is None else np.flatnonzero(weights > 0)


def class_weights(
    class_weight: Any, classes: NDArray[Any], labels: NDArray[np.intp], weights: Any
) -> Vector:
    """Return one factor per class; "balanced" counts each row with its weight."""
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str):  # "balanced"
        mass = np.bincount(labels, weights=weights, minlength=classes.size)
        present = mass > 0  # a class whose rows were all forgotten has no share
        factors = np.ones(classes.size)
        factors[present] = mass.sum() / (present.sum() * mass[present])
        return factors
    names = classes.tolist()
    unweighted = [label for label in names if label not in class_weight]
    if unweighted and len(names) - len(unweighted) != len(class_weight):
        unknown = [key for key in class_weight if key not in names]
        raise ValueError(
            f"The classes, {unweighted}, are not in class_weight, and its keys "
            f"{unknown} are not classes. Use the labels as they are in y: {names}."
        )
    return np.array([_factor(class_weight.get(label, 1.0), label) for label in names])


def _factor(factor: Any, label: Any) -> float:
    if isinstance(factor, Real) and 0.0 < float(factor) < np.inf:
        return float(factor)
    raise ValueError(
        f"class_weight has {factor!r} for class {label!r}; a factor on C must be a "
        "number above zero and finite. To leave a class out, leave out its rows."
    )


def resolve_gamma(gamma: Any, X: Any, weights: Vector | None, kernel: Any) -> float:
    """Return a number for ``gamma``: "scale" is weighted, "auto" is 1 / n_features."""
    if not isinstance(gamma, str):
        return float(gamma)
    if callable(kernel) or kernel in ("linear", "precomputed"):
        return 0.0  # not used
    if gamma == "scale":
        return scale_gamma(X, weights)
    return 1.0 / int(X.shape[1])


def demanded(choice: bool | str) -> bool:
    """Whether a parameter that may also be a word is True, or numpy's True."""
    return not isinstance(choice, str) and bool(choice)


def seed_of(random_state: Any) -> int:
    """Return the seed of a fit: a fixed one for None, else drawn as scikit-learn does.

    Fixed where the answer does not depend on it but for the tolerance: two fits give
    the same model, and numpy's global state is left alone.
    """
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def effective_threads(n_jobs: int | None, work: float = math.inf) -> int:
    """Return how many threads a fit may use.

    None means all cores this process may use, but one inside a joblib worker, and never
    more than OMP_NUM_THREADS where that is set (joblib sets it for its processes).
    Negative counts from all cores, as in joblib. More than a few hundred are not
    started, even if requested: a model file may hold any number. Where the whole
    `work`, in multiplications, is for one thread, None is one: asking joblib takes a
    twentieth of such a fit.
    """
    cores = _cores()
    if n_jobs is None:
        if work <= ONE_THREAD:
            return 1
        backend, _ = get_active_backend()
        if getattr(backend, "nesting_level", 0):
            return 1
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning; use None, -1 or a positive int.")
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else min(n_jobs, max(cores, 256))


@cache
def _cores() -> int:
    return int(cpu_count())  # reads several files: half a millisecond


def cache_megabytes(cache_size: float | str, n: int) -> float:
    """Return the cache budget; "auto": a quarter of free memory, at most the matrix."""
    if not isinstance(cache_size, str):
        return float(cache_size)
    whole = 4e-6 * n * (n + 16)
    if whole <= LEAST_CACHE:
        return LEAST_CACHE
    return max(LEAST_CACHE, min(whole, 0.25 * free_megabytes()))


def free_megabytes() -> float:
    """Return how much memory the system has left, or a guess where it says nothing."""
    try:
        # as bytes: a codec would be imported, and a process forked meanwhile would wait
        with open("/proc/meminfo", "rb") as lines:
            for line in lines:
                if line.startswith(b"MemAvailable:"):
                    return float(line.split()[1]) / 1024
    except OSError:
        pass
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        return 0.5 * pages * size / 1e6
    except (ValueError, OSError, AttributeError):
        return 800.0

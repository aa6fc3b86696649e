"""Kernel entries of a few samples, without a handle: predictions of single rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core

from .kernels import CallableKernel, Kernel, Precomputed, compiled_form

FEW = 64  # rows, at most
FEW_PRODUCTS = 400_000  # multiplications: beyond, packed tiles are faster


def are_few(Z: Any, X: Any, kernel: Kernel) -> bool:
    """Whether :func:`entries_of_few` is the fastest way to the entries of some rows."""
    dense = isinstance(X, np.ndarray) and isinstance(Z, np.ndarray)
    return (
        dense
        and len(Z) <= FEW
        and len(Z) * X.size <= FEW_PRODUCTS
        and not isinstance(kernel, Precomputed | CallableKernel)
    )


def entries_of_few(Z: Any, X: Any, kernel: Kernel) -> NDArray[np.float64]:
    """Return K(z, x) for a few samples z and all samples x, both dense, in float64."""
    assert not isinstance(kernel, Precomputed | CallableKernel)
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    others = np.ascontiguousarray(X, dtype=dtype)
    out = np.empty((len(Z), len(X)))
    few = np.ascontiguousarray(Z, dtype=np.float64)
    _core.entries_of_few(few, others, *compiled_form(kernel), out)
    return out

"""Kernel matrices in more digits than float64, with bounds of their errors.

Shares no code with the package; see :mod:`tests.oracles.exact_certificate`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.oracles.exact_numbers import Arithmetic

ROWS = 256  # rows of the kernel matrix that are evaluated at a time


def kernel_blocks(
    model: Any, columns: Any, arithmetic: Arithmetic
) -> Iterator[tuple[slice, Any, Any]]:
    """Yield rows of the kernel matrix, and bounds of the errors of their entries."""
    X = model.X.toarray() if hasattr(model.X, "toarray") else np.asarray(model.X)
    unit, number = arithmetic.unit, arithmetic.number
    n, d = X.shape
    others = None if model.kernel == "precomputed" else number(X[columns])
    gamma, coef0 = number(model.gamma)[()], number(model.coef0)[()]
    for start in range(0, n, ROWS):
        rows = slice(start, min(start + ROWS, n))
        if others is None:
            entries = number(X[rows][:, columns])
            yield rows, entries, entries * unit * 0
            continue
        own = number(X[rows])
        if model.kernel in ("rbf", "laplacian"):
            exponent = number(np.zeros((own.shape[0], others.shape[0])))
            for feature in range(d):
                difference = own[:, feature, None] - others[None, :, feature]
                squared = model.kernel == "rbf"
                term = difference * difference if squared else abs(difference)
                exponent = exponent + term
            exponent = exponent * gamma
            entries = arithmetic.exp(-exponent)
            yield rows, entries, entries * (exponent * (d + 6) + 2) * (2 * unit)
            continue
        entries = own @ others.T
        errors = (abs(own) @ abs(others).T) * ((d + 2) * unit)
        if model.kernel == "poly":
            base = entries * gamma + coef0
            reach = errors * abs(gamma) + abs(base) * (3 * unit)
            entries = _power(base, model.degree)
            # (|base| + reach) ** degree - |base| ** degree, bounded by its derivative
            slope = _power(abs(base) + reach, max(model.degree - 1, 0)) * model.degree
            errors = slope * reach * 2 + abs(entries) * (2 * model.degree * unit)
        elif model.kernel == "sigmoid":
            angle = entries * gamma + coef0
            shrunk = arithmetic.exp(abs(angle) * -2)
            entries = (1 - shrunk) / (1 + shrunk) * np.where(angle < 0, -1, 1)
            reach = errors * abs(gamma) + abs(angle) * (3 * unit)
            errors = reach * np.minimum(shrunk * 8, 2) + 8 * unit
        yield rows, entries, errors


def _power(base: Any, degree: int) -> Any:
    result = base * 0 + 1
    for _ in range(degree):
        result = result * base
    return result

"""The problems of regressors and one-class models, from their public attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.certified import kernel_matrix
from tests.oracles.claims import assert_claims_hold
from tests.oracles.exact_certificate import Model, Truth
from tests.oracles.rebuilt import certificates

Vector = NDArray[np.float64]
Terms = tuple[Any, ...]  # linear, lower, upper, total, and the kink if there is one


def outputs(estimator: Any, n: int) -> Iterator[tuple[Vector, float]]:
    """Yield the coefficients of all rows, and the intercept, of every output."""
    dual = estimator.dual_coef_
    dual = dual.toarray() if hasattr(dual, "toarray") else np.asarray(dual)
    for row, intercept in zip(dual, estimator.intercept_, strict=True):
        beta = np.zeros(n)
        beta[estimator.support_] = row
        yield beta, float(intercept)


def assert_judged(estimator: Any, X: Any, terms: Sequence[Terms]) -> None:
    """Assert that every certificate says the truth of the stored model."""
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    names = {"rbf": ("gamma",), "poly": ("gamma", "coef0", "degree"), "linear": ()}
    chosen = {
        name: getattr(estimator._kernel, name) for name in names[estimator.kernel]
    }
    found = zip(certificates(estimator), outputs(estimator, len(dense)), strict=True)
    for (certificate, (beta, intercept)), own in zip(found, terms, strict=True):
        box, kink = own[:4], own[4] if len(own) > 4 else None
        model = Model(
            estimator.kernel, dense, beta, intercept, *box, kink=kink, **chosen
        )
        assert_claims_hold(certificate, Truth(model))


def dual_value(estimator: Any, X: Any, linear: Vector, output: int = 0) -> float:
    """Return the minimised dual at the stored coefficients, by numpy's formulas."""
    beta, _ = list(outputs(estimator, len(X)))[output]
    K = kernel_matrix(estimator._kernel, X)
    return float(0.5 * beta @ K @ beta - linear @ beta)

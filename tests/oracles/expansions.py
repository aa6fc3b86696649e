"""The problems of regressors and one-class models, from their public attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tests.certified import kernel_matrix
from tests.oracles.claims import assert_claims_hold
from tests.oracles.exact_certificate import Model, Truth
from tests.oracles.nu_truth import NuTruth, within
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


def assert_answers_of(peer: Any, estimator: Any, X: Any, atol: float) -> None:
    """Assert predictions and attributes of scikit-learn's estimator with one output."""
    assert_allclose(estimator.predict(X), peer.predict(X), atol=atol)
    assert estimator.dual_coef_.shape[0] == 1 and estimator.n_support_.shape == (1,)
    assert isinstance(estimator.n_iter_, int) and estimator.class_weight_.shape == (0,)
    if estimator.kernel == "linear":
        assert_allclose(estimator.coef_, peer.coef_, atol=1e-4)


def dual_value(estimator: Any, X: Any, linear: Vector, output: int = 0) -> float:
    """Return the minimised dual at the stored coefficients, by numpy's formulas."""
    beta, _ = list(outputs(estimator, len(X)))[output]
    K = kernel_matrix(estimator._kernel, X)
    return float(0.5 * beta @ K @ beta - linear @ beta)


def judged_outputs(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None
) -> Iterator[tuple[Any, Truth]]:
    """Yield certificate and truth of every output, from what the user gave alone."""
    n = X.shape[0]
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    rows, kernel = np.flatnonzero(weights > 0), estimator.kernel
    square = callable(kernel) or kernel == "precomputed"
    samples = np.asarray(kernel(X, X)) if callable(kernel) else X
    samples = samples[np.ix_(rows, rows)] if square else samples[rows]
    targets = np.zeros(rows.size) if y is None else np.asarray(y, float)[rows]
    found = zip(certificates(estimator), outputs(estimator, n), strict=True)
    problems = _problems(estimator, targets, weights[rows])
    moved = getattr(estimator, "calibration_", np.zeros(len(problems)))
    for (certificate, (beta, intercept)), own, move in zip(
        found, problems, moved, strict=True
    ):
        kink = own[4] if len(own) > 4 else None
        model = Model(
            "precomputed" if square else kernel, samples, beta[rows], intercept - move,
            *own[:4], float(estimator.gamma_), int(estimator.degree),
            float(estimator.coef0), kink=kink,
        )  # fmt: skip
        if type(estimator).__name__ != "NuSVR":
            yield certificate, Truth(model)
            continue
        budget = estimator.nu * float(np.sum(own[2]))
        yield certificate, NuTruth(model, float(estimator.epsilon_), budget)


def _problems(estimator: Any, targets: Vector, weights: Vector) -> list[Terms]:
    """Return the terms of each output, by the name of the estimator."""
    name, nothing = type(estimator).__name__, np.zeros(targets.size)
    if name == "OneClassSVM":
        total = min(estimator.nu * float(weights.sum()), within(weights))
        return [(nothing, nothing, weights, total)]
    total = 0.0 if estimator.fit_intercept else None
    if name == "QuantileSVR":
        costs = estimator.C_ * weights
        return [
            (targets, (q - 1.0) * costs, q * costs, total) for q in estimator.quantiles_
        ]
    costs = estimator.C * weights
    tube = estimator.epsilon if name == "SVR" else estimator.epsilon_
    return [(targets, -costs, costs, total, np.full(targets.size, float(tube)))]

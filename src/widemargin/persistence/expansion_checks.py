"""Consistency of support vectors, coefficients and intercepts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from widemargin.runtime.model_file_format import StorageError

from .row_checks import counts


def check_pairs(attributes: dict[str, Any], features: int) -> None:
    """Raise unless the arrays have the shapes that scikit-learn's SVC gives them."""
    classes = len(attributes["classes_"])
    pairs = classes * (classes - 1) // 2
    # a row for each other class, or for each pair (costs of several classes)
    tall = (max(classes - 1, 1), max(pairs, 1))
    count = _check_expansion(attributes, features, tall, max(pairs, 1))
    if not counts(attributes["n_support_"], classes, count + 1):
        raise StorageError("n_support_ does not fit classes_")
    if attributes["n_support_"].sum() != count:
        raise StorageError("n_support_ does not fit dual_coef_")


def check_outputs(attributes: dict[str, Any], features: int) -> None:
    """Raise unless every output has coefficients and an intercept."""
    quantiles = attributes.get("quantiles_")
    outputs = 1
    if quantiles is not None:
        outputs = quantiles.size
        known = quantiles.dtype.kind == "f" and quantiles.ndim == 1 and outputs > 0
        if not known or not np.all((quantiles > 0) & (quantiles < 1)):
            raise StorageError("quantiles_ are not between 0 and 1")
        single = attributes.get("_one_quantile")
        if type(single) is not bool or (single and outputs != 1):
            raise StorageError("quantiles_ are more than one")
    count = _check_expansion(attributes, features, (outputs,), outputs)
    if attributes["n_support_"].tolist() != [count]:
        raise StorageError("n_support_ does not fit dual_coef_")


def _check_expansion(
    attributes: dict[str, Any], features: int, tall: tuple[int, ...], outputs: int
) -> int:
    """Check what all expansions share; return how many support vectors there are."""
    vectors, coefficients = attributes["support_vectors_"], attributes["dual_coef_"]
    count = int(coefficients.shape[-1])
    if coefficients.ndim != 2 or coefficients.shape[0] not in tall:
        raise StorageError("dual_coef_ does not fit the classes or outputs")
    # a precomputed kernel leaves no vectors
    precomputed = attributes.get("kernel") == "precomputed"
    if vectors.shape != ((0, 0) if precomputed else (count, features)):
        raise StorageError("support_vectors_ does not fit dual_coef_")
    if not counts(attributes["support_"], count, features if precomputed else 2**31):
        raise StorageError("support_ does not fit dual_coef_")
    if np.shape(attributes["intercept_"]) != (outputs,):
        raise StorageError("intercept_ does not fit the classes or outputs")
    stored = vectors.data if sparse.issparse(vectors) else vectors
    for array in (stored, coefficients, attributes["intercept_"]):
        values = array.data if sparse.issparse(array) else array
        if values.dtype.kind != "f" or not np.all(np.isfinite(values)):
            raise StorageError("a coefficient or support vector is not a finite number")
    return count

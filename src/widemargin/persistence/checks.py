"""What must hold between the attributes of a model before it is used.

A file can be well formed and still describe no model: two classes with the coefficients
of five, a support vector of the wrong length. These checks refuse it at `load`, so that
prediction never sees it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from ..storage import StorageError
from .known import ESTIMATORS, name_of


def check_model(model: Any) -> None:
    """Raise `StorageError` unless the loaded object is a usable model."""
    try:
        if isinstance(model, Pipeline):
            _check_steps(model)
        for estimator in _ours(model):
            estimator._validate_params()
            _check_shapes(estimator)
            _probe(estimator)
    except StorageError:
        raise
    except Exception as error:
        # whatever scikit-learn or NumPy say of inconsistent attributes: it is the file
        raise StorageError(f"describes no usable model: {error}") from error


def _check_steps(model: Pipeline) -> None:
    for step in model.steps:
        if not (
            isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)
        ):
            raise StorageError("malformed steps of a Pipeline")
        if not (isinstance(step[1], str) or name_of(type(step[1]))):
            raise StorageError("malformed steps of a Pipeline")


def _ours(model: Any) -> list[Any]:
    parts = (
        [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    )
    return [part for part in parts if type(part).__name__ in ESTIMATORS]


def _check_shapes(model: Any) -> None:
    if not hasattr(model, "classes_"):
        return  # not fitted: parameters only
    features = model.n_features_in_
    if type(features) is not int or features < 1:
        raise StorageError("n_features_in_ is no positive number")
    names = getattr(model, "feature_names_in_", None)
    if names is not None and np.shape(names) != (features,):
        raise StorageError("feature_names_in_ does not fit n_features_in_")
    if np.ndim(model.classes_) != 1 or not len(model.classes_):
        raise StorageError("classes_ is no list of labels")
    attributes = vars(model)
    if "dual_coef_" in attributes and "support_vectors_" in attributes:
        _check_kernel_expansion(attributes, features)


def _check_kernel_expansion(attributes: dict[str, Any], features: int) -> None:
    """The arrays that scikit-learn's SVC has, with the shapes they have there."""
    classes = len(attributes["classes_"])
    vectors, coefficients = attributes["support_vectors_"], attributes["dual_coef_"]
    count = coefficients.shape[-1]
    pairs = classes * (classes - 1) // 2
    if coefficients.ndim != 2 or coefficients.shape[0] != max(classes - 1, 1):
        raise StorageError("dual_coef_ does not fit classes_")
    # a precomputed kernel leaves no vectors
    expected = (
        (0, 0) if attributes.get("kernel") == "precomputed" else (count, features)
    )
    if vectors.shape != expected:
        raise StorageError("support_vectors_ does not fit dual_coef_")
    if np.shape(attributes["intercept_"]) != (max(pairs, 1),):
        raise StorageError("intercept_ does not fit classes_")
    stored = vectors.data if sparse.issparse(vectors) else vectors
    for array in (stored, coefficients, attributes["intercept_"]):
        values = array.data if sparse.issparse(array) else array
        if values.dtype.kind != "f" or not np.all(np.isfinite(values)):
            raise StorageError("a coefficient or support vector is not a finite number")


def _probe(model: Any) -> None:
    """Predict one row: what cannot do that is no model."""
    if hasattr(model, "classes_") and getattr(model, "kernel", None) != "precomputed":
        row = np.zeros((1, model.n_features_in_))
        if model.n_features_in_ > 10_000_000:
            raise StorageError("n_features_in_ is beyond what a model here can have")
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            model.predict(row)

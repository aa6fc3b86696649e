"""Consistency of the attributes of a loaded model, checked before it is used.

A file can be well formed and still describe no model: two classes with the coefficients
of five, a support vector of the wrong length. These checks refuse it at `load`, so that
prediction never sees it.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import OneHotEncoder

from widemargin.runtime.model_file_format import StorageError

from .allowed_classes import ESTIMATORS, TRANSFORMERS, name_of
from .expansion_checks import check_outputs, check_pairs
from .pipelines import parts
from .row_checks import check_live_rows

_MAX_WIDTH = 10_000_000  # features of a dense row that is made for a test prediction
_SPARSE = ESTIMATORS.keys() | {"Pipeline", "StandardScaler"}  # these keep rows sparse
_MIXED = {"OneHotEncoder", "SimpleImputer"}  # their columns may hold text
#: a number for each feature: what scalers have learnt
_PER_FEATURE = "mean_ var_ scale_ min_ data_min_ data_max_ data_range_".split()


def check_model(model: Any) -> None:
    """Raise unless the attributes of a loaded model fit each other."""
    inside = list(parts(model))
    if not inside:
        raise StorageError("holds no model")
    for part in inside:
        name = name_of(type(part))
        if name not in ESTIMATORS | TRANSFORMERS:
            raise StorageError(f"a {type(part).__name__} in place of an estimator")
        part._validate_params()
        if name in ESTIMATORS:
            _check_shapes(part)
        elif name == "FunctionTransformer" and (part.func or part.inverse_func):
            raise StorageError("a FunctionTransformer with a function")
        else:
            _check_transformer(part)


def probe(twin: Any) -> None:
    """Predict one row, which every fitted model can do.

    The row is all zeros, which no encoder needs to have seen and no transformer knows
    by name; ``twin`` is changed accordingly, and of no further use.
    """
    inside = list(parts(twin))
    fitted = [part for part in inside if "n_features_in_" in vars(part)]
    ours = [part for part in inside if type(part).__name__ in ESTIMATORS]
    if not fitted or not all(map(_is_fitted, ours)):
        return  # not fitted: parameters only
    for part in inside:
        names = vars(part).pop("feature_names_in_", None)
        if isinstance(part, OneHotEncoder):
            part.set_params(handle_unknown="ignore", drop=None)
        if isinstance(part, ColumnTransformer) and names is not None:
            _number_columns(part, set(names.tolist()))
    row = _zeros(fitted[0].n_features_in_, inside)
    with contextlib.suppress(NotFittedError):  # a model that has forgotten every row
        if ours:
            twin.predict(row)
        else:
            twin.transform(row)


def _number_columns(part: ColumnTransformer, names: set[Any]) -> None:
    """Have a ColumnTransformer find its columns by their numbers."""
    for _, _, columns in part.transformers_:
        named = [columns] if isinstance(columns, str) else columns
        if isinstance(named, list) and any(
            isinstance(column, str) and column not in names for column in named
        ):
            raise StorageError("transformers_ names a column that is not there")
    numbers = part._transformer_to_input_indices
    part.transformers_ = [(n, t, numbers[n]) for n, t, _ in part.transformers_]


def _zeros(width: int, inside: list[Any]) -> Any:
    """A row of zeros, sparse where the model was trained on sparse rows."""
    vectors = [vars(part).get("support_vectors_") for part in inside]
    names = {name_of(type(part)) for part in inside}
    if any(map(sparse.issparse, vectors)) and names <= _SPARSE:
        return sparse.csr_matrix((1, width))
    if width > _MAX_WIDTH:
        raise StorageError("n_features_in_ is beyond what a model here can have")
    return np.zeros((1, width), dtype=object if names & _MIXED else np.float64)


def _is_fitted(model: Any) -> bool:
    """Whether there is more than parameters: labels, or an expansion without them."""
    known = vars(model)
    return hasattr(model, "classes_") or "dual_coef_" in known or "_updates" in known


def _check_shapes(model: Any) -> None:
    if not _is_fitted(model):
        return  # parameters only
    features = _features(model)
    if not is_classifier(model):
        if "dual_coef_" in vars(model):
            check_outputs(vars(model), features)
        check_live_rows(vars(model), features)
        return
    if np.ndim(model.classes_) != 1 or not len(model.classes_):
        raise StorageError("classes_ is not a list of labels")
    labels = np.asarray(model.classes_)
    if labels.dtype == object and not all(
        isinstance(label, (str, int, float)) for label in labels
    ):
        raise StorageError("classes_ has a label that is neither text nor number")
    attributes = vars(model)
    if "dual_coef_" in attributes and "support_vectors_" in attributes:
        check_pairs(attributes, features)
    check_live_rows(attributes, features)


def _features(part: Any) -> int:
    features = part.n_features_in_
    if type(features) is not int or not 0 < features < 2**31:
        raise StorageError("n_features_in_ is not a positive number")
    names = getattr(part, "feature_names_in_", None)
    if names is not None and np.shape(names) != (features,):
        raise StorageError("feature_names_in_ does not fit n_features_in_")
    return features


def _check_transformer(part: Any) -> None:
    learnt = vars(part)
    if "n_features_in_" not in learnt:
        return
    features = _features(part)
    for name in _PER_FEATURE:
        value = learnt.get(name)
        if value is not None and not (
            isinstance(value, np.ndarray)
            and value.dtype.kind == "f"
            and value.shape == (features,)
        ):
            raise StorageError(f"{name} of a {type(part).__name__} does not fit")
    if "statistics_" in learnt and np.shape(learnt["statistics_"]) != (features,):
        raise StorageError("statistics_ of a SimpleImputer does not fit")
    if "categories_" in learnt and len(learnt["categories_"]) != features:
        raise StorageError("categories_ of a OneHotEncoder does not fit")

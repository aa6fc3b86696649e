"""The estimators that a Pipeline or ColumnTransformer is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline


def parts(model: Any) -> Iterator[Any]:
    """Yield a model and the estimators inside of it, the outer ones first.

    ``"passthrough"`` and ``"drop"``, which stand in for one, are left out.
    """
    if isinstance(model, str) or model is None:
        return
    yield model
    if isinstance(model, Pipeline):
        for _, step in model.steps:
            yield from parts(step)
    elif isinstance(model, ColumnTransformer):
        fitted = vars(model).get("transformers_", [])
        for _, transformer, _ in [*model.transformers, *fitted]:
            yield from parts(transformer)
        yield from parts(model.remainder)

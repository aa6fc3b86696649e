"""Model files that are safe to open: `save` and `load`.

The problem: a pickle runs whatever its author wrote into it, so a model from somebody
else cannot be looked at without trusting them. A file made here holds numbers, text and
arrays only (`widemargin.storage`); `load` builds objects of the classes listed in
`widemargin.persistence.known`, never imports what the file names, and checks every
value before use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from .. import storage
from ..base import KernelClassifier
from ..storage import StorageError
from .checks import check_model
from .encoding import Decoder, Encoder
from .known import ESTIMATORS, TRANSFORMERS, name_of

__all__ = ["StorageError", "load", "save", "training_rows"]

_KIND = "model"


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that is safe to open.

    Parameters
    ----------
    model : estimator or Pipeline
        An estimator of this package, or a Pipeline of StandardScaler, MinMaxScaler,
        SimpleImputer, OneHotEncoder and one of ours.
    path : path-like
        The file to make or replace. A crash while writing leaves the old one.

    Raises
    ------
    TypeError
        If the model, or something in it (a callable kernel), cannot be stored; it is
        named, and skops or pickle is the remedy.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> import widemargin
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.model")
    ...     widemargin.save(widemargin.SVC().fit(X, y), path)
    ...     float(widemargin.load(path).score(X, y)) > 0.9
    True
    """
    _refuse_strangers(model)
    encoder = Encoder()
    tree = encoder.encode(model, type(model).__name__)
    header = {
        "widemargin": version("widemargin"),
        "scikit-learn": sklearn.__version__,
        "training_rows": training_rows(model),
        "model": tree,
    }
    storage.write(path, _KIND, header, encoder.arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model written by `save`.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    estimator or Pipeline

    Raises
    ------
    StorageError
        If the file is damaged, of another version, or describes no usable model.
    """
    stored = storage.read(path, kind=_KIND)
    try:
        model = Decoder(stored.arrays).decode(stored.header.get("model"))
        if name_of(type(model)) not in ESTIMATORS | TRANSFORMERS:
            raise StorageError("holds no model")
        check_model(model)
    except StorageError as error:
        raise StorageError(f"{os.fspath(path)!r}: {error}") from error
    return model


def training_rows(model: Any) -> int:
    """Return how many rows of its training data a fitted model keeps verbatim.

    Kernel models keep their support vectors, and all live rows where they can learn and
    forget. Whoever gets the model gets these rows.
    """
    if isinstance(model, Pipeline):
        return max((training_rows(step) for _, step in model.steps), default=0)
    if not isinstance(model, KernelClassifier) or not hasattr(model, "n_features_in_"):
        return 0  # a linear model keeps weights, and no row
    features = model.n_features_in_
    return max(_rows_within(value, features, 0) for value in vars(model).values())


def _rows_within(value: Any, features: int, depth: int) -> int:
    """Rows with that many features in the largest array of an attribute."""
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        whole = len(value.shape) == 2 and value.shape[1] == features
        return int(value.shape[0]) if whole else 0
    if depth > 8 or value is None or isinstance(value, (str, int, float)):
        return 0
    if isinstance(value, Mapping):
        inside: Iterable[Any] = value.values()
    elif isinstance(value, (list, tuple)):
        inside = value
    else:
        inside = vars(value).values() if hasattr(value, "__dict__") else ()
    found = (_rows_within(entry, features, depth + 1) for entry in inside)
    return max(found, default=0)


def _refuse_strangers(model: Any) -> None:
    steps = (
        [part for _, part in model.steps] if isinstance(model, Pipeline) else [model]
    )
    for part in steps:
        if not isinstance(part, str) and name_of(type(part)) is None:
            raise TypeError(
                f"{type(part).__name__} cannot be saved: only widemargin's estimators "
                "and Pipelines of them with StandardScaler, MinMaxScaler, "
                "SimpleImputer and OneHotEncoder; use skops or pickle for others"
            )

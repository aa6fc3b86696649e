"""Model files that are safe to open: `save` and `load`.

The problem: a pickle runs whatever its author wrote into it, so a model cannot be
opened without trusting its author. A file made here holds numbers, text and
arrays only (`widemargin.runtime.model_file_format`, which checkpoints of fits need too:
it stands below the estimators); `load` builds objects of the classes listed in
`widemargin.persistence.allowed_classes`, never imports what the file names, and checks
every value before use.
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
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from widemargin.estimators.base.kernel_classifier import KernelClassifier
from widemargin.runtime import model_file_format
from widemargin.runtime.model_file_format import StorageError

from .allowed_classes import name_of
from .checks import check_model, probe
from .encoding import Decoder, Encoder
from .pipelines import parts

__all__ = ["StorageError", "load", "save", "training_rows"]

_KIND = "model"


def save(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a model to a file that is safe to open.

    Parameters
    ----------
    model : estimator or Pipeline
        An estimator of this package, or a Pipeline of StandardScaler, MinMaxScaler,
        SimpleImputer, OneHotEncoder, a ColumnTransformer of these, and one of ours.
    path : path-like
        The file to make or replace; the new one has the mode of the old one. A crash
        while writing leaves the old one.

    Raises
    ------
    TypeError
        If the model, or something in it (a callable kernel), cannot be stored; it is
        named, with the remedy: skops or pickle, or ``search.best_estimator_`` in the
        place of a GridSearchCV.
    OSError
        If there is something at ``path`` that is not a regular file (a folder, FIFO,
        socket or device), or if the system refuses; ``path`` is as it was.

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
    _refuse_unknown_classes(model)
    encoder = Encoder()
    tree = encoder.encode(model, type(model).__name__)
    header = {
        "widemargin": version("widemargin"),
        "scikit-learn": sklearn.__version__,
        "training_rows": training_rows(model),
        "model": tree,
    }
    model_file_format.write(path, _KIND, header, encoder.arrays)


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
    stored = model_file_format.read(path, kind=_KIND)
    decoder, tree = Decoder(stored.arrays), stored.header.get("model")
    try:
        model = decoder.decode(tree)
        check_model(model)
        probe(decoder.decode(tree))
    except StorageError as error:
        raise StorageError(f"{os.fspath(path)!r}: {error}") from error
    except MemoryError as error:
        raise StorageError(
            f"{os.fspath(path)!r}: not enough memory for what it describes: {error}"
        ) from error
    except Exception as error:
        # whatever scikit-learn or NumPy say of inconsistent attributes: it is the file
        raise StorageError(
            f"{os.fspath(path)!r}: describes no usable model: {error}"
        ) from error
    return model


def training_rows(model: Any) -> int:
    """Return how many rows of its training data a fitted model keeps verbatim.

    Kernel models keep their support vectors, and all live rows where they can learn and
    forget. Anyone who gets the model gets these rows.
    """
    return max((_rows_of(part) for part in parts(model)), default=0)


def _rows_of(model: Any) -> int:
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


def _refuse_unknown_classes(model: Any) -> None:
    for part in parts(model):
        name = type(part).__name__
        if isinstance(part, (GridSearchCV, RandomizedSearchCV)) or hasattr(
            part, "best_estimator_"
        ):
            raise TypeError(
                f"{name} cannot be saved: save search.best_estimator_, the model it "
                "chose (it has one once fitted, with refit=True)"
            )
        if name_of(type(part)) is None:
            raise TypeError(
                f"{name} cannot be saved: only widemargin's estimators and Pipelines "
                "of them with StandardScaler, MinMaxScaler, SimpleImputer, "
                "OneHotEncoder and ColumnTransformer; use skops or pickle for others"
            )

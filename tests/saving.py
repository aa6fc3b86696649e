"""Small fitted models to be written to files."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.datasets import make_classification
from sklearn.utils.estimator_checks import ignore_warnings

from widemargin.persistence.allowed_classes import known_class

SETTINGS: dict[str, dict[str, Any]] = {
    "PrivateSVC": {"clip_norm": 3.0, "random_state": 0},
    "DPWSSClassifier": {"random_state": 0},
    "DivideConquerSVC": {"random_state": 0},
}


def data(classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        120,
        6,
        n_informative=5,
        n_redundant=0,
        n_classes=classes,
        class_sep=1.0,
        random_state=3,
    )
    return X, np.array(["ant", "bee", "cow"])[y]


def fitted(name: str, classes: int = 2, **parameters: Any) -> tuple[Any, np.ndarray]:
    X, y = data(classes)
    model = known_class(name, record=False)(**SETTINGS.get(name, {}) | parameters)
    if is_regressor(model):
        y = X[:, 0] + (y == "ant")
    with ignore_warnings():
        return model.fit(X, y), X


def decisions(model: Any, X: Any) -> Any:
    number = model.predict if is_regressor(model) else model.decision_function
    return np.asarray(number(X))

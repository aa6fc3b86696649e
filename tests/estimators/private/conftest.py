"""Records that several tests release models of."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_breast_cancer

from widemargin import PublicBoundsScaler


@pytest.fixture(scope="session")
def breast():
    X, y = load_breast_cancer(return_X_y=True)
    return PublicBoundsScaler(0.0, X.max(axis=0) + 1.0).fit_transform(X), y


@pytest.fixture(scope="session")
def small(breast):
    return breast[0][:80, :5], breast[1][:80]

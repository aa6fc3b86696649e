"""Features on scales far apart: one warning a fit, where the kernel depends on them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import (
    SVC,
    CostSensitiveSVC,
    DivideConquerSVC,
    RampSVC,
    ScaleWarning,
)
from widemargin.estimators.base.feature_scales import scale_ratio

X, Y = make_blobs(120, 4, centers=3, random_state=0)
TWO = Y > 0
WIDE = X * [1.0, 1.0, 1e4, 1.0]


def warned(model, X, y=TWO):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(model).fit(X, y)
    return [str(item.message) for item in caught if item.category is ScaleWarning]


@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        SVC(kernel="poly", degree=2, gamma=1e-9),
        SVC(kernel="laplacian"),
        CostSensitiveSVC(),
        RampSVC(),
        DivideConquerSVC(),
        DivideConquerSVC(prediction="early", early_level=1),
    ],
    ids=str,
)
def test_one_warning_that_names_the_remedy(model):
    (message,) = warned(model, WIDE)
    assert "StandardScaler" in message and "-fold" in message
    assert warned(model, X) == []


def test_several_classes_are_one_fit():
    assert len(warned(SVC(), WIDE, Y)) == 1
    with pytest.warns(ScaleWarning):
        SVC().partial_fit(WIDE, Y, classes=[0, 1, 2])


@pytest.mark.parametrize(
    ("model", "given"),
    [
        (SVC(kernel="linear"), WIDE),
        (SVC(kernel="sigmoid", gamma=1e-9), WIDE),
        (SVC(kernel="precomputed"), WIDE @ WIDE.T),
        (SVC(kernel=lambda A, B: A @ B.T), WIDE),
        (make_pipeline(StandardScaler(), SVC()), WIDE),
        (SVC(), np.column_stack([X, np.full(len(X), 1e9)])),  # constant: no scale
        (SVC(), np.column_stack([X, X[:, 0] * 50.0])),
        (SVC(), sparse.csr_array(X)),
    ],
    ids=["linear", "sigmoid", "matrix", "function", "scaled", "constant", "50", "csr"],
)
def test_no_warning(model, given):
    assert warned(model, given) == []


def test_folds_say_the_same():
    """So that Python, which prints equal warnings once, prints one of a search."""
    wide = X * [1.0, 1.0, 3e4, 1.0]
    said = {warned(SVC(), wide[k::3], TWO[k::3])[0] for k in range(3)}
    assert len(said) == 1
    assert "differ over 10,000-fold: the Gaussian kernel" in said.pop()
    assert (
        "over 1,000,000,000,000,000,000-fold" in warned(SVC(), X * [1, 1, 1, 1e30])[0]
    )


def test_sparse_samples_by_their_stored_values():
    rows = sparse.random_array((200, 80), density=0.1, format="csr", rng=0)
    rows.data += 0.5
    assert warned(SVC(), rows, np.arange(200) % 2) == []
    rows.data[rows.indices == 7] *= 1e3
    assert len(warned(SVC(), rows, np.arange(200) % 2)) == 1
    most = np.abs(rows.toarray()).max(axis=0)
    assert_allclose(scale_ratio(rows), most.max() / most[most > 0].min())
    few = sparse.csr_array(([1.0, 4e3], ([0, 1], [5, 2**30])), shape=(2, 2**31 - 1))
    assert scale_ratio(few) == 4e3


def test_nothing_that_varies():
    assert scale_ratio(np.ones((5, 3))) == 1.0
    assert scale_ratio(sparse.csr_array((5, 3))) == 1.0
    assert scale_ratio(np.array([[1e308, 0.0], [-1e308, 1.0]])) == np.inf

"""Labels that cannot be sorted are refused in words that name y and the remedy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV

import widemargin
from widemargin import SVC, DivideConquerSVC, PrivateSVC
from widemargin.estimators.base.labels import refuse_odd_labels

X = np.random.default_rng(0).standard_normal((6, 2))
CLASSIFIERS = [
    PrivateSVC(clip_norm=1.0) if name == "PrivateSVC" else getattr(widemargin, name)()
    for name in widemargin.__all__
    if isinstance(getattr(widemargin, name), type)
    and issubclass(getattr(widemargin, name), ClassifierMixin)
]
TEXT = ["a", "b", "a", "b", "a"]
ODD = {
    "none and text": ([*TEXT, None], "1 missing labels .* row 5.* Leave those rows"),
    "none and numbers": ([0, None, 1, 0, None, 1], "2 missing labels .* row 1"),
    "nan and text": (np.array([*TEXT, np.nan], dtype=object), "missing labels"),
    "series": (pd.Series([*TEXT, None]), "missing labels"),
    "missing text": (pd.Series([*TEXT, pd.NA], dtype="string"), "missing labels"),
    "text and numbers": (
        np.array([*TEXT, 1], dtype=object),
        r"y mixes labels of different types \(int, str\).* one type",
    ),
}


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_every_classifier_names_y_and_the_remedy(model, case):
    labels, words = ODD[case]
    if isinstance(model, PrivateSVC):
        words = "missing labels.* Leave|y mixes labels"  # no row is named there
    with pytest.raises(ValueError, match=words) as refused:
        clone(model).fit(X, labels)
    assert "'<' not supported" not in str(refused.value)


def test_updates_and_dask_do_too():
    da = pytest.importorskip("dask.array")
    labels, words = ODD["none and text"]
    with pytest.raises(ValueError, match=words):
        SVC().partial_fit(X, labels, classes=["a", "b"])
    lazy = da.from_array(np.array(labels, dtype=object), chunks=3)
    with pytest.raises(ValueError, match="missing labels"):
        DivideConquerSVC().fit(da.from_array(X, chunks=(3, 2)), lazy)


@pytest.mark.parametrize(
    "labels", [TEXT, np.array(TEXT, dtype=object), [0, 1], [0.0, 1.0], None, [[1], [2]]]
)
def test_other_labels_are_left_to_scikit_learn(labels):
    assert refuse_odd_labels(labels) is None


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_missing_probabilities_name_calibration(model, method):
    assert not hasattr(model, method)
    words = rf"{type(model).__name__} has no {method}\. (.|\n)*CalibratedClassifierCV\("
    with pytest.raises(AttributeError, match=words):
        getattr(model, method)


def test_the_remedy_for_probabilities_works():
    rows = np.random.default_rng(1).standard_normal((80, 2))
    model = CalibratedClassifierCV(SVC(), ensemble=False)
    shares = model.fit(rows, rows[:, 0] > 0).predict_proba(rows)
    assert shares.shape == (80, 2) and (shares >= 0).all()

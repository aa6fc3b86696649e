"""The accuracy of a classifier is scikit-learn's, whatever the labels are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score

from widemargin import SVC

X, Y = load_iris(return_X_y=True)
X = X[:, :2]  # of which classes overlap
LABELS = {
    "integers": Y,
    "whole floats": Y.astype(float),
    "far apart": np.array([-7, 0, 1000])[Y],
    "booleans": Y > 1,
    "strings": np.array(["a", "b", "c"])[Y],
    "a list": Y.tolist(),
    "objects": np.array(["a", "b", "c"], dtype=object)[Y],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_score_is_the_accuracy(labels: Any) -> None:
    model = SVC().fit(X[::2], labels[::2])
    expected = accuracy_score(labels, model.predict(X))
    assert 0.5 < expected < 1.0
    score = model.score(X, labels)
    assert type(score) is float
    assert score == expected


def test_rows_count_with_their_weight() -> None:
    model = SVC().fit(X[::2], Y[::2])
    weights = np.linspace(0.0, 2.0, Y.size)
    expected = accuracy_score(Y, model.predict(X), sample_weight=weights)
    assert model.score(X, Y, sample_weight=weights) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        Y[:-1],
        Y + 0.5,
        np.array(["a", "b", "c"])[Y],
        np.eye(3, dtype=int)[Y],
    ],
    ids=["too few", "fractions", "other kind", "a table"],
)
def test_labels_that_scikit_learn_refuses_are_refused_in_its_words(wrong: Any) -> None:
    model = SVC().fit(X, Y)
    with pytest.raises((ValueError, TypeError)) as expected:
        accuracy_score(wrong, model.predict(X))
    with pytest.raises(expected.type) as found:
        model.score(X, wrong)
    assert str(found.value) == str(expected.value)

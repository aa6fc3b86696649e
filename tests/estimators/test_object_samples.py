"""Callable kernels on samples that are no numbers: strings, tuples, sets."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin import SVC, SVR, OneClassSVM, QuantileSVR, RampSVC

WORDS = ["a", "ab", "abb", "abc", "b", "bb", "bcc", "c", "cc", "ccc", "ca", "cab"]


def counted(words):
    return np.array([[word.count(letter) for letter in "abc"] for word in words], float)


def letters(A, B):
    assert isinstance(A[0], str) and isinstance(B[0], str)
    return counted(A) @ counted(B).T


def common(A, B):
    return np.array([[float(len(a & b)) for b in B] for a in A])


X = counted(WORDS)
y = X[:, 0] - 0.5 * X[:, 2]


@pytest.mark.parametrize("form", [list, tuple, np.array])
def test_every_model_takes_strings_as_it_takes_their_features(form):
    words = form(WORDS)
    for model in (SVR(C=5.0), QuantileSVR(quantile=[0.2, 0.7])):
        linear = type(model)(**model.get_params() | {"kernel": "linear"}).fit(X, y)
        strings = model.set_params(kernel=letters).fit(words, y)
        assert_allclose(strings.predict(words[:5]), linear.predict(X[:5]), atol=1e-8)
        assert_array_equal(strings.support_vectors_, np.array(WORDS)[strings.support_])
    labels = np.where(y > 0, "up", "down")
    for model in (SVC(), RampSVC()):
        linear = type(model)(kernel="linear").fit(X, labels)
        strings = model.set_params(kernel=letters).fit(words, labels)
        assert_array_equal(strings.predict(words), linear.predict(X))
    outliers = OneClassSVM(kernel=letters, nu=0.3).fit(words)
    expected = OneClassSVM(kernel="linear", nu=0.3).fit(X)
    assert_allclose(
        outliers.decision_function(words), expected.decision_function(X), atol=1e-8
    )


def test_sets_and_weights():
    samples = [set(word) for word in WORDS]
    weights = np.where(np.arange(12) % 3, 1.0, 0.0)
    model = SVR(kernel=common).fit(samples, y, weights)
    kept = np.flatnonzero(weights)
    fewer = SVR(kernel=common).fit([samples[k] for k in kept], y[kept])
    assert_allclose(model.predict(samples), fewer.predict(samples), atol=1e-8)
    assert_array_equal(model.support_, kept[fewer.support_])
    assert model.certificate_.gap <= 1e-8


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SVR(kernel=letters).fit(WORDS, y[:-1])
    with pytest.raises(ValueError, match="0 sample"):
        OneClassSVM(kernel=letters).fit(np.array([], dtype=str))
    with pytest.raises(ValueError, match="could not convert string"):
        SVR().fit(WORDS, y)


def test_lists_of_different_lengths():
    samples = [[ord(letter) for letter in word] for word in WORDS]

    def overlap(A, B):
        return common([set(a) for a in A], [set(b) for b in B])

    model = SVR(kernel=overlap).fit(samples, y)
    sets = [set(word) for word in WORDS]
    expected = SVR(kernel=common).fit(sets, y).predict(sets)
    assert_allclose(model.predict(samples), expected, atol=1e-8)

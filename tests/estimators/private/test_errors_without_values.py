"""No exception that private data cause tells a value of theirs."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from widemargin import PrivateSVC, PublicBoundsScaler, privacy_audit
from widemargin.estimators.private.errors_without_values import unquoted, without_values

from tests.estimators.private.sentinels import chain, quotes

WORD, NUMBER = "secret-diagnosis", 917352.75
TOLD = (WORD, "917352")
GOOD = np.arange(24.0).reshape(8, 3), np.arange(8) % 2


class Patient:
    """An object that shows itself in everything that it raises."""

    def __repr__(self):
        return f"Patient({WORD})"

    __str__ = __repr__

    def __float__(self):
        raise ValueError(f"no number: {self}")

    def __hash__(self):
        raise TypeError(f"no key: {self}")

    def __eq__(self, other):
        raise RuntimeError(f"not comparable: {self}")


def with_entry(entry, dtype=object):
    X = GOOD[0].astype(dtype)
    X[3, 1] = entry
    return X


def frame(column):
    return pd.DataFrame(GOOD[0], columns=["a", "b", "c"]).assign(b=column)


BAD_ROWS = {
    "text": with_entry(WORD),
    "text array": with_entry(WORD).astype(str),
    "bytes": with_entry(WORD.encode()),
    "list of lists": [[1.0, WORD], [NUMBER, 2.0]],
    "ragged": [[1.0, NUMBER], [NUMBER]],
    "object": with_entry(Patient()),
    "a dictionary": with_entry({WORD: NUMBER}),
    "complex": with_entry(complex(NUMBER, NUMBER), complex),
    "too large": with_entry(10**400 + int(NUMBER)),
    "decimal": with_entry(Decimal("1E+999999")),
    "NaN": with_entry(np.nan, float) + NUMBER,
    "infinity": np.full((8, 3), NUMBER) * np.inf,
    "one row": np.full(3, NUMBER),
    "a number": NUMBER,
    "three axes": np.full((2, 2, 2), NUMBER),
    "no rows": np.empty((0, 3)),
    "frame with text": frame([WORD] * 8),
    "frame with categories": frame(pd.Categorical([WORD] * 8)),
    "frame with a gap": frame(pd.array([int(NUMBER), None] * 4, dtype="Int64")),
    "frame with objects": frame([Patient()] * 8),
    "series": pd.Series([WORD] * 8),
    "sparse NaN": sparse.csr_matrix(with_entry(np.nan, float)),
    "sparse complex": sparse.csr_matrix(with_entry(complex(NUMBER, 1.0), complex)),
    "sparse vector": sparse.coo_array(np.full(3, NUMBER)),
    "text alone": WORD,
    "another object": Patient(),
}
BAD_LABELS = {
    "not a class": np.full(8, NUMBER),
    "text": np.array([WORD] * 8),
    "an object": np.array([Patient()] * 8, dtype=object),
    "text and numbers": np.array([WORD, 1.5] * 4, dtype=object),
    "text and None": np.array([WORD, None] * 4, dtype=object),
    "lists": np.array([[WORD], [1, 2]] * 4, dtype=object),
    "NaN": np.array([NUMBER, np.nan] * 4),
    "two columns": np.full((8, 2), NUMBER),
    "too many": np.full(9, NUMBER),
    "fractions": NUMBER + np.arange(8) / 7,
    "sparse": sparse.csr_matrix(np.full((8, 1), NUMBER)),
    "frame": pd.DataFrame({"y": [WORD] * 8, "z": [NUMBER] * 8}),
    "complex": np.full(8, complex(NUMBER, 1.0)),
    "a word": WORD,
    "nothing": None,
}


def private_svc(**settings):
    return PrivateSVC(**{"clip_norm": 30.0, "classes": [0, 1]} | settings)


def assert_unquoted(action, *arguments):
    """The error that an action must raise, whole with all that is chained to it."""
    with pytest.raises((ValueError, TypeError)) as caught:
        action(*arguments)
    assert not quotes(caught.value, *TOLD)
    assert list(chain(caught.value)) == [caught.value]
    assert str(caught.value)
    return caught.value


@pytest.mark.filterwarnings("ignore")  # numpy and pandas on odd arrays
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_no_error_quotes_a_feature(kind):
    X = BAD_ROWS[kind]
    y = np.arange(len(X) if isinstance(X, list) else 8) % 2
    fitted = private_svc().fit(*GOOD)
    scaler = PublicBoundsScaler(0.0, 30.0).fit(GOOD[0])
    assert_unquoted(private_svc().fit, X, y)
    assert_unquoted(fitted.predict, X)
    assert_unquoted(fitted.decision_function, X)
    assert_unquoted(fitted.score, X, y)
    assert_unquoted(scaler.fit, X)
    assert_unquoted(scaler.transform, X)
    assert_unquoted(
        make_pipeline(PublicBoundsScaler(0.0, 30.0), private_svc()).fit, X, y
    )
    assert_unquoted(privacy_audit, private_svc(), X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("classes", [[0, 1], ["no", "yes"], None], ids=str)
@pytest.mark.parametrize("kind", BAD_LABELS)
def test_no_error_quotes_a_label(kind, classes):
    X, y = GOOD[0], BAD_LABELS[kind]
    if not (kind == "text" and classes is None):  # one class only
        assert_unquoted(private_svc(classes=classes).fit, X, y)
    assert_unquoted(privacy_audit, private_svc(classes=classes), X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", sorted(set(BAD_LABELS) - {"not a class", "a word"}))
def test_no_error_of_a_score_quotes_a_label(kind):
    # Text beside numbers: scikit-learn would list the labels of both.
    assert_unquoted(private_svc().fit(*GOOD).score, GOOD[0], BAD_LABELS[kind])
    weights = np.array([WORD] * 8)
    assert_unquoted(
        lambda: private_svc().fit(*GOOD).score(*GOOD, sample_weight=weights)
    )


def test_weights_have_no_way_in():
    with pytest.raises(TypeError, match="sample_weight"):
        private_svc().fit(*GOOD, sample_weight=np.full(8, NUMBER))


def test_class_weights_of_classes_found_quote_none():
    y = np.where(GOOD[1] == 1, WORD, "other")
    error = assert_unquoted(
        private_svc(classes=None, class_weight={"x": 2.0}).fit, GOOD[0], y
    )
    assert "class_weight names a class" in str(error)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("text", "encode text first"),
        ("one row", "got 1D array instead. Reshape your data"),
        ("complex", "Complex data not supported"),
        ("NaN", "Input X contains NaN"),
        ("ragged", "Every row must have as many entries"),
        ("a dictionary", "argument must be a string or a real number, not 'dict'"),
        ("object", "check their types and shapes (a ValueError; values are not shown)"),
    ],
)
def test_the_remedy_stays(X, message):
    X = BAD_ROWS[X]
    assert message in str(assert_unquoted(private_svc().fit, X, np.arange(len(X)) % 2))


def test_a_message_known_by_its_head_is_cut_there():
    # Data that look like one of scikit-learn's sentences pass for nothing.
    told = unquoted(ValueError(f"Input X contains NaN: {WORD}"))
    assert str(told).startswith("Input X contains NaN") and not quotes(told, WORD)
    odd = unquoted(ValueError(f"{WORD} Input X contains NaN"))
    assert not quotes(odd, WORD) and "Input X" not in str(odd)
    assert isinstance(unquoted(TypeError(WORD)), TypeError)


def test_what_is_not_about_values_passes():
    def full():
        raise MemoryError("Unable to allocate 8 GiB")

    with pytest.raises(MemoryError, match="8 GiB"):
        without_values(full)
    with pytest.raises(KeyboardInterrupt):
        without_values(lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    assert math.isclose(without_values(math.sqrt, 4.0), 2.0)

"""Bad input: scikit-learn's own wording where it has one, never a crash."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from widemargin import SVC

X, y = make_classification(60, 4, flip_y=0.2, random_state=0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_non_finite_samples(bad, form):
    broken = X.copy()
    broken[3, 1] = bad
    given = sparse.csr_matrix(broken) if form == "csr" else broken
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        SVC().fit(given, y)
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
        model.predict(given)


@pytest.mark.parametrize(
    ("samples", "labels", "message"),
    [
        (X[:5], y, "inconsistent numbers of samples"),
        (X[0], y, "Expected 2D array, got 1D array"),
        (X, y.reshape(-1, 1) @ np.ones((1, 2)), "y should be a 1d array"),
        (X[:0], y[:0], "Found array with 0 sample"),
        (X[:, :0], y, "0 feature"),
        (X, np.zeros(60), "number of classes has to be greater than one; got 1 class"),
        (X, np.linspace(0, 1, 60), "Unknown label type"),
        (X.astype(complex), y, "Complex data not supported"),
        (np.full((3, 2), "a"), [0, 1, 0], "could not convert string to float"),
    ],
)
def test_wrong_shapes_and_labels(samples, labels, message):
    with (
        warnings.catch_warnings(),
        pytest.raises((ValueError, TypeError), match=message),
    ):
        warnings.simplefilter("ignore")
        SVC().fit(samples, labels)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, r"The 'C' parameter of SVC must be a float in the range"),
        ({"C": -1.0}, r"The 'C' parameter of SVC"),
        ({"C": "1"}, r"The 'C' parameter of SVC"),
        ({"kernel": "cubic"}, r"The 'kernel' parameter of SVC must be"),
        ({"gamma": -1.0}, r"The 'gamma' parameter of SVC"),
        ({"gamma": "huge"}, r"The 'gamma' parameter of SVC"),
        ({"degree": -1}, r"The 'degree' parameter of SVC"),
        ({"degree": 1001}, r"The 'degree' parameter of SVC .* range \[0, 1000\]"),
        ({"degree": 2**31 - 1}, r"The 'degree' parameter of SVC .* range \[0, 1000\]"),
        ({"tol": 0.0}, r"The 'tol' parameter of SVC"),
        ({"cache_size": 0.0}, r"The 'cache_size' parameter of SVC"),
        ({"cache_size": "much"}, r"The 'cache_size' parameter of SVC"),
        ({"max_iter": -2}, r"The 'max_iter' parameter of SVC"),
        ({"max_time": -1.0}, r"The 'max_time' parameter of SVC"),
        ({"decision_function_shape": "all"}, "decision_function_shape"),
        ({"class_weight": "even"}, r"The 'class_weight' parameter of SVC"),
    ],
    ids=str,
)
def test_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        SVC(**parameters).fit(X, y)


def test_probability_says_what_to_paste():
    with pytest.raises(ValueError, match="CalibratedClassifierCV") as raised:
        SVC(C=3.0, class_weight={0: 2.0}, probability=True).fit(X, y)
    pasted = str(raised.value).replace("    ", "").splitlines()[1:]
    assert pasted[0] == "from sklearn.calibration import CalibratedClassifierCV"
    names = {"SVC": SVC, "X": X, "y": y}
    exec("\n".join([pasted[0], f"model = {pasted[1]}"]), names)  # as a user does
    own = names["model"].calibrated_classifiers_[0].estimator
    assert own.get_params() == SVC(C=3.0, class_weight={0: 2.0}).get_params()
    assert not hasattr(SVC().fit(X, y), "predict_proba")


def test_precomputed_must_be_square():
    with pytest.raises(ValueError, match="Precomputed matrix must be a square matrix"):
        SVC(kernel="precomputed").fit(X, y)
    model = SVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="60"):
        model.predict(X)


def test_predict_before_fit_and_with_other_features():
    with pytest.raises(NotFittedError):
        SVC().predict(X)
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but SVC is expecting 4"):
        model.predict(X[:, :3])


@pytest.mark.parametrize("integers", [np.int32, np.int64])
def test_both_widths_of_indices_are_taken(integers):
    given = sparse.csr_matrix(X)
    given.indices = given.indices.astype(integers)
    given.indptr = given.indptr.astype(integers)
    model = SVC().fit(given, y)
    assert model.certificate_.kkt_violation <= 1e-3
    assert (model.predict(given) == SVC().fit(X, y).predict(X)).all()


def test_more_features_than_fit_into_32_bits():
    indices = np.array([1, 2**33, 5, 2**33 + 1], dtype=np.int64)
    indptr = np.array([0, 2, 4], dtype=np.int64)
    given = sparse.csr_matrix((np.ones(4), indices, indptr), shape=(2, 2**34))
    with pytest.raises(ValueError, match=r"2147483647|2\^31|32-bit"):
        SVC(gamma=1.0).fit(given, [0, 1])


def test_damaged_csr_is_refused_not_read():
    given = sparse.csr_matrix(X)
    given.indices[5] = 10_000  # beyond the last column
    with pytest.raises((ValueError, IndexError)):
        SVC().fit(given, y)
    given.indices[5] = -3
    with pytest.raises((ValueError, IndexError)):
        SVC().fit(given, y)


def test_unsorted_and_duplicate_indices_are_summed():
    one = sparse.csr_matrix(X)
    data = np.repeat(one.data / 2, 2)[::1]
    twice = sparse.csr_matrix(
        (data, np.repeat(one.indices, 2), one.indptr * 2), shape=one.shape
    )
    expected = SVC().fit(one, y).decision_function(one)
    np.testing.assert_allclose(
        SVC().fit(twice, y).decision_function(one), expected, atol=1e-8
    )


def test_not_converged_names_the_violation_and_the_remedy():
    with pytest.warns(ConvergenceWarning, match=r"violation.*(max_iter|scale|Scale)"):
        model = SVC(max_iter=1, C=1000.0).fit(X, y)
    assert model.certificate_.status == "max_iter"
    assert model.certificate_.kkt_violation > 1e-3
    assert model.fit_status_ == 1
    model.predict(X)

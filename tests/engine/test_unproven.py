"""Where the kernel is not positive semidefinite there is no bound, and none is told."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel, sigmoid_kernel

from widemargin import (
    SVC,
    CostSensitiveSVC,
    DivideConquerSVC,
    RampSVC,
    load,
    save,
)

X, y = make_classification(120, 5, flip_y=0.1, random_state=0)
INDEFINITE = [
    {"kernel": "sigmoid", "gamma": 0.5, "coef0": -1.0},
    {"kernel": "poly", "gamma": 1.0, "coef0": -1.0, "degree": 2},
    {"kernel": lambda A, B: sigmoid_kernel(A, B, gamma=0.5, coef0=-1.0)},
]
EARLY = {"prediction": "early", "n_levels": 1, "n_branches": 2}


def assert_unproven(model):
    """Assert that neither the certificate nor the history tells of a bound."""
    certificate = model.certificate_
    assert certificate.bound is None and certificate.gap is None
    assert certificate.kkt_violation >= 0 and np.isfinite(certificate.objective)
    assert model.history_[-1]["gap"] is None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", INDEFINITE, ids=["sigmoid", "poly", "callable"])
@pytest.mark.parametrize("estimator", [SVC, CostSensitiveSVC, RampSVC])
def test_an_indefinite_kernel_has_no_bound(estimator, kernel):
    assert_unproven(estimator(**kernel, max_time=5.0).fit(X, y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", INDEFINITE[:2], ids=["sigmoid", "poly"])
def test_nor_have_its_clusters(kernel):
    assert_unproven(DivideConquerSVC(**kernel, **EARLY, max_time=5.0).fit(X, y))
    assert_unproven(SVC(**kernel, solver="divide", max_time=5.0).fit(X, y))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nor_has_a_matrix_that_shows_it():
    K = sigmoid_kernel(X, gamma=0.5, coef0=-1.0)
    assert np.linalg.eigvalsh(K)[0] < -1.0
    assert_unproven(SVC(kernel="precomputed", max_time=5.0).fit(K, y))


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("function", [linear_kernel, rbf_kernel])
def test_a_semidefinite_matrix_keeps_its_bound(function, precision):
    K = function(X).astype(precision)
    K = np.tile(K, (3, 3)) * precision(1e3)  # singular: eigenvalues of either sign
    labels = np.tile(y, 3)
    for kernel, given in (
        ("precomputed", K),
        (lambda A, B: 1e3 * function(A, B), np.tile(X, (3, 1)).astype(precision)),
    ):
        certificate = SVC(kernel=kernel, C=1e-3).fit(given, labels).certificate_
        assert certificate.gap >= 0
        assert_allclose(certificate.bound + certificate.gap, certificate.objective)


def test_learning_on_and_files_carry_it(tmp_path):
    kernel = INDEFINITE[0]
    model = (
        SVC(keep_rows=True, **kernel).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    )
    assert_unproven(model)
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").certificate_.bound is None
    several = SVC(**kernel).fit(*load_iris(return_X_y=True))
    assert [c.bound for c in several.certificate_] == [None] * 3

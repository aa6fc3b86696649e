"""C = inf: full margins, a certificate of the hard-margin problem, or an error."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import svm
from sklearn.datasets import load_iris, make_blobs

from widemargin import SVC

from tests.oracles.expansions import outputs
from tests.oracles.generic_qp import solve_clarabel
from tests.oracles.nu_problems import long_kernel


def separated(seed: int, n: int = 50):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    side = X[:, 0] + 0.5 * X[:, 1]
    X[:, 0] += 0.2 * np.sign(side)
    return X, np.where(side > 0, 1, -1)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_margin_is_full_and_the_certificate_is_true(seed, kernel):
    X, y = separated(seed)
    model = SVC(C=np.inf, kernel=kernel, gamma=0.5, fit_intercept=seed % 3 > 0)
    model.fit(X, y, np.linspace(0.5, 2.0, 50))  # weights do not matter
    beta, b = next(outputs(model, 50))
    K = long_kernel(model, X)
    f = K @ beta.astype(np.longdouble)
    assert (y * (f + b)).min() >= 1 - 1e-15
    certificate, reached = model.certificate_, beta @ f / 2
    total = 0.0 if model.fit_intercept else None
    wide = np.full(50, 1e6)
    box = np.where(y > 0, 0, -wide), np.where(y > 0, wide, 0)
    K = np.asarray(K, dtype=float)
    best = solve_clarabel(K, y.astype(float), *box, total)
    optimum = y @ best - 0.5 * best @ K @ best
    assert_allclose(float(reached), optimum, rtol=1e-6)
    assert certificate.bound <= reached <= certificate.objective
    assert certificate.gap <= 1e-7 * certificate.objective


def test_it_is_a_very_large_c():
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    hard, soft = SVC(C=np.inf).fit(X, y), svm.SVC(C=1e10, tol=1e-8).fit(X, y)
    assert_allclose(hard.decision_function(X), soft.decision_function(X), atol=1e-4)
    three = SVC(C=np.inf, gamma=5.0).fit(*load_iris(return_X_y=True))
    assert len(three.certificate_) == 3


def test_a_loose_fit_has_full_margins_too():
    X, y = make_blobs(2500, centers=[[0, 0], [4, 4]], cluster_std=0.5, random_state=0)
    model = SVC(C=np.inf, kernel="linear", tol=1e-2).fit(X, y)
    assert (np.where(y == 1, 1, -1) * model.decision_function(X)).min() >= 1 - 1e-12
    assert model.certificate_.gap <= 0.05 * model.certificate_.objective


def test_what_cannot_be_separated_is_refused():
    X, y = separated(0)
    y[:5] = -y[:5]
    with pytest.raises(ValueError, match=r"cannot be separated .* Use a finite C"):
        SVC(C=np.inf, kernel="linear").fit(X, y)


def test_rows_need_a_finite_c():
    X, y = separated(1)
    for model, ids in (
        (SVC(C=np.inf, keep_rows=True), None),
        (SVC(C=np.inf), range(50)),
    ):
        with pytest.raises(ValueError, match="finite C"):
            model.fit(X, y, ids=None if ids is None else np.array(ids))
    with pytest.raises(ValueError, match="finite C"):
        SVC(C=np.inf).partial_fit(X, y, classes=[-1, 1])

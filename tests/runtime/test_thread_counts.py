"""One thread and two give the same bits, whatever the kernel, data and recipe."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from widemargin import SVC, RampSVC
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Linear, Polynomial
from widemargin.engine.problem import classification_problem
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.estimators.base.validation import effective_threads


def dense(n, features=8):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, features))
    return X, X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n)


def csr(n):
    """Wide and thin enough to stay sparse in the engine."""
    X = sparse.random_array((n, 100), density=0.05, format="csr", rng=2)
    return X, X @ np.random.default_rng(2).standard_normal(100)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("data", "n", "kernel"),
    [
        (dense, 300, Gaussian(0.2)),
        (dense, 6_000, Gaussian(0.2)),
        (csr, 4_000, Gaussian(0.5)),
        (csr, 4_000, Linear()),
        (dense, 1_500, Linear()),
        (dense, 4_000, Polynomial(2, 0.2, 1.0)),
    ],
    ids=lambda case: getattr(case, "__name__", str(case)),
)
def test_a_solve(data, n, kernel, fit_intercept):
    X, score = data(n)
    y = np.where(score > np.median(score), 1.0, -1.0)
    one, two = (
        solve(
            classification_problem(
                Gram(X, kernel, threads=threads), y, 5.0, fit_intercept
            ),
            SolveOptions(seed=3),
        )
        for threads in (1, 2)
    )
    assert one.status in ("converged", "polished")
    assert_array_equal(one.beta, two.beta)
    assert_array_equal(one.values, two.values)
    assert one.intercept == two.intercept
    assert one.n_iter == two.n_iter


@pytest.mark.parametrize(
    ("model", "classes"),
    [
        (SVC(C=10.0), 5),
        (SVC(C=1.0, kernel="linear"), 5),
        (RampSVC(C=10.0), 2),
        (RampSVC(C=10.0, init="svm", screening="safe"), 2),
        (RampSVC(C=10.0), 5),
    ],
    ids=str,
)
def test_a_fit(model, classes):
    X, y = make_blobs(4_000, 6, centers=classes, cluster_std=5.0, random_state=0)
    one, two = (
        type(model)(**model.get_params() | {"n_jobs": n_jobs, "random_state": 0})
        for n_jobs in (1, 2)
    )
    for fitted in (one, two):
        fitted.fit(X, y)
    assert_array_equal(one.support_, two.support_)
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.intercept_, two.intercept_)
    assert_array_equal(one.decision_function(X), two.decision_function(X))
    if isinstance(model, RampSVC):
        assert one.outliers_.size > 0
        assert_array_equal(one.outliers_, two.outliers_)
        assert_array_equal(one.objective_, two.objective_)


CROWDED = """
import resource
import numpy as np
from widemargin import SVC
rng = np.random.default_rng(0)
X = rng.standard_normal((1500, 20))
y = X[:, 0] + rng.standard_normal(1500) > 0
alone = SVC(n_jobs=1, cache_size=20).fit(X, y).decision_function(X)
pages = int(open("/proc/self/statm").read().split()[0])
room = pages * resource.getpagesize() + (150 << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))  # stacks of a few threads
crowd = SVC(n_jobs=200, cache_size=20).fit(X, y).decision_function(X)
print((alone == crowd).all())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_threads_that_the_system_refuses_are_done_without():
    done = subprocess.run(
        [sys.executable, "-c", CROWDED], capture_output=True, text=True
    )
    assert done.stdout == "True\n", done.stderr


def test_no_more_threads_than_make_sense():
    assert effective_threads(3) == 3
    assert effective_threads(2**40) <= max(256, effective_threads(-1))

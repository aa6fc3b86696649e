"""Regressions on few rows: one compiled call for a problem with a kink at zero."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import svm
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVR
from widemargin.engine.batch_certificates import certify_batch
from widemargin.engine.gram import Gram
from widemargin.engine.kernel_table import BatchOptions, KernelTable
from widemargin.engine.kernels import Gaussian, Polynomial, Precomputed
from widemargin.engine.path import accurate
from widemargin.engine.problem_batches import batch_of, joined_terms
from widemargin.estimators.base import kernel_machine
from widemargin.estimators.base.task import BoxTask
from widemargin.estimators.svr import tube_terms

from tests.certified import kernel_matrix, truth_of
from tests.oracles.claims import assert_claims_hold
from tests.problems import standard


def patients(n):
    X, y = load_diabetes(return_X_y=True)
    return standard(X[:n]), (y[:n] - y.mean()) / y.std()


def solved_tube(X, y, kernel, epsilon, *, C=2.0, total=0.0, **options):
    """Solve one regression as a batch over a kernel matrix."""
    gram = Gram(X, kernel)
    terms = tube_terms(y, np.full(y.size, C), epsilon, total)
    tasks = [BoxTask(gram, np.arange(y.size), *terms)]
    batch = batch_of(tasks, joined_terms(tasks))
    assert batch is not None
    assert batch.kink is not None
    return KernelTable(gram).solve(batch, BatchOptions(**options))


@pytest.mark.parametrize("n", [50, 150, 442])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_small_fits_are_one_call_exact_and_those_of_scikit_learn(
    n, fit_intercept, monkeypatch
):
    X, y = patients(n)

    def alone(*_):
        raise AssertionError("the compiled call has solved it")

    monkeypatch.setattr(kernel_machine, "solve", alone)
    model = SVR(epsilon=0.2, fit_intercept=fit_intercept).fit(X, y)
    certificate = model.certificate_
    assert certificate.status == "polished"
    assert certificate.kkt_violation < 1e-9
    assert 0.0 <= certificate.gap < 1e-8 * (1.0 + certificate.objective)
    if fit_intercept:
        reference = svm.SVR(epsilon=0.2, tol=1e-8).fit(X, y)
        assert_allclose(model.predict(X), reference.predict(X), atol=1e-5)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.1), Polynomial(2, 0.1, 1.0), Precomputed()],
    ids=lambda kernel: type(kernel).__name__,
)
@pytest.mark.parametrize("total", [0.0, None])
@pytest.mark.parametrize("polish", ["always", "never"])
@pytest.mark.parametrize("epsilon", [0.05, 0.8])
def test_the_certificate_of_a_batch_is_true_and_that_of_the_solution(
    kernel, total, polish, epsilon
):
    X, y = patients(120)
    if isinstance(kernel, Precomputed):
        X = kernel_matrix(Gaussian(0.1), X)
    solved = solved_tube(X, y, kernel, epsilon, total=total, polish=polish)
    (intercept,), (certificate,) = certify_batch(solved)
    solution = solved.solution(0)
    alone = solution.certificate
    assert_allclose(intercept, solution.intercept, atol=1e-12)
    assert_allclose(certificate.objective, alone.objective, rtol=1e-12)
    assert_allclose(certificate.kkt_violation, alone.kkt_violation, atol=1e-15)
    assert_allclose(certificate.bound, alone.bound, rtol=1e-11)
    assert_claims_hold(certificate, truth_of(solution))


def test_rows_far_within_the_tube_are_not_evaluated_in_float64():
    X, y = patients(400)
    solved = solved_tube(X, y, Gaussian(0.1), 1.0, polish="never")
    far = ~solved.summed
    assert far.sum() > 50
    assert not solved.beta[far].any()
    assert_claims_hold(certify_batch(solved)[1][0], truth_of(solved.solution(0)))
    whole = accurate(solved.solution(0)).certificate
    figures = whole.objective, whole.bound, whole.gap
    assert_allclose(figures, solved.figures[0, 1:4], rtol=1e-9, atol=1e-9)


def test_duplicated_rows_and_targets_at_the_edge_of_the_tube():
    """Ties at the kink and at the bounds: members leave zero by either side."""
    X = np.repeat(np.arange(6.0)[:, None], 4, axis=0)
    y = np.tile([0.0, 0.5, -0.5, 1.0], 6)
    for C in (0.05, 1.0, 50.0):
        model = SVR(C=C, epsilon=0.5, gamma=1.0).fit(X, y)
        solved = solved_tube(X, y, Gaussian(1.0), 0.5, C=C)
        assert_claims_hold(certify_batch(solved)[1][0], truth_of(solved.solution(0)))
        assert model.certificate_.kkt_violation < 1e-9


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("C", [1e-10, 1.0])
def test_the_tolerance_counts_the_rounding_of_large_targets(C, polish):
    """It was "polished" beside a violation above the tolerance, all of it rounding."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(7, 3)), 1e100 * rng.normal(size=7)
    model = SVR(C=C, polish=polish)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    certificate = model.certificate_
    assert certificate.status == "stalled" and certificate.kkt_violation > model.tol

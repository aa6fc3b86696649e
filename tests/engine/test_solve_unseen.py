"""What a solve says of samples that nobody looked at before its time was up."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin.engine.bounded_values import CURRENT, UNKNOWN, Evidence
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian, Linear, Sigmoid
from widemargin.engine.problem import classification_problem
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.engine.verification import verify
from widemargin.runtime.deadline import Deadline

ROWS = 9_000


def problem(n=ROWS, kernel=None):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return classification_problem(Gram(X, kernel or Gaussian(0.5)), y, np.ones(n))


def test_without_time_nobody_is_looked_at():
    task = problem()
    stopped = solve(task, SolveOptions(deadline=Deadline.after(1e-9)))
    assert stopped.status == "max_time"
    assert (stopped.evidence.anchors == UNKNOWN).sum() > ROWS / 2
    assert task.gram.evaluated < ROWS  # the diagonal, and no look at everybody
    assert_allclose(stopped.values, stopped.recomputed().values)
    truth = stopped.recomputed().certificate
    assert stopped.certificate.gap >= truth.gap >= 0.0


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear()])
def test_the_certificate_of_unseen_samples_is_a_bound(kernel):
    task = problem(400, kernel)
    half = np.arange(400) < 150
    part = task.reduced(np.flatnonzero(half), np.zeros(400))
    beta = np.zeros(400)
    beta[half] = solve(part).beta
    values = task.gram.times(beta)
    anchors = np.where(half, CURRENT, UNKNOWN).astype(np.int32)
    evidence = Evidence(np.where(half, 1e-12, np.inf), anchors, [])
    known = np.where(half, values, 0.0)
    stopped = Solution(task, beta, known, Status.MAX_TIME, evidence=evidence)
    truth = stopped.recomputed()
    assert stopped.certificate.gap >= truth.certificate.gap - 1e-9
    assert stopped.certificate.kkt_violation >= truth.certificate.kkt_violation - 1e-9
    assert stopped.certificate.bound <= truth.certificate.objective + 1e-9
    assert_allclose(stopped.values, values, atol=1e-12)
    assert_allclose(stopped.intercept, solve(part).intercept, atol=1e-2)


def test_where_no_bound_is_known_the_values_are_computed():
    """A sigmoid has no norm: Cauchy-Schwarz does not hold."""
    task = problem(1_000, Sigmoid(0.1, 0.0))
    beta = np.where(np.arange(1_000) < 300, task.linear, 0.0)
    values = task.gram.times(beta)
    unknown = np.arange(1_000) >= 600
    anchors = np.where(unknown, UNKNOWN, CURRENT).astype(np.int32)
    evidence = Evidence(np.where(unknown, np.inf, 1e-9), anchors, [])
    known = np.where(unknown, 0.0, values)
    checked = verify(task, beta, known, evidence, late=True)
    assert checked.summed[unknown].all()
    assert (np.abs(checked.values - values) <= checked.errors + 1e-12).all()
    assert checked.errors.max() < 1e-2


def test_products_are_summed_only_for_points_that_the_solution_has_left(monkeypatch):
    task = problem(1_200)
    solution = solve(task)
    beta, values = solution.beta, task.gram.times(solution.beta)
    earlier = np.where(np.arange(1_200) < 600, beta, 0.0)
    anchors = np.where(np.arange(1_200) % 2, 0, 2).astype(np.int32)
    known = np.where(anchors == 2, task.gram.times(earlier), values)
    evidence = Evidence(np.full(1_200, 1e-9), anchors, [beta.copy(), beta, earlier])
    counted, products = [], Gram.bounded_products
    monkeypatch.setattr(
        Gram,
        "bounded_products",
        lambda *call: counted.append(call[2]) or products(*call),
    )
    checked = verify(task, beta, known, evidence)
    (vectors,) = counted
    assert [vector.any() for vector in vectors] == [True, True]
    assert (np.abs(checked.values - values) <= checked.errors).all()
    same = (anchors == 0) & ~checked.summed
    assert same.any()
    assert_allclose(checked.errors[same], 1e-9, rtol=1e-6)

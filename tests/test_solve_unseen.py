"""What a solve says of samples that nobody looked at before its time was up."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from widemargin.gram import Gram
from widemargin.kernels import Gaussian, Linear, Sigmoid
from widemargin.problem import classification_problem
from widemargin.solution import Solution, assume_the_worst
from widemargin.solve import solve

ROWS = 9_000


def problem(n=ROWS, kernel=None):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return classification_problem(Gram(X, kernel or Gaussian(0.5)), y, np.ones(n))


def test_without_time_nobody_is_looked_at():
    task = problem()
    stopped = solve(task, max_time=1e-9)
    assert stopped.status == "max_time"
    assert stopped.unseen is not None and stopped.unseen.sum() > ROWS / 2
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
    gradient = values - task.linear
    gradient[~half] = np.nan
    stale = ~half
    unseen = assume_the_worst(task, beta, gradient, stale)
    assert unseen is not None and (unseen == ~half).all()
    assumed = gradient + task.linear
    assert (task.linear * assumed <= task.linear * values + 1e-9)[unseen].all()
    assert_allclose(assumed[half], values[half])
    stopped = Solution(
        task, beta, assumed, "max_time", stale=stale.copy(), unseen=unseen
    )
    truth = stopped.recomputed()
    assert stopped.certificate.gap >= truth.certificate.gap - 1e-9
    assert stopped.certificate.kkt_violation >= truth.certificate.kkt_violation - 1e-9
    assert stopped.certificate.bound <= truth.certificate.objective + 1e-9
    assert_allclose(stopped.values, values, atol=1e-12)
    assert_allclose(stopped.intercept, solve(part).intercept, atol=1e-2)


def test_where_no_bound_is_known_the_values_are_computed():
    task = problem(60, Sigmoid(0.1, 0.0))
    beta = np.where(np.arange(60) < 20, task.linear, 0.0)
    values = task.gram.times(beta)
    gradient = values - task.linear
    gradient[40:] = np.nan
    stale = np.arange(60) >= 40
    assert assume_the_worst(task, beta, gradient, stale) is None
    assert_allclose(gradient, values - task.linear)
    assert not stale.any()

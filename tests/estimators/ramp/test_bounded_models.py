"""Ramp-loss models all of whose support vectors are bounded, up to rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from widemargin import RampSVC
from widemargin.engine.gram import Gram
from widemargin.engine.kernels import Gaussian
from widemargin.engine.solution import Solution
from widemargin.engine.solve import solve
from widemargin.engine.solve_options import SolveOptions
from widemargin.engine.status import Status
from widemargin.estimators.ramp.concave_convex import RampProblem, bounded, descend
from widemargin.estimators.ramp.ramp_solution import EXACT, finished

from tests.oracles.rebuilt import assert_honest

TOL = 1e-3
SEEDS = 6, 34, 193, 275, 546, 561  # a support vector was a few ulp off its bound


def some_ramp(n=40):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    gram = Gram(rng.normal(size=(n, 3)), Gaussian(3.0))
    return RampProblem(gram, y, np.full(n, 0.1), -1.0, tolerance=TOL)


def at_bounds(ramp, moved):
    problem = ramp.convex(np.zeros(ramp.gram.n, bool))
    beta = ramp.costs * ramp.y
    beta[3] -= moved
    return Solution(problem, beta, ramp.gram.times(beta), Status.POLISHED, exact=True)


@pytest.mark.parametrize("off", [2e-17, 1e-16, 6e-15])
def test_a_member_that_rounding_left_off_its_bound_is_put_there(off):
    ramp = some_ramp()
    solution = at_bounds(ramp, off)
    assert solution.margin.tolist() == [3]
    ended = bounded(solution)
    assert_array_equal(ended.beta, ramp.costs * ramp.y)
    assert_array_equal(ended.margin, [])


def test_what_was_known_of_the_former_point_is_given_up():
    solution = at_bounds(some_ramp(), 1e-16).verified()
    ended = bounded(solution)
    assert solution.checked is not None
    assert ended.checked is None
    assert ended.evidence is None


def test_a_point_with_a_free_member_stays_as_it_is():
    solution = at_bounds(some_ramp(), 0.03)
    solution.beta[5] -= 1e-16  # the free one fixes the intercept
    assert solution.margin.tolist() == [3, 5]
    assert bounded(solution) is solution


def fitted(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(40, 301)), int(rng.integers(2, 8))
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(n) > 0, 1, -1)
    y[rng.random(n) < rng.uniform(0.1, 0.3)] *= -1
    C, gamma = 10 ** rng.uniform(-1, 0), 10 ** rng.uniform(-1.5, 1)
    return RampSVC(C=C, gamma=gamma).fit(X, y), X, y


def test_polished_models_of_wrong_labels_have_no_violation():
    """The intercept is judged with the model: of J, not of the last convex problem."""
    bounded_whole = 0
    for seed in SEEDS:
        model, X, y = fitted(seed)
        certificate = model.certificate_
        assert certificate.status == "polished"
        assert certificate.kkt_violation <= EXACT
        assert_honest(model, X, y)
        free = np.abs(np.abs(model.dual_coef_) / model.C - 1.0) > 0.0
        bounded_whole += not free.any()
    assert bounded_whole == len(SEEDS)


@pytest.mark.parametrize(
    ("off", "word"), [(0.0, "polished"), (1e-5, "converged"), (0.5, "stalled")]
)
def test_the_violation_of_the_whole_model_decides_the_status(off, word):
    """At another intercept the convex problem, a spread over pairs, has none."""
    ramp = replace(some_ramp(), costs=np.full(40, 10.0))
    options = SolveOptions(tol=TOL, exact=True, certify=False)
    rounds = descend(ramp, lambda problem, start: solve(problem, options, start=start))
    moved = replace(rounds.solution, kept_intercept=rounds.solution.intercept + off)
    end = finished(ramp, replace(rounds, solution=moved), [], TOL)
    assert end.convex.status == Status.POLISHED
    assert end.status == word
    assert end.certificate.status == word
    assert end.certificate.kkt_violation >= off


def test_a_spread_above_the_tolerance_is_no_stall_where_no_sample_violates_more():
    """Single precision left a hundredth more than ``tol`` between two samples."""
    ramp = replace(some_ramp(), costs=np.full(40, 10.0))
    options = SolveOptions(tol=0.1, certify=False)
    rounds = descend(ramp, lambda problem, start: solve(problem, options, start=start))
    spread = rounds.solution.proved_violation
    most = finished(ramp, rounds, [], 1.0).certificate.kkt_violation
    assert 0.0 < most < 0.9 * spread
    end = finished(ramp, rounds, [], 0.5 * (most + spread))
    assert end.convex.status == Status.STALLED
    assert end.certificate.status == "converged"
    assert finished(ramp, rounds, [], 0.5 * most).certificate.status == "stalled"


def test_rounding_alone_leaves_a_model_polished(monkeypatch):
    plain = Gram.bounded_times

    def less_certain(self, *args, **kwargs):
        values, errors = plain(self, *args, **kwargs)
        return values, errors + 1e-5

    monkeypatch.setattr(Gram, "bounded_times", less_certain)
    certificate = fitted(0)[0].certificate_
    assert 1e-5 <= certificate.kkt_violation < TOL
    assert certificate.status == "polished"
